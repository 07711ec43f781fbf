"""Operations on small matrices as plain loops, which one thread runs (Golub and Van Loan, Matrix Computations, 3.1,
3.4, 4.2).

A routine of a library takes longer to start than such an operation takes. Factors lie as those of the libraries do,
which see the transposed matrix: whoever has made them, anybody may solve with them.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cuda.libraries.checks import without_pivots
from sdfgad.codegen.cuda.libraries.operations import cholesky_adjoint, inverse
from sdfgad.codegen.library_forms import FORMS, Forms, conjugate, copy, product_loops, triangle
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Index, Load, Local, call, const
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import Array, Let, Lib, Loop, Map, Range, Stmt, Store, View
from sdfgad.names import variable

_INT32, _BOOL = np.dtype(np.int32), np.dtype(np.bool_)
Noted = Callable[[Expr], Map]
"""The statement that keeps that something was true."""


@dataclass
class ThreadForms(Forms):
    """around: the loop of whose iterations each has a thread, and workspaces, of its own. sign: an array with a number
    for each of them, which is not zero once a matrix had no result. fails: whether that may be."""

    around: Range = Range("each0", ix(0), ix(1))
    sign: str = ""
    fails: bool = False

    def operation(self, frame: Frame, stmt: Lib) -> list[Stmt]:
        return OPERATIONS[stmt.op](self, replace(frame, arrays=self.arrays), stmt)

    @property
    def number(self) -> Ix:
        """Of the iteration, from zero on."""
        return ix(self.around.var) - self.around.start

    def workspace(self, frame: Frame, shape: tuple[Ix, ...], dtype: np.dtype) -> View:
        """One for each iteration."""
        view = super().workspace(frame, shape, dtype)
        array = self.arrays[view.array]
        self.arrays[view.array] = replace(array, shape=(self.around.trips or 0, *array.shape))
        return replace(view, index=(self.number, *view.index))

    def counter(self, stem: str) -> str:
        """A variable for a loop."""
        name = variable(stem, self.taken)
        self.taken.add(name)
        return name

    def noted(self, bad: Expr) -> Map:
        """Once a matrix has no result the iteration says so to the end."""
        self.fails = True
        so_far = Load(self.sign, (self.number,), _INT32)
        return Map((), (Store(self.sign, (self.number,), algebra.select(bad, const(1, _INT32), so_far)),))


def _put(view: View, at: tuple[Ix, ...], value: Expr, op: str | None = None) -> Store:
    return Store(view.array, view.at(at), value, op)


def _is(fn: str, a: Expr, b: Expr) -> Expr:
    return Call(fn, (a, b), _BOOL)


def _size(value: Expr) -> Expr:
    return call("abs", value, dtype=algebra.component(value.dtype) if value.dtype.kind == "c" else value.dtype)


def _upwards(var: str, count: Ix) -> Range:
    return Range(var, ix(0), count)


def _downwards(var: str, count: Ix) -> Range:
    return Range(var, count - 1, ix(-1), -1)


def _exchange(x: View, first: Ix, other: Ix) -> Map:
    """Two rows change places."""
    ranges = tuple(_upwards(f"w{k}", n) for k, n in enumerate(x.shape[1:]))
    across = tuple(ix(r.var) for r in ranges)
    one, two = ((p, *across) for p in (first, other))
    names = [Local(name, x.dtype) for name in ("first", "other")]
    body = [Let(name.name, x.load(at)) for name, at in zip(names, (one, two), strict=True)]
    return Map(ranges, (*body, _put(x, two, names[0]), _put(x, one, names[1])))


def _row(pivots: View, k: Ix) -> Ix:
    """The row that changed places with this one; they are counted from one."""
    return elem(pivots.array, pivots.at((k,))) - 1


def _lu(forms: ThreadForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """Column by column, with the largest element of the rest of one as its pivot. Where all of these are zero they stay
    as they are."""
    (factors, pivots), (a,) = stmt.outs, stmt.ins
    m, n = factors.transposed, factors.shape[0]
    names = forms.counter("column"), forms.counter("row")
    j, r, best = ix(names[0]), ix(names[1]), _row(pivots, ix(names[0]))
    larger = _is("gt", _size(m.load((r, j))), _size(m.load((best, j))))
    found = algebra.select(larger, Index(r + 1, _INT32), pivots.load((j,)))
    search = Loop(Range(names[1], j + 1, n), (Map((), (_put(pivots, (j,), found),)),))
    below = Range("w0", j + 1, n), Range("w1", j + 1, n)
    i, k = (ix(w.var) for w in below)
    none = _is("eq", m.load((j, j)), algebra.zero(m.dtype))
    factor = algebra.select(none, m.load((i, j)), algebra.div(m.load((i, j)), m.load((j, j))))
    rest = algebra.sub(m.load((i, k)), algebra.mul(m.load((i, j)), m.load((j, k))))
    body = (Map((), (_put(pivots, (j,), Index(j + 1, _INT32)),)), search, _exchange(m, j, best),
            Map(below[:1], (_put(m, (i, j), factor),)), Map(below, (_put(m, (i, k), rest),)))
    return [copy(factors, a), Loop(_upwards(names[0], n), body, stmt.source)]



def _substitute(forms: ThreadForms, t: View, x: View, lower: bool, unit: bool) -> Loop:
    """x = T^-1 x for one triangle, in place, row by row."""
    var, n = forms.counter("row"), x.shape[0]
    i, k = ix(var), ix("k0")
    ranges = tuple(_upwards(f"w{d}", m) for d, m in enumerate(x.shape[1:]))
    across = tuple(ix(r.var) for r in ranges)
    known = Range("k0", ix(0), i) if lower else Range("k0", i + 1, n)
    term = algebra.neg(algebra.mul(t.load((i, k)), x.load((k, *across))))
    body = [Map((*ranges, known), (_put(x, (i, *across), term, "+"),))]
    if not unit:
        body.append(Map(ranges, (_put(x, (i, *across), algebra.div(x.load((i, *across)), t.load((i, i)))),)))
    return Loop((_upwards if lower else _downwards)(var, n), tuple(body))


def _solve(forms: ThreadForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """A^T = P L U: A x = b by U^T, L^T and the exchanges back; an adjoint system, between conjugates, by the exchanges,
    L and U."""
    (x,), (factors, pivots, b) = stmt.outs, stmt.ins
    adjoint, n, var = bool(stmt.attrs.get("adjoint")), x.shape[0], forms.counter("exchange")
    turned = adjoint and x.dtype.kind == "c"
    exchanges = Loop((_upwards if adjoint else _downwards)(var, n), (_exchange(x, ix(var), _row(pivots, ix(var))),))
    look, bad = without_pivots(forms, frame, factors)
    before = [*look, forms.noted(bad), copy(x, b, conjugate) if turned else copy(x, b)]
    if not adjoint:
        return [*before, _substitute(forms, factors, x, True, False), _substitute(forms, factors, x, False, True),
                exchanges]
    m = factors.transposed
    solved = [_substitute(forms, m, x, True, True), _substitute(forms, m, x, False, False)]
    return [*before, exchanges, *solved, *([copy(x, x, conjugate)] if turned else [])]


def _trsolve(forms: ThreadForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    (x,), (t, b) = stmt.outs, stmt.ins
    return [copy(x, b), _substitute(forms, t, x, bool(stmt.attrs["lower"]), bool(stmt.attrs.get("unit")))]


def _factor(forms: ThreadForms, x: View, a: View, noted: Noted) -> list[Stmt]:
    """The lower factor, column by column; noted: where there is none."""
    var, n, dtype = forms.counter("column"), x.shape[0], x.dtype
    j, i, k = ix(var), ix("w0"), ix("k0")
    before, below = Range("k0", ix(0), j), Range("w0", j + 1, n)

    def product(row: Ix) -> Expr:
        other = x.load((j, k))
        return algebra.neg(algebra.mul(x.load((row, k)), conjugate(other) if dtype.kind == "c" else other))

    own = algebra.real(x.load((j, j))) if dtype.kind == "c" else x.load((j, j))
    bad = call("not", _is("gt", own, algebra.zero(own.dtype)), dtype=_BOOL)
    root = algebra.cast(call("sqrt", own, dtype=own.dtype), dtype)
    body = (Map((before,), (_put(x, (j, j), product(j), "+"),)), noted(bad), Map((), (_put(x, (j, j), root),)),
            Map((below, before), (_put(x, (i, j), product(i), "+"),)),
            Map((below,), (_put(x, (i, j), algebra.div(x.load((i, j)), x.load((j, j)))),)))
    return [triangle(x, a), Loop(_upwards(var, n), body)]


def _cholesky(forms: ThreadForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    return _factor(forms, stmt.outs[0], stmt.ins[0], forms.noted)


def _definite(forms: ThreadForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    (told,), (a,) = stmt.outs, stmt.ins
    at, space = (ix(0),), forms.workspace(frame, a.shape, a.dtype)

    def noted(bad: Expr) -> Map:
        return Map((), (_put(told, at, algebra.select(bad, const(False, _BOOL), told.load(at))),))

    return [Map((), (_put(told, at, const(True, _BOOL)),), stmt.source), *_factor(forms, space, a, noted)]


OPERATIONS: Mapping[str, Callable[..., list[Stmt]]] = MappingProxyType({
    "matmul": lambda forms, frame, stmt: product_loops(stmt), "lu": _lu, "solve": _solve, "trsolve": _trsolve,
    "inv": inverse, "cholesky": _cholesky, "definite": _definite, "cholesky_adjoint": cholesky_adjoint,
    **{op: FORMS[op] for op in ("cholesky_tangent", "det", "logdet", "detsign")}})
"""What a thread can do."""


def sign_of(name: str, trips: int) -> Array:
    """The array with a sign for each iteration."""
    return Array(name, (trips,), _INT32)
