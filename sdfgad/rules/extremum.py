"""Who wins a minimum or maximum: found again when the derivative is computed, in a way that rounding cannot upset."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdfgad.errors import unsupported
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Load, walk
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Map, Range, Stmt, Store

_BOOL = np.dtype(bool)
# Functions whose result is the same wherever the compiler places them: it may fuse a product with a sum, here or there.
_EXACT = frozenset({"neg", "abs", "cast", "select", "maximum", "minimum", "real", "imag", "lt", "le", "gt", "ge", "eq",
                    "ne", "and", "or", "not", "isnan"})

Fresh = Callable[[str, tuple[int, ...], np.dtype], Array]


@dataclass(frozen=True)
class Winners:
    """prep: statements to run first. wins: whether a point is a winner; ties: how many share the result.

    old_wins: whether the value from before beats every point. kept: the ranges that number the results.
    """

    prep: tuple[Stmt, ...]
    wins: Expr
    ties: Load
    old_wins: Expr
    kept: tuple[Range, ...]


def winners(stmt: Map, store: Store, fresh: Fresh) -> Winners:
    """Compare `array[index] op= expr` with its result, for op "min" or "max"."""
    kept = tuple(r for r in stmt.domain if any(r.var in i.symbols for i in store.index))
    shape, at = tuple(_extent(stmt, r, kept) for r in kept), tuple(_offset(r) for r in kept)
    best = Load(store.array, store.index, store.expr.dtype)
    zero, one = algebra.zero(best.dtype), algebra.number(1, best.dtype)
    prep: list[Stmt] = []
    value, result = store.expr, best
    sizes = [r.trips for r in stmt.domain]
    if any(isinstance(n, Call) and n.fn not in _EXACT for n in walk(value)) and None not in sizes:
        value, result = _again(stmt, store, fresh, prep, kept)
    wins = Call("eq", (value, result), _BOOL)
    count = fresh("ties", shape, best.dtype)
    prep.append(Map(kept, (Store(count.name, at, zero),), stmt.source))
    prep.append(Map(stmt.domain, (Store(count.name, at, algebra.select(wins, one, zero), "+"),), stmt.source))
    ties = Load(count.name, at, best.dtype)
    if result == best:
        return Winners(tuple(prep), wins, ties, Call("eq", (ties, zero), _BOOL), kept)
    old_wins = _beats(best, result, store.op == "max")
    return Winners(tuple(prep), algebra.both(Call("not", (old_wins,), _BOOL), wins), ties, old_wins, kept)


def _again(stmt: Map, store: Store, fresh: Fresh, prep: list[Stmt], kept: tuple[Range, ...]) -> tuple[Load, Load]:
    """The values, each computed once and stored, and their extremum."""
    dtype = store.expr.dtype
    held = fresh("values", tuple(r.trips or 0 for r in stmt.domain), dtype)
    value = Load(held.name, tuple(_offset(r) for r in stmt.domain), dtype)
    made = fresh("extremum", tuple(r.trips or 0 for r in kept), dtype)
    result = Load(made.name, tuple(_offset(r) for r in kept), dtype)
    start = algebra.number(-np.inf if store.op == "max" else np.inf, dtype)
    prep += [Map(stmt.domain, (Store(held.name, value.index, store.expr),), stmt.source),
             Map(kept, (Store(made.name, result.index, start),), stmt.source),
             Map(stmt.domain, (Store(made.name, result.index, value, store.op),), stmt.source)]
    return value, result


def _beats(old: Load, result: Load, largest: bool) -> Expr:
    """By more than rounding."""
    margin = algebra.number(float(np.finfo(old.dtype).eps) ** 0.5, old.dtype)
    sizes = algebra.add(Call("abs", (old,), old.dtype), Call("abs", (result,), old.dtype))
    gap = algebra.sub(old, result) if largest else algebra.sub(result, old)
    return Call("gt", (gap, algebra.mul(margin, sizes)), _BOOL)


def _extent(stmt: Map, r: Range, kept: tuple[Range, ...]) -> int:
    # A range that begins where one of no result says has no places of its own.
    loose = {other.var for other in stmt.domain if other not in kept}
    if r.trips is None or not loose.isdisjoint(r.start.symbols):
        raise unsupported(stmt.source, "a minimum or maximum whose result has a size known only at run time", "",
                          "SG134")
    return r.trips


def _offset(r: Range) -> Ix:
    return (ix(r.var) - r.start) // r.step
