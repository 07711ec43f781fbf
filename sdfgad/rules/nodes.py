"""Derivatives of library nodes, stated as linear programs in the tangents.

A rule emits statements that compute the tangent of each output from the tangents of the inputs. Forward mode runs them;
reverse mode transposes them one by one. So a rule holds the calculus once, and a gradient of a matrix product is matrix
products. Formulas: M. Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.errors import SourceLine, unsupported
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Index
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Lib, Map, Range, Stmt, Store, View
from sdfgad.names import variable
from sdfgad.rules.registry import node_rule

_BOOL = np.dtype(bool)


@dataclass
class Linearisation:
    """What a node rule writes to: statements, and scratch tangents they need.

    tangent_of: the tangent view of a primal view, None when it is inactive.
    """

    tangent_of: Callable[[View], View | None]
    fresh: Callable[[str, tuple[int, ...], np.dtype], Array]
    source: SourceLine | None
    linear: list[Stmt] = field(default_factory=list)

    def scratch(self, like: View) -> View:
        """A new linear temporary with the shape of `like`."""
        shape = tuple(_number(n, self.source) for n in like.shape)
        return self.fresh("lin", shape, like.dtype).whole

    def lib(self, op: str, out: View, *ins: View, **attrs: Any) -> View:
        self.linear.append(Lib(op, (out,), ins, MappingProxyType(attrs), self.source))
        return out

    def each(self, out: View, element: Callable[[tuple[Ix, ...]], Expr], op: str | None = None) -> View:
        """`out[p] = element(p)` for every position p."""
        domain, here = out.points("e")
        self.linear.append(Map(domain, (Store(out.array, out.at(here), element(here), op),), self.source))
        return out

    def minus(self, out: View, a: View | None, b: View | None) -> View:
        """`out = a - b`, where None is zero."""

        def element(p: tuple[Ix, ...]) -> Expr:
            left = algebra.zero(out.dtype) if a is None else a.load(p)
            return left if b is None else algebra.sub(left, b.load(p))

        return self.each(out, element)


def _number(n: Ix, source: SourceLine | None) -> int:
    if n.const is None:
        raise unsupported(source, "a library operation on a block whose size changes at run time",
                          "write it as a loop, or use blocks of fixed size", "SG131")
    return n.const


def _below(p: tuple[Ix, ...], fn: str) -> Expr:
    """Compare row with column."""
    integer = np.dtype(np.int64)
    return Call(fn, (Index(p[0], integer), Index(p[1], integer)), _BOOL)


def _sample_matmul(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    return {"ins": (draw(3, 4), draw(4, 2)), "attrs": {}}


def _sample_system(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    """A matrix, to be factorised first, and right-hand sides."""
    return {"ins": (draw(3, 3) + 3 * np.eye(3), draw(3, 2)), "attrs": {}}


def _sample_square(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    return {"ins": (draw(3, 3) + 3 * np.eye(3),), "attrs": {}}


def _sample_factors(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    """A matrix, to be factorised first."""
    return _sample_square(rng, draw)


def _sample_triangle(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    return {"ins": (draw(3, 3) + 3 * np.eye(3), draw(3, 2)), "attrs": {"lower": True, "unit": False}}


def _sample_positive(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    a = np.real(draw(3, 3))
    return {"ins": (a @ a.T + 3 * np.eye(3),), "attrs": {}}


def _sample_factor(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    a = np.real(draw(3, 3))
    return {"ins": (np.linalg.cholesky(a @ a.T + 3 * np.eye(3)), np.real(draw(3, 3))), "attrs": {}}


def _sample_signal(rng: np.random.Generator, draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    return {"ins": (draw(2, 4) + 1j * draw(2, 4),), "attrs": {"inverse": False, "scaled": False}}


@node_rule("matmul", _sample_matmul)
def matmul(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """C' = A' B + A B'"""
    a, b = ins
    ta, tb = c.tangent_of(a), c.tangent_of(b)
    conj = {k: attrs[k] for k in ("conj_a", "conj_b") if attrs.get(k)}
    more = bool(attrs.get("accumulate"))
    if ta is not None:
        c.lib("matmul", tangent, ta, b, accumulate=more, **conj)
        more = True
    if tb is not None:
        c.lib("matmul", tangent, a, tb, accumulate=more, **conj)


