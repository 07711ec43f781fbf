"""Derivatives of decompositions. The parts of a result stand one above the other in one matrix.

Vectors of equal eigenvalues or singular values have no derivative: what a gradient takes of them is not finite, and
where it takes nothing it is zero. Equal means as far as rounding of the largest can tell. Vectors of complex matrices
are known up to a phase: their derivatives have no part along the vector itself.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sdfgad.errors import unsupported
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Index
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import View, axis
from sdfgad.rules.nodes import Linearisation
from sdfgad.rules.registry import node_rule

_BOOL = np.dtype(bool)
_INTEGER = np.dtype(np.int64)
Element = Callable[[tuple[Ix, ...]], Expr]


def part(view: View, first: Ix, count: Ix) -> View:
    """Some rows of a matrix view."""
    moved = {axis(0): ix(axis(0)) + first}
    return View(view.array, (count, view.shape[1]), tuple(i.subs(moved) for i in view.index), view.dtype)


def row(view: View, k: Ix) -> View:
    """One row of a matrix view, as a vector."""
    place = {axis(0): k, axis(1): ix(axis(0))}
    return View(view.array, view.shape[1:], tuple(i.subs(place) for i in view.index), view.dtype)


def _room(c: Linearisation, like: View, *shape: Ix) -> View:
    return c.scratch(View(like.array, shape, like.index, like.dtype))


def _product(c: Linearisation, a: View, b: View, adjoint: bool = False) -> View:
    """`a @ b`, or `a^H @ b`."""
    left = a.transposed if adjoint else a
    how = {"conj_a": True} if adjoint and a.dtype.kind == "c" else {}
    return c.lib("matmul", _room(c, a, left.shape[0], b.shape[1]), left, b, **how)


def _conj(e: Expr) -> Expr:
    return Call("conj", (e,), e.dtype) if e.dtype.kind == "c" else e


def _half(e: Expr) -> Expr:
    return Call("times", (algebra.number(0.5, e.dtype), e), e.dtype)


def _real(e: Expr) -> Expr:
    """The real part, in the same dtype."""
    return _half(algebra.add(e, _conj(e))) if e.dtype.kind == "c" else e


def _where(p: tuple[Ix, ...], below: Expr, on: Expr, above: Expr) -> Expr:
    """One of three by where an element is seen from the diagonal."""
    row_, column = (Index(k, _INTEGER) for k in p)
    rest = algebra.select(Call("eq", (row_, column), _BOOL), on, above)
    return algebra.select(Call("gt", (row_, column), _BOOL), below, rest)


def _value(values: View, k: Ix) -> Expr:
    """An eigenvalue of a symmetric matrix, or a singular value: a real number, whatever the matrix is."""
    found = values.load((k,))
    return found if found.dtype.kind != "c" else Call("real", (found,), np.empty(0, found.dtype).real.dtype)


def _larger(a: Expr, b: Expr) -> Expr:
    return Call("maximum", tuple(Call("abs", (e,), e.dtype) for e in (a, b)), a.dtype)


def _over_complex_gap(values: View, p: tuple[Ix, ...]) -> Expr:
    """The same of complex values, of which the larger one of two says what can be told apart."""
    first, second = (values.load((k,)) for k in p)
    real = np.empty(0, values.dtype).real.dtype
    unsure = algebra.mul(algebra.number((values.shape[0].const or 1) * float(np.finfo(real).eps), real),
                         Call("maximum", tuple(Call("abs", (e,), real) for e in (first, second)), real))
    gap = algebra.sub(second, first)
    equal = Call("le", (Call("abs", (gap,), real), unsure), _BOOL)
    told = algebra.select(equal, algebra.zero(values.dtype), gap)
    return Call("div", (algebra.number(1, values.dtype), told), values.dtype)


def _over_gap(values: View, p: tuple[Ix, ...], factor: Expr | None = None) -> Expr:
    """1 / ((v[j] - v[i]) factor), not finite where the two are equal as far as one can tell."""
    size = values.shape[0].const or 1
    first, second = (_value(values, k) for k in p)
    real = first.dtype
    largest = _larger(_value(values, ix(0)), _value(values, ix(size - 1)))
    gap = algebra.sub(second, first)
    unsure = algebra.mul(algebra.number(size * float(np.finfo(real).eps), real), largest)
    equal = Call("le", (Call("abs", (gap,), real), unsure), _BOOL)
    told = algebra.select(equal, algebra.zero(real), gap)
    over = Call("div", (algebra.number(1, real), told if factor is None else algebra.mul(told, factor)), real)
    return algebra.cast(over, values.dtype)


def _scaled(p: Expr, t: Expr) -> Expr:
    """A product that is zero where `t` is: what nobody asks for needs no derivative."""
    return Call("scale", (p, t), t.dtype)


def _off_diagonal(p: tuple[Ix, ...], e: Expr) -> Expr:
    return _where(p, e, algebra.zero(e.dtype), e)


def _diagonal(c: Linearisation, target: View, inner: View) -> None:
    c.each(target, lambda p: _real(inner.load((p[0], p[0]))))


def _sample_hermitian(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    a = draw(4, 4)
    return {"ins": (a + np.conj(a).T,), "attrs": {}}


def _sample_general(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    return {"ins": (draw(4, 4) + 0j,), "attrs": {"real": False}}


def _sample_tall(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    return {"ins": (draw(5, 3),), "attrs": {}}


def _sample_pinv(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    return {"ins": (draw(5, 3),), "attrs": {"rcond": 1e-15}}


@node_rule("eigh", _sample_hermitian)
def eigh(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """A V = V w from A's lower triangle:  w' = diag(V^H A' V);  V' = V (V^H A' V / (w_j - w_i) off the diagonal)"""
    ta = c.tangent_of(ins[0])
    if ta is None:
        return
    n = ins[0].shape[0]
    v, values = part(out, ix(0), n), row(out, n)
    s = c.each(_room(c, v, n, n), lambda p: _where(p, ta.load(p), _real(ta.load(p)), _conj(ta.load(p[::-1]))))
    inner = _product(c, v, _product(c, s, v), adjoint=True)
    _diagonal(c, row(tangent, n), inner)
    nothing = algebra.zero(out.dtype)
    if not attrs.get("vectors", True):
        c.each(part(tangent, ix(0), n), lambda p: nothing)
        return
    turned = _turned(c, inner, values, lambda p: inner.load(p))
    c.lib("matmul", part(tangent, ix(0), n), v, turned)


@node_rule("eig", _sample_general)
def eig(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """A V = V w:  with B = V^-1 A' V, w' = diag(B);  V' = V C where C is B / (w_j - w_i) off the diagonal, and on it
    -Re(V^H V C), which keeps columns at length one and does not turn their phase;  (V^-1)' = -C V^-1"""
    ta = c.tangent_of(ins[0])
    if ta is None:
        return
    n = ins[0].shape[0]
    v, inverse, values = part(out, ix(0), n), part(out, n, n), row(out, n + n)
    inner = _product(c, inverse, _product(c, ta, v))
    c.each(row(tangent, n + n), lambda p: inner.load((p[0], p[0])))
    if not attrs.get("vectors", True):
        c.each(part(tangent, ix(0), n + n), lambda p: algebra.zero(out.dtype))
        return
    over: Element = lambda p: _scaled(_over_complex_gap(values, p), inner.load(p))  # noqa: E731
    turned = c.each(_room(c, v, n, n), lambda p: _off_diagonal(p, over(p)))
    along = _product(c, v, _product(c, v, turned), adjoint=True)
    kept = c.each(_room(c, v, n, n), lambda p: algebra.sub(turned.load(p), _where(
        p, algebra.zero(out.dtype), _real(along.load(p)), algebra.zero(out.dtype))))
    c.lib("matmul", part(tangent, ix(0), n), v, kept)
    c.minus(part(tangent, n, n), None, _product(c, kept, inverse))


def _turned(c: Linearisation, like: View, values: View, element: Element, factor: Element | None = None) -> View:
    """`element / (v_j - v_i)` off the diagonal, zero on it."""

    def at(p: tuple[Ix, ...]) -> Expr:
        return _off_diagonal(p, _scaled(_over_gap(values, p, None if factor is None else factor(p)), element(p)))

    return c.each(_room(c, like, *like.shape), at)


@node_rule("svd", _sample_tall)
def svd(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """A = U s V^H:  with P = U^H A' V, s' = diag(P);  of real A, U' = U ((P s + s P^T) / (s_j^2 - s_i^2)) + (1 - U U^T)
    A' V / s and V' the same with P^T and A'^T"""
    ta = c.tangent_of(ins[0])
    if ta is None:
        return
    m, n = ins[0].shape
    u, v = part(out, ix(0), m), part(out, m, n)
    av = _product(c, ta, v)
    inner = _product(c, u, av, adjoint=True)
    _diagonal(c, row(tangent, m + n), inner)
    if not attrs.get("vectors", True):
        c.each(part(tangent, ix(0), m + n), lambda p: algebra.zero(out.dtype))
        return
    if out.dtype.kind == "c":
        raise unsupported(c.source, "the derivative of complex singular vectors", "use compute_uv=False", "SG132")
    flipped = c.each(_room(c, v, n, m), lambda p: ta.load(p[::-1]))
    _side(c, part(tangent, ix(0), m), u, row(out, m + n), lambda p: inner.load(p), av)
    _side(c, part(tangent, m, n), v, row(out, m + n), lambda p: inner.load(p[::-1]), _product(c, flipped, u))


def _side(c: Linearisation, tangent: View, u: View, s: View, inner: Element, moved: View) -> None:
    """Tangents of the singular vectors `u`: turned among themselves, and out of the space they span by `moved / s`."""
    k = s.shape[0]
    square = _room(c, u, k, k)

    def element(p: tuple[Ix, ...]) -> Expr:
        return algebra.add(Call("times", (s.load(p[1:]), inner(p)), u.dtype),
                           Call("times", (s.load(p[:1]), inner(p[::-1])), u.dtype))

    turned = _turned(c, square, s, element, lambda p: algebra.add(s.load(p[:1]), s.load(p[1:])))
    if u.shape[0] == k:
        c.lib("matmul", tangent, u, turned)
        return
    outside = c.minus(_room(c, u, *u.shape), moved, _product(c, u, _product(c, u, moved, adjoint=True)))
    within = _product(c, u, turned)
    over: Element = lambda p: Call("div", (algebra.number(1, s.dtype), s.load(p[1:])), s.dtype)  # noqa: E731
    c.each(tangent, lambda p: algebra.add(within.load(p), _scaled(over(p), outside.load(p))))


@node_rule("qr", _sample_tall)
def qr(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """A = Q R, R's diagonal real:  with X = A' R^-1 and B = Q^H X, R' = U R and Q' = X - Q U where U is B's upper
    triangle plus the adjoint of what is below, the diagonal being real"""
    ta = c.tangent_of(ins[0])
    if ta is None:
        return
    m, n = ins[0].shape
    q, r = part(out, ix(0), m), part(out, m, n)
    right = c.each(_room(c, q, n, m), lambda p: ta.load(p[::-1]))
    x = c.lib("trsolve", _room(c, q, n, m), r.transposed, right, lower=True, unit=False).transposed
    b = _product(c, q, x, adjoint=True)

    def upper(p: tuple[Ix, ...]) -> Expr:
        here = b.load(p)
        return _where(p, algebra.zero(out.dtype), _real(here), algebra.add(here, _conj(b.load(p[::-1]))))

    u = c.each(_room(c, q, n, n), upper)
    c.minus(part(tangent, ix(0), m), x, _product(c, q, u))
    c.lib("matmul", part(tangent, m, n), u, r)


@node_rule("pinv", _sample_pinv)
def pinv(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """X = A^+ of constant rank:  X' = -X A' X + X X^H A'^H (1 - A X) + (1 - X A) A'^H X^H X"""
    ta = c.tangent_of(ins[0])
    if ta is None:
        return
    a, x = ins[0], out
    m, n = a.shape
    adjoint = c.each(_room(c, x, n, m), lambda p: _conj(ta.load(p[::-1])))
    direct = _product(c, x, _product(c, ta, x))
    rows = c.minus(_room(c, x, n, m), adjoint, _product(c, _product(c, adjoint, a), x))
    first = _product(c, x, _product(c, x, rows, adjoint=True))
    columns = c.minus(_room(c, x, n, m), adjoint, _product(c, x, _product(c, a, adjoint)))
    how = {"conj_b": True} if x.dtype.kind == "c" else {}
    flat = c.lib("matmul", _room(c, x, n, n), columns, x.transposed, **how)
    second = _product(c, flat, x)
    c.each(tangent, lambda p: algebra.sub(algebra.add(first.load(p), second.load(p)), direct.load(p)))
