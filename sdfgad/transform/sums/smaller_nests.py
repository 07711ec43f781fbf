"""Nests that add up what is the same for several elements of their target: the loops of a sum made once for all."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod

from sdfgad.analysis.elements.access import always_inside, interval_env
from sdfgad.ir.expr import Expr, loads, symbols_of
from sdfgad.ir.index import Bounds, ix
from sdfgad.ir.program import Array, Map, Range, Store


@dataclass(frozen=True)
class SumNest:
    """Sums for every point of `kept` (numbers as bounds), added up over `summing`, then to the target over `last`."""

    kept: tuple[Range, ...]
    summing: tuple[Range, ...]
    last: tuple[Range, ...]


def smaller_nest(stmt: Map, store: Store, inside: Iterable[Expr], outside: Iterable[Expr],
                 arrays: Mapping[str, Array]) -> SumNest | None:
    """How `target += outside * inside` is added up when what is `inside` lacks a variable of the target, else None.

    `outside`: factors that lack the variables summed over.
    """
    target = tuple(r for r in stmt.domain if any(r.var in i.symbols for i in store.index))
    needed = _needed(stmt, target, {v for e in inside for v in symbols_of(e)})
    if len(needed) == len(target):
        return None
    kept, last = _boxes(needed, stmt), _last(stmt, store, target, outside, arrays[store.array])
    # Sums that outgrow what they are made of and for would cost more memory than they save time.
    largest = max(prod(arrays[n].shape) for n in (store.array, *(a.array for e in inside for a in loads(e))))
    if kept is None or last is None or prod(r.trips or 0 for r in kept) > largest:
        return None
    return SumNest(kept, _summing(needed, target, stmt), last)


def _bounding(r: Range) -> frozenset[str]:
    """What the bounds of a range depend on."""
    return r.start.symbols | r.stop.symbols


def _needed(stmt: Map, target: Collection[Range], used: Collection[str]) -> tuple[Range, ...]:
    """Variables of the target that the smaller sum depends on, through its terms or through what it runs over."""
    summed = {r.var for r in stmt.domain if r not in target}
    names = {r.var for r in target if r.var in used or _bounding(r) & summed}
    while True:
        bounding = {v for r in stmt.domain if r.var in names | summed for v in _bounding(r)}
        more = {r.var for r in target if r.var in bounding} - names
        if not more:
            return tuple(r for r in target if r.var in names)
        names |= more


def _boxes(ranges: Iterable[Range], stmt: Map) -> tuple[Range, ...] | None:
    """The ranges with numbers as bounds: those that move get the hull of all they run over."""
    env = interval_env(stmt.domain)
    found = [_box(r, env) for r in ranges]
    return None if None in found else tuple(r for r in found if r is not None)


def _box(r: Range, env: Mapping[str, Bounds]) -> Range | None:
    if r.start.const is not None and r.stop.const is not None:
        return r
    low, high = env[r.var]
    return None if low is None or high is None else Range(r.var, ix(low), ix(max(low, high + 1)))


def _summing(needed: tuple[Range, ...], target: Collection[Range], stmt: Map) -> tuple[Range, ...]:
    """What the smaller sum runs over; bounds may depend on variables before them only."""
    if any(_bounding(r) for r in stmt.domain):
        return tuple(r for r in stmt.domain if r in needed or r not in target)
    return (*needed, *(r for r in stmt.domain if r not in target))


def _last(stmt: Map, store: Store, target: tuple[Range, ...], outside: Iterable[Expr],
          array: Array) -> tuple[Range, ...] | None:
    """The domain that adds the sums to the target; None where a bound depends on what was summed and has to stay.

    Without it, sums of nothing are added as well: they have to be 0 (no factor that may be infinite), their places to
    exist.
    """
    summed = {r.var for r in stmt.domain if r not in target}
    moving = [r for r in target if _bounding(r) & summed]
    if not moving:
        return target
    boxes = _boxes(moving, stmt)
    names = {r.var for r in moving}
    if boxes is None or any(_bounding(r) & names for r in target) or any(True for e in outside for _ in loads(e)):
        return None
    named = {r.var: r for r in boxes}
    there = always_inside(store.index, array.shape, interval_env(stmt.domain))
    return tuple(named.get(r.var, r) for r in target) if there else None
