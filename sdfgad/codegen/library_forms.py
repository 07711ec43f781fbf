"""Library operations brought to forms that BLAS and LAPACK can run: before lowering, program to program.

Afterwards every matrix operand has unit stride along one dimension, in-place routines work on row-major containers, and
what is too small for a call, or of a type no library has, is loops.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.analysis.elements.access import size_bound
from sdfgad.codegen.cpp import Frame, strides
from sdfgad.codegen.view_strides import view_strides
from sdfgad.errors import InvariantError
from sdfgad.ir import algebra
from sdfgad.ir.called import PYTHON
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, call
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.messages import OP, PART, START, is_finish
from sdfgad.ir.program import Array, Block, If, Lib, Loop, Map, Program, Range, Stmt, Store, View, While, axis
from sdfgad.ir.walk import children, with_children
from sdfgad.names import fresh, variable, variable_of
from sdfgad.thresholds import thresholds

_INT32, _INT64, _BOOL = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.bool_)


@dataclass
class Forms:
    """Rewrites blocks; `arrays` gains the workspaces. under_way: those of what a message that has started sends and
    receives."""

    arrays: dict[str, Array]
    taken: set[str] = field(default_factory=set)
    under_way: dict[View, View] = field(default_factory=dict)

    def block(self, frame: Frame, block: Block) -> Block:
        """The same block with every library operation in its final form."""
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Lib):
                out.extend(self.operation(frame, stmt))
            elif isinstance(stmt, (Loop, While, If)):
                inner = frame.inside([stmt.range]) if isinstance(stmt, Loop) else frame
                out.append(with_children(stmt, [self.block(inner, b) for b in children(stmt)]))
            else:
                out.append(stmt)
        return tuple(out)

    def operation(self, frame: Frame, stmt: Lib) -> list[Stmt]:
        """One library operation in its final form."""
        return FORMS[stmt.op](self, frame, stmt)

    def is_small(self, frame: Frame, stmt: Lib) -> bool:
        """Whether a product is not worth a call."""
        return product_size(frame, stmt) <= thresholds().library_product

    def workspace(self, frame: Frame, shape: tuple[Ix, ...], dtype: np.dtype) -> View:
        """A fresh container that holds `shape` at its largest, seen at its current extents."""
        largest = tuple(size_bound(n, frame.bounds) for n in shape)
        if any(n is None for n in largest):
            raise InvariantError(f"a matrix with extents {shape} has no largest size")
        name = fresh("work", self.taken | self.arrays.keys())
        self.arrays[name] = Array(name, tuple(n or 0 for n in largest), dtype)
        return View(name, shape, tuple(ix(axis(k)) for k in range(len(shape))), dtype)


def library_forms(program: Program) -> Program:
    """The program with its library operations in final form and their workspaces declared."""
    forms = Forms(dict(program.arrays))
    body = forms.block(Frame(program.arrays), program.body)
    return program.but(arrays=forms.arrays, body=body)


def _same(value: Any) -> Any:
    return value


def copy(target: View, origin: View, change: Callable[[Expr], Expr] = _same) -> Map:
    """`target[...] = change(origin[...])`."""
    ranges, at = target.points("w")
    value = change(origin.load(at))
    return Map(ranges, (Store(target.array, target.at(at), value),))


def conjugate(value: Expr) -> Expr:
    return call("conj", value)


def is_usable(frame: Frame, view: View) -> bool:
    """Whether BLAS can take the view as it is."""
    steps, _ = view_strides(replace(frame), view)
    if any(s is None for s in steps):
        return False
    if len(steps) == 1:
        return steps[0] != 0
    for step, other, extent in ((steps[0], steps[1], view.shape[1]), (steps[1], steps[0], view.shape[0])):
        most = size_bound(extent, frame.bounds)
        if other == 1 and most is not None and (step or 0) >= most:
            return True
    return False


def _matmul(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    frame = replace(frame, arrays=forms.arrays)
    (out,), (a, b, *scale) = stmt.outs, stmt.ins
    if out.dtype.kind not in "fc" or forms.is_small(frame, stmt):
        return product_loops(stmt)
    before: list[Stmt] = []
    ins = []
    for view, conj in ((a, stmt.attrs.get("conj_a")), (b, stmt.attrs.get("conj_b"))):
        conj = bool(conj) and view.dtype.kind == "c"
        if conj or not is_usable(frame, view):
            space = forms.workspace(frame, view.shape, view.dtype)
            before.append(copy(space, view, conjugate if conj else _same))
            view = space
        ins.append(view)
    add = bool(stmt.attrs.get("accumulate"))
    if is_usable(frame, out):
        attrs = {"accumulate": add, "factor": stmt.attrs.get("factor", 1)}
        return [*before, Lib("matmul", (out,), (*ins, *scale), attrs, stmt.source)]
    space = forms.workspace(frame, out.shape, out.dtype)
    ranges, at = out.points("w")
    back = Store(out.array, out.at(at), Load(space.array, space.at(at), out.dtype), "+" if add else None)
    attrs = {"accumulate": False, "factor": stmt.attrs.get("factor", 1)}
    return [*before, Lib("matmul", (space,), (*ins, *scale), attrs, stmt.source), Map(ranges, (back,))]


def product_size(frame: Frame, stmt: Lib) -> float:
    extents = [*stmt.outs[0].shape, stmt.ins[0].shape[-1]]
    most = [size_bound(n, frame.bounds) for n in extents]
    return float("inf") if any(m is None for m in most) else float(np.prod([float(m or 0) for m in most]))


def product_loops(stmt: Lib) -> list[Stmt]:
    (out,), (a, b, *scale) = stmt.outs, stmt.ins
    ranges, at = out.points("w")
    inner = Range(variable("k"), ix(0), a.shape[-1])
    k = ix(inner.var)
    left = Load(a.array, a.at((*at[:1], k) if len(a.shape) == 2 else (k,)), a.dtype)
    right = Load(b.array, b.at((k, *at[-1:]) if len(b.shape) == 2 else (k,)), b.dtype)
    factors = tuple(conjugate(v) if stmt.attrs.get(f"conj_{n}") and v.dtype.kind == "c" else v
                    for n, v in (("a", left), ("b", right)))
    scales: list[Expr] = [Load(v.array, v.index, v.dtype) for v in scale]
    if "factor" in stmt.attrs:
        scales.append(Const(stmt.attrs["factor"], out.dtype))
    value = reduce(lambda x, y: Call("mul", (x, y), out.dtype), [*factors, *scales])
    total = Store(out.array, out.at(at), value, "+")
    product = Map((*ranges, inner), (total,), stmt.source)
    if stmt.attrs.get("accumulate"):
        return [product]
    return [Map(ranges, (Store(out.array, out.at(at), _zero(out.dtype)),), stmt.source), product]


def _zero(dtype: np.dtype) -> Const:
    return Const(dtype.type(0).item(), dtype)


def _lu(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    frame = replace(frame, arrays=forms.arrays)
    held = [v if by_rows(frame, v) else forms.workspace(frame, v.shape, v.dtype) for v in stmt.outs]
    back = [copy(v, h) for v, h in zip(stmt.outs, held, strict=True) if h is not v]
    return [copy(held[0], stmt.ins[0]), Lib("getrf", tuple(held), (), {}, stmt.source), *back]


def _solve(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """The right-hand sides become rows: that is how LAPACK, which counts columns first, wants them.

    To LAPACK the factors are those of the transposed matrix. An adjoint system of complex numbers is the transposed one
    between conjugates.
    """
    frame = replace(frame, arrays=forms.arrays)
    (x,), (*factors, b) = stmt.outs, stmt.ins
    held = [v if by_rows(frame, v) else forms.workspace(frame, v.shape, v.dtype) for v in factors]
    before = [copy(h, v) for v, h in zip(factors, held, strict=True) if h is not v]
    space = forms.workspace(frame, b.transposed.shape, b.dtype)
    change = conjugate if stmt.attrs.get("adjoint") and b.dtype.kind == "c" else _same
    return [*before, copy(space, b.transposed, change), Lib("getrs", (space,), tuple(held), stmt.attrs, stmt.source),
            copy(x, space.transposed, change)]


def _determinant(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """What stands on the diagonal of the factors, one row after the other; an exchange of rows turns the sign.

    LAPACK counts rows from one.
    """
    (out,), (factors, pivots) = stmt.outs, stmt.ins
    row = Range(variable_of("pivot", factors.array), ix(0), factors.shape[0])
    i = ix(row.var)
    pivot = factors.load((i, i))
    exchanged = call("ne", Load(pivots.array, pivots.at((i,)), _INT32), Index(i + 1, _INT32), dtype=np.dtype(np.bool_))
    signs = [Const(out.dtype.type(s).item(), out.dtype) for s in (-1, 1)]
    turn = call("select", exchanged, *signs, dtype=out.dtype)
    here = out.at((ix(0),))
    so_far = Load(out.array, here, out.dtype)
    real = np.empty(0, out.dtype).real.dtype
    size = call("abs", pivot, dtype=real)
    if stmt.op == "logdet":
        value = call("add", so_far, algebra.cast(call("log", size, dtype=real), out.dtype), dtype=out.dtype)
    else:
        sign = call("div", pivot, algebra.cast(size, out.dtype), dtype=out.dtype)
        if stmt.op == "detsign":
            none = call("eq", size, algebra.zero(real), dtype=np.dtype(np.bool_))
            sign = call("select", none, algebra.zero(out.dtype), sign, dtype=out.dtype)
        factor = sign if stmt.op == "detsign" else pivot
        value = call("mul", so_far, call("mul", factor, turn, dtype=out.dtype), dtype=out.dtype)
    start = Const(out.dtype.type(0 if stmt.op == "logdet" else 1).item(), out.dtype)
    step = Map((), (Store(out.array, here, value),), stmt.source)
    return [Map((), (Store(out.array, here, start),), stmt.source), Loop(row, (step,), stmt.source)]


def _inv(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    frame = replace(frame, arrays=forms.arrays)
    (x,), (a,) = stmt.outs, stmt.ins
    pivots = forms.workspace(frame, a.shape[:1], _INT32)
    space = x if by_rows(frame, x) else forms.workspace(frame, a.shape, a.dtype)
    back = [] if space is x else [copy(x, space)]
    return [copy(space, a), Lib("getri", (space, pivots), (), {}, stmt.source), *back]


def _cholesky(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    frame = replace(frame, arrays=forms.arrays)
    (x,), (a,) = stmt.outs, stmt.ins
    space = x if by_rows(frame, x) else forms.workspace(frame, a.shape, a.dtype)
    back = [] if space is x else [copy(x, space)]
    return [triangle(space, a), Lib("potrf", (space,), (), {}, stmt.source), *back]


def _definite(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """Whether the factorisation succeeds, by the routine that would make it."""
    (a,) = stmt.ins
    space = forms.workspace(replace(frame, arrays=forms.arrays), a.shape, a.dtype)
    return [triangle(space, a), Lib("potrf", (space, *stmt.outs), (), {}, stmt.source)]


def _cholesky_tangent(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """Solves with the factor from both sides and a product: `L phi(L^-1 S L^-T)`."""
    (x,), (factor, change) = stmt.outs, stmt.ins
    whole, half, inner = (forms.workspace(frame, x.shape, x.dtype) for _ in range(3))
    solve = {"lower": True, "unit": False}
    steps = (triangle(whole, change, mirrored=True), Lib("trsolve", (half,), (factor, whole), solve, stmt.source),
             Lib("trsolve", (whole,), (factor, half.transposed), solve, stmt.source),
             triangle(inner, whole, halved=True), Lib("matmul", (x,), (factor, inner), {}, stmt.source))
    return list(forms.block(frame, steps))


def _cholesky_adjoint(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """In place on the lower triangle of the cotangent, zero above it."""
    frame = replace(frame, arrays=forms.arrays)
    (x,), (factor, cotangent) = stmt.outs, stmt.ins
    held = factor if by_rows(frame, factor) else forms.workspace(frame, factor.shape, factor.dtype)
    before = [] if held is factor else [copy(held, factor)]
    space = x if by_rows(frame, x) else forms.workspace(frame, x.shape, x.dtype)
    back = [] if space is x else [copy(x, space)]
    return [*before, triangle(space, cotangent), Lib("potrf_adjoint", (space,), (held,), {}, stmt.source), *back]


def triangle(target: View, origin: View, mirrored: bool = False, halved: bool = False) -> Map:
    """The lower triangle of `origin`, zero or mirrored above it, its diagonal as it is or halved."""
    ranges, (i, j) = target.points("w")
    below, on = (Call(fn, (Index(j, _INT64), Index(i, _INT64)), np.dtype(np.bool_)) for fn in ("le", "eq"))
    element = origin.load((i, j))
    above = origin.load((j, i)) if mirrored else _zero(origin.dtype)
    value = call("select", below, element, above, dtype=origin.dtype)
    if halved:
        half = call("mul", element, Const(0.5, origin.dtype), dtype=origin.dtype)
        value = call("select", on, half, value, dtype=origin.dtype)
    return Map(ranges, (Store(target.array, target.at((i, j)), value),))


def by_rows(frame: Frame, view: View) -> bool:
    """Whether a matrix view has unit stride along its rows, so that LAPACK may work in place."""
    steps, _ = view_strides(frame, view)
    most = size_bound(view.shape[-1], frame.bounds)
    return steps[-1] == 1 and most is not None and (len(steps) == 1 or (steps[0] or 0) >= most)


def _trsolve(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    frame = replace(frame, arrays=forms.arrays)
    (x,), (t, b) = stmt.outs, stmt.ins
    before: list[Stmt] = []
    if not is_usable(frame, t):
        space = forms.workspace(frame, t.shape, t.dtype)
        before, t = [copy(space, t)], space
    target = x if by_rows(frame, x) else forms.workspace(frame, x.shape, x.dtype)
    back = [] if target is x else [copy(x, target)]
    attrs = {"lower": bool(stmt.attrs["lower"]), "unit": bool(stmt.attrs.get("unit"))}
    return [*before, copy(target, b), Lib("trsolve", (target,), (t,), attrs, stmt.source), *back]


def _contiguous(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """Operands with rows of unit stride, through copies where need be."""
    frame = replace(frame, arrays=forms.arrays)
    (x,), (a,) = stmt.outs, stmt.ins
    before: list[Stmt] = []
    after: list[Stmt] = []
    if not by_rows(frame, a):
        space = forms.workspace(frame, a.shape, a.dtype)
        before, a = [copy(space, a)], space
    if not by_rows(frame, x):
        space = forms.workspace(frame, x.shape, x.dtype)
        ranges, at = x.points("w")
        op = "+" if stmt.attrs.get("accumulate") else None
        after = [Map(ranges, (Store(x.array, x.at(at), Load(space.array, space.at(at), x.dtype), op),))]
        stmt, x = replace(stmt, attrs={k: v for k, v in stmt.attrs.items() if k != "accumulate"}), space
    return [*before, replace(stmt, outs=(x,), ins=(a,)), *after]


def _strided(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """Operands whose elements lie at fixed distances, through copies where need be."""
    frame = replace(frame, arrays=forms.arrays)
    if all(step is not None for v in (*stmt.outs, *stmt.ins) for step in view_strides(frame, v)[0]):
        return [stmt]
    return _contiguous(forms, frame, stmt)


def _pinv(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """Right singular vectors over singular values, times the left ones; small singular values count as zero."""
    frame = replace(frame, arrays=forms.arrays)
    (x,), (a,) = stmt.outs, stmt.ins
    (m, n), k = a.shape, min(a.shape, key=lambda e: e.const or 0)
    parts = forms.workspace(frame, (m + n + 1, k), a.dtype)
    found = forms.block(frame, (Lib("svd", (parts,), (a,), MappingProxyType({}), stmt.source),))
    left, right = (View(parts.array, (size, k), (ix(axis(0)) + first, ix(axis(1))), a.dtype)
                   for first, size in ((ix(0), m), (m, n)))
    ranges, (i, j) = right.points("w")
    real = np.empty(0, a.dtype).real.dtype
    here, largest = (call("real", Load(parts.array, (m + n, e), a.dtype), dtype=real) for e in (j, ix(0)))
    kept = call("gt", here, call("mul", Const(stmt.attrs["rcond"], real), largest, dtype=real), dtype=_BOOL)
    element = Load(parts.array, right.at((i, j)), a.dtype)
    quotient = call("div", element, algebra.cast(here, a.dtype), dtype=a.dtype)
    scaled = call("select", kept, quotient, _zero(a.dtype), dtype=a.dtype)
    product = Lib("matmul", (x,), (right, left.transposed), MappingProxyType({"conj_b": True}), stmt.source)
    return [*found, Map(ranges, (Store(parts.array, right.at((i, j)), scaled),), stmt.source),
            *forms.block(frame, (product,))]


def _as_it_is(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """Snapshots and what they hold are whole arrays, one slot or one version: always in one piece."""
    return [stmt]


def _in_blocks(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """Whatever is sent or received in one piece, through copies where need be; one of what is sent to several ranks."""
    frame = replace(frame, arrays=forms.arrays)
    before: list[Stmt] = []
    after: list[Stmt] = []
    sent: dict[View, View] = {}

    def whole(view: View, copies: list[Stmt], into: bool) -> View:
        steps, _ = view_strides(frame, view)
        if steps == strides(tuple(n.const or 0 for n in view.shape)):
            return view
        if into and view in sent:
            return sent[view]
        space = forms.workspace(frame, view.shape, view.dtype)
        copies.append(copy(space, view) if into else copy(view, space))
        if into:
            sent[view] = space
        return space

    ins = tuple(whole(v, before, True) for v in stmt.ins)
    outs = tuple(whole(v, after, False) for v in stmt.outs)
    return [*before, replace(stmt, ins=ins, outs=outs), *after]


def _message(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """The same of a message; of one in two halves, what arrives is copied behind the second one.

    start v[:, 0]   ->   start w          finish v[:, 0]   ->   finish w ; v[:, 0] = w
    """
    if is_finish(stmt):
        rooms = forms.under_way
        ins, outs = (tuple(rooms.get(v, v) for v in views) for views in (stmt.ins, stmt.outs))
        back = [copy(v, w) for v, w in zip(stmt.outs, outs, strict=True) if v != w]
        return [replace(stmt, ins=ins, outs=outs), *back]
    made = _in_blocks(forms, frame, stmt)
    if stmt.attrs.get(PART) != START:
        return made
    at = next(k for k, s in enumerate(made) if isinstance(s, Lib) and s.op == OP)
    start = made[at]
    assert isinstance(start, Lib)
    pairs = zip((*stmt.ins, *stmt.outs), (*start.ins, *start.outs), strict=True)
    forms.under_way.update((v, w) for v, w in pairs if v != w)
    return made[:at + 1]


FORMS: Mapping[str, Callable[[Forms, Frame, Lib], list[Stmt]]] = MappingProxyType({
    "matmul": _matmul, "lu": _lu, "solve": _solve, "inv": _inv, "cholesky": _cholesky, "definite": _definite,
    "cholesky_tangent": _cholesky_tangent, "cholesky_adjoint": _cholesky_adjoint, "trsolve": _trsolve,
    "det": _determinant, "logdet": _determinant, "detsign": _determinant,
    "eigh": _contiguous, "eig": _contiguous, "svd": _contiguous, "qr": _contiguous, "pinv": _pinv,
    "argsort": _contiguous, "fft": _strided, "seal": _as_it_is, "unseal": _as_it_is,
    "fail": _as_it_is, OP: _message, PYTHON: _in_blocks})
