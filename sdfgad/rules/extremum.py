"""Who wins a minimum or maximum: found again when the derivative is computed, in a way that rounding cannot upset."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sdfgad.errors import unsupported
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Load, certain, walk
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import Array, Map, Range, Stmt, Store, all_of

_BOOL = np.dtype(bool)
_ENDLESS = 1 << 60
"""Iterations that no loop reaches: a while loop counts as if it had more."""
# Functions whose result is the same wherever the compiler places them: it may fuse a product with a sum, here or there.
_EXACT = frozenset({"neg", "abs", "cast", "select", "maximum", "minimum", "real", "imag", "lt", "le", "gt", "ge", "eq",
                    "ne", "and", "or", "not", "isnan"})

Fresh = Callable[[str, tuple[int, ...], np.dtype], Array]


@dataclass(frozen=True)
class Winners:
    """prep: statements to run first. wins: whether a point is a winner; ties: how many share the result.

    kept: ranges that go through the results; index: their places; old_wins: whether the value from before beats every
    point, by these ranges.
    """

    prep: tuple[Stmt, ...]
    wins: Expr
    ties: Load
    old_wins: Expr
    kept: tuple[Range, ...]
    index: tuple[Ix, ...]


@dataclass(frozen=True)
class Results:
    """kept: ranges that go through the results; index: their places in the array. at, own: the place of a result among
    all of them, by these ranges and by those of the map. meet: whether points share results that no formula tells."""

    kept: tuple[Range, ...]
    index: tuple[Ix, ...]
    at: tuple[Ix, ...]
    own: tuple[Ix, ...]
    shape: tuple[int, ...]
    meet: bool


def winners(stmt: Map, store: Store, fresh: Fresh, arrays: Mapping[str, Array],
            around: Mapping[str, Bounds]) -> Winners:
    """Compare `array[index] op= expr` with its result, for op "min" or "max". around: intervals of the variables of the
    loops around."""
    found = results_of(stmt, store, arrays[store.array].shape)
    best = Load(store.array, store.index, store.expr.dtype)
    zero, one = algebra.zero(best.dtype), algebra.number(1, best.dtype)
    prep: list[Stmt] = []
    value, result = store.expr, best
    if not is_exact(value):
        room = tuple(_room(r, stmt, store, arrays, around) for r in stmt.domain)
        value, result = _again(stmt, store, fresh, prep, found, room)
    wins = Call("eq", (value, result), _BOOL)
    count = fresh("ties", found.shape, best.dtype)
    prep.append(Map(found.kept, (Store(count.name, found.at, zero),), stmt.source))
    prep.append(Map(stmt.domain, (Store(count.name, found.own, algebra.select(wins, one, zero), "+"),), stmt.source))
    ties = Load(count.name, found.own, best.dtype)
    old_wins: Expr = Call("eq", (replace(ties, index=found.at), zero), _BOOL)
    if result != best:
        largest = store.op == "max"
        beats = _beats(replace(best, index=found.index), replace(result, index=found.at), largest)
        old_wins = Call("or", (old_wins, beats), _BOOL) if found.meet else beats
        wins = Call("and", (Call("not", (_beats(best, result, largest),), _BOOL), wins), _BOOL)
    return Winners(tuple(prep), wins, ties, old_wins, found.kept, found.index)


def results_of(stmt: Map, store: Store, shape: tuple[int, ...]) -> Results:
    """Those that a map has: one for each point of some of its ranges, or else all elements that it may name."""
    kept = tuple(r for r in stmt.domain if any(r.var in i.symbols for i in store.index))
    own = {r.var for r in stmt.domain}
    if all(any(i.coefficient(r.var) and not i.elems and i.symbols & own == {r.var} for i in store.index) for r in kept):
        at = tuple(_offset(r) for r in kept)
        return Results(kept, store.index, at, at, tuple(_extent(stmt, r, kept) for r in kept), False)
    named = [d for d, i in enumerate(store.index) if i.symbols & own]
    sizes = tuple(shape[d] for d in named)
    through = all_of(sizes, "e")
    places = dict(zip(named, through, strict=True))
    index = tuple(ix(places[d].var) if d in places else i for d, i in enumerate(store.index))
    at = tuple(ix(r.var) for r in through)
    return Results(through, index, at, tuple(store.index[d] for d in named), sizes, True)


def is_exact(value: Expr) -> bool:
    """Whether it is the same to the last digit wherever it is computed."""
    return not any(isinstance(n, Call) and n.fn not in _EXACT for n in walk(value))


def _room(r: Range, stmt: Map, store: Store, arrays: Mapping[str, Array], around: Mapping[str, Bounds]) -> int:
    """The most points that a range ever has: by the loops around it, or by an array along which it walks."""
    if r.trips is not None:
        return r.trips
    bounds = dict(around)
    for outer in stmt.domain:
        low, high = outer.start.bounds(bounds)[0], outer.stop.bounds(bounds)[1]
        bounds[outer.var] = (low, None if high is None else high - 1) if outer.step > 0 else (None, None)
    gap = ((r.stop - r.start) * (1 if r.step > 0 else -1)).bounds(bounds)[1]
    known = [] if gap is None or gap > _ENDLESS else [max(0, -(-gap // abs(r.step)))]
    if all(r.var not in o.start.symbols | o.stop.symbols for o in stmt.domain):  # none of its points is idle
        known += [size for n in walk(store.expr, certain) if isinstance(n, Load)
                  for i, size in zip(n.index, arrays[n.array].shape, strict=True)
                  if r.var in i.symbols and i.coefficient(r.var) and i.symbols.isdisjoint(
                      o.var for o in stmt.domain if o is not r)]
    if not known:
        raise unsupported(stmt.source, "a minimum or maximum of values of which nobody knows how many there are",
                          "store them in an array first", "SG134")
    return min(known)


def _again(stmt: Map, store: Store, fresh: Fresh, prep: list[Stmt], found: Results,
           room: tuple[int, ...]) -> tuple[Load, Load]:
    """The values, each computed once and stored, and their extremum."""
    dtype = store.expr.dtype
    held = fresh("values", room, dtype)
    value = Load(held.name, tuple(_offset(r) for r in stmt.domain), dtype)
    made = fresh("extremum", found.shape, dtype)
    result = Load(made.name, found.own, dtype)
    start = algebra.number(-np.inf if store.op == "max" else np.inf, dtype)
    prep += [Map(stmt.domain, (Store(held.name, value.index, store.expr),), stmt.source),
             Map(found.kept, (Store(made.name, found.at, start),), stmt.source),
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
