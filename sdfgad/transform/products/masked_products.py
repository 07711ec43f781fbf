"""Products with masked operands stay right for data that is not finite, where zero times the data is not zero."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType
from typing import TypeGuard

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Index, Load, map_indices, walk
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, If, Lib, Map, Program, Range, Stmt, Store, View, all_of, axis
from sdfgad.ir.walk import rebuild
from sdfgad.names import fresh, variable

TOUCHED = "touched"
"""Attribute of a product: the condition on row, summed index and column (axis 0, 1, 2) for a term to be in the sum."""
_BOOL = np.dtype(bool)


def guard_masked_products(program: Program) -> Program:
    """C += matmul(factor, B, touched=(_0 >= _1))
    ->   probe = 0 ; map k, j: probe += B[k, j] * 0
         if probe == 0: C += matmul(factor, B)
         else: map i, j, k: C[i, j] += select(i >= k, factor[i, k] * B[k, j], 0)

    The probe is zero when all elements are finite, NaN otherwise.
    """
    work = _Guard(dict(program.arrays))
    body = rebuild(program.body, lambda s: tuple(work.guarded(s)) if _is_masked(s) else (s,))
    return program.but(body=body, arrays=work.arrays)


def _is_masked(stmt: Stmt) -> TypeGuard[Lib]:
    return isinstance(stmt, Lib) and TOUCHED in stmt.attrs


@dataclass
class _Guard:
    arrays: dict[str, Array]

    def guarded(self, stmt: Lib) -> Iterator[Stmt]:
        touched: Expr = stmt.attrs[TOUCHED]
        plain = replace(stmt, attrs=MappingProxyType({n: v for n, v in stmt.attrs.items() if n != TOUCHED}))
        name = fresh("probe", self.arrays)
        dtype = stmt.outs[0].dtype
        self.arrays[name] = Array(name, (), dtype, source=stmt.source)
        yield Map((), (Store(name, (), algebra.zero(dtype)),), stmt.source)
        for view in _exposed(stmt, touched):
            yield _swept(view, name, stmt)
        finite = Call("eq", (Load(name, (), dtype), algebra.zero(dtype)), _BOOL)
        yield If(finite, (plain,), tuple(_spelled(plain, touched)), stmt.source)


def _exposed(stmt: Lib, touched: Expr) -> tuple[View, ...]:
    """The operands that meet zeros of the other one: a condition that does not name the column may put some into the
    left one, and one that does not name the row into the right one."""
    rows = [{s for i in n.args if isinstance(i, Index) for s in i.ix.symbols}
            for n in walk(touched) if isinstance(n, Call) and n.fn == "ge"]
    left, right = stmt.ins[:2]
    return tuple(view for view, other in ((left, axis(0)), (right, axis(2))) if any(other not in r for r in rows))


def _swept(view: View, probe: str, stmt: Lib) -> Map:
    domain = all_of(view.shape, "m")
    element = view.load(tuple(ix(r.var) for r in domain))
    # Spelled as a call: the algebra takes zero times anything for zero.
    nothing = Call("mul", (element, algebra.zero(view.dtype)), view.dtype)
    return Map(domain, (Store(probe, (), nothing, "+"),), stmt.source)


def _spelled(stmt: Lib, touched: Expr) -> Iterator[Map]:
    """The terms of the sum one by one."""
    (out,), (a, b, *scale) = stmt.outs, stmt.ins
    i, j, k = (Range(variable(v), ix(0), n) for v, n in zip("ijk", (*out.shape, a.shape[1]), strict=True))
    at = out.at((ix(i.var), ix(j.var)))
    factors = [algebra.number(stmt.attrs.get("factor", 1), out.dtype), *(_element(v, (), False) for v in scale),
               _element(a, (ix(i.var), ix(k.var)), bool(stmt.attrs.get("conj_a"))),
               _element(b, (ix(k.var), ix(j.var)), bool(stmt.attrs.get("conj_b")))]
    here = placed(touched, (ix(i.var), ix(k.var), ix(j.var)))
    value = algebra.select(here, reduce(algebra.mul, factors), algebra.zero(out.dtype))
    if not stmt.attrs.get("accumulate"):
        yield Map((i, j), (Store(out.array, at, algebra.zero(out.dtype)),), stmt.source)
    yield Map((i, j, k), (Store(out.array, at, value, "+"),), stmt.source)


def _element(view: View, position: tuple[Ix, ...], conjugate: bool) -> Expr:
    e: Expr = view.load(position)
    return Call("conj", (e,), e.dtype) if conjugate and e.dtype.kind == "c" else e


def placed(touched: Expr, position: tuple[Ix, ...]) -> Expr:
    """The condition for another row, summed index and column."""
    return map_indices(touched, lambda i: i.subs({axis(d): p for d, p in enumerate(position)}))


def within(touched: Expr | None, start: tuple[int, int], part: View, whole: View) -> Expr | None:
    """Where a product has terms after its left operand became the part of a larger one that begins at `start`. None is
    everywhere."""
    conditions: list[Expr] = []
    for d, low in enumerate(start):
        end = part.shape[d] + low
        conditions += [_least(ix(axis(d)), ix(low))] if low else []
        conditions += [_least(end - 1, ix(axis(d)))] if end != whole.shape[d] else []
    if touched is not None:
        conditions.append(placed(touched, (ix(axis(0)) - start[0], ix(axis(1)) - start[1], ix(axis(2)))))
    return reduce(algebra.both, conditions) if conditions else None


def united(conditions: Sequence[Expr | None]) -> Expr | None:
    """Where one of several conditions holds. None is everywhere."""
    known = [c for c in conditions if c is not None]
    if len(known) < len(conditions):
        return None
    return reduce(lambda p, q: p if p == q else Call("or", (p, q), _BOOL), known)


def _least(a: Ix, b: Ix) -> Expr:
    integer = np.dtype(np.int64)
    return Call("ge", (Index(a, integer), Index(b, integer)), _BOOL)