@node_rule("lu", _sample_square)
def lu(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """F, p = factors of A:  the tangent of F is that of the matrix F stands for, since only `solve` looks at F"""
    ta = c.tangent_of(ins[0])
    if ta is not None:
        c.each(tangent, lambda p: ta.load(p))


@node_rule("solve", _sample_system)
def solve(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """A X = B with A as factors F, p:  X' = A^-1 (B' - F' X), F' being A'; the same with A^H for the adjoint"""
    factors, pivots, b = ins
    adjoint = bool(attrs.get("adjoint"))
    tf, how = c.tangent_of(factors), {}
    if adjoint and tf is not None:
        tf, how = tf.transposed, {"conj_a": True} if tf.dtype.kind == "c" else {}
    _solved(c, out, tangent, c.tangent_of(b), tf,
            lambda rhs: c.lib("solve", tangent, factors, pivots, rhs, **({"adjoint": True} if adjoint else {})), **how)


@node_rule("det", _sample_factors)
def det(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """d = det A with A as factors F, p:  d' = d tr(A^-1 F'), F' being A'"""
    _trace_of_solution(c, ins, tangent, lambda e: Call("times", (out.load((ix(0),)), e), out.dtype))


@node_rule("logdet", _sample_factors)
def logdet(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """l = log |det A| with A as factors F, p:  l' = Re tr(A^-1 F'), F' being A'"""
    _trace_of_solution(c, ins, tangent, lambda e: _with_conjugate(e, algebra.add))


@node_rule("detsign", _sample_factors)
def detsign(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """s = det A / |det A| with A as factors F, p:  s' = s i Im tr(A^-1 F'), F' being A'; nothing for real A"""
    if out.dtype.kind != "c":
        c.each(tangent, lambda p: algebra.zero(tangent.dtype))
        return
    _trace_of_solution(c, ins, tangent, lambda e: Call(
        "times", (out.load((ix(0),)), _with_conjugate(e, algebra.sub)), out.dtype))


def _with_conjugate(e: Expr, join: Callable[[Expr, Expr], Expr]) -> Expr:
    """The real or the imaginary part of a complex number, as one; a real number is as it is."""
    if e.dtype.kind != "c":
        return e
    both = join(e, Call("conj", (e,), e.dtype))
    return Call("times", (algebra.number(0.5, e.dtype), both), e.dtype)


def _trace_of_solution(c: Linearisation, ins: tuple[View, ...], tangent: View, scaled: Callable[[Expr], Expr]) -> None:
    factors, pivots = ins
    tf = c.tangent_of(factors)
    if tf is None:
        return
    # The transposed solution is stored, not added: its right-hand side has to be a scratch of its own.
    right = c.each(c.scratch(factors), lambda p: tf.load(p))
    solved = c.lib("solve", c.scratch(factors), factors, pivots, right)
    c.each(tangent, lambda p: algebra.zero(tangent.dtype))
    row = Range(variable("e"), ix(0), factors.shape[0])
    element = scaled(solved.load((ix(row.var), ix(row.var))))
    c.linear.append(Map((row,), (Store(tangent.array, tangent.at((ix(0),)), element, "+"),), c.source))


@node_rule("trsolve", _sample_triangle)
def trsolve(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """T X = B with T one triangle:  X' = T^-1 (B' - tri(T') X)"""
    t, b = ins
    tt = c.tangent_of(t)
    if tt is not None:
        tt = _triangle(c, tt, lower=attrs["lower"], unit=attrs.get("unit", False))
    _solved(c, out, tangent, c.tangent_of(b), tt, lambda rhs: c.lib("trsolve", tangent, t, rhs, **attrs))


def _solved(c: Linearisation, x: View, tangent: View, tb: View | None, ta: View | None,
            finish: Callable[[View], View], **how: bool) -> None:
    product = None if ta is None else c.lib("matmul", c.scratch(x), ta, x, **how)
    finish(c.minus(c.scratch(x), tb, product))


def _triangle(c: Linearisation, t: View, lower: bool, unit: bool) -> View:
    """A copy of one triangle of `t`, zero elsewhere (and on the diagonal when it is implied)."""
    fn = ("gt" if unit else "ge") if lower else ("lt" if unit else "le")
    return c.each(c.scratch(t), lambda p: algebra.select(_below(p, fn), t.load(p), algebra.zero(t.dtype)))


@node_rule("inv", _sample_square)
def inv(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """X = A^-1:  X' = -X A' X"""
    ta = c.tangent_of(ins[0])
    if ta is None:
        return
    inner = c.lib("matmul", c.scratch(out), ta, out)
    c.minus(tangent, None, c.lib("matmul", c.scratch(out), out, inner))


@node_rule("cholesky", _sample_positive)
def cholesky(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """A = L L^T from A's lower triangle:  L' = L phi(L^-1 S L^-T); S symmetric from A', phi halves the diagonal

    One operation: the transposed one has an algorithm of its own, with a sixth of the arithmetic of two solves.
    """
    if out.dtype.kind == "c":
        raise unsupported(c.source, "the derivative of a complex Cholesky factorisation", "", "SG132")
    ta = c.tangent_of(ins[0])
    if ta is None:
        return
    c.lib("cholesky_tangent", tangent, out, ta)


@node_rule("cholesky_adjoint", _sample_factor)
def cholesky_adjoint(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any],
                     tangent: View) -> None:
    """X = adj(L, G), the cotangent of a lower triangle from that of its factor L:
    X' = adj(L, G' + L^-T L'^T G) - W - W^T + diag(W), W = L^-T L'^T (X + X^T)

    For second derivatives. The operation sees lower triangles alone. L'^T G and L^-T times that have what belongs into
    theirs, whatever is above the diagonal of G.
    """
    factor, cotangent = ins
    tl, change = c.tangent_of(factor), c.tangent_of(cotangent)
    if tl is None:
        if change is not None:
            c.lib("cholesky_adjoint", tangent, factor, change)
        return
    turned = _triangle(c, tl, lower=True, unit=False).transposed

    def solved(*of: View) -> View:
        product = c.lib("matmul", c.scratch(out), turned, of[0])
        for other in of[1:]:
            c.lib("matmul", product, turned, other, accumulate=True)
        return c.lib("trsolve", c.scratch(out), factor.transposed, product, lower=False, unit=False)

    first = solved(cotangent)
    whole = first if change is None else c.each(
        c.scratch(out), lambda p: algebra.add(change.load(p), first.load(p)))
    moved = c.lib("cholesky_adjoint", c.scratch(out), factor, whole)
    w = solved(out, out.transposed)

    def element(p: tuple[Ix, ...]) -> Expr:
        both = algebra.add(w.load(p), w.load(p[::-1]))
        off = algebra.select(_below(p, "eq"), w.load(p), algebra.select(_below(p, "gt"), both, algebra.zero(w.dtype)))
        return algebra.sub(moved.load(p), off)

    c.each(tangent, element)


@node_rule("fft", _sample_signal)
def fft(c: Linearisation, out: View, ins: tuple[View, ...], attrs: Mapping[str, Any], tangent: View) -> None:
    """Linear: the transform of the tangent."""
    ta = c.tangent_of(ins[0])
    if ta is not None:
        c.lib("fft", tangent, ta, **attrs)
