"""Sums of points that only go into a sum of all of them: a row of them is enough."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TypeAlias

from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import reads, rebuild, statements, writes
from sdfgad.thresholds import thresholds
from sdfgad.transform.clearing.clearings import is_zero
from sdfgad.transform.spelling import only_store

Sides: TypeAlias = tuple[tuple[Ix, Ix], ...]


def fold_points(program: Program) -> Program:
    """parallel s, private p: { map i, j: p[i, j] = 0 ; for t: map i, j: { y[i, j] = f ; p[i, j] += g } ;
         map i, j: v[s] += p[i, j] }
    ->   parallel s, private p: { map j: p[j] = 0 ; for t: map i, j: { y[i, j] = f ; p[j] += g } ; map j: v[s] += p[j] }

    For what one iteration has to itself: cleared whole, added to, and added up whole. The row stays in the nearest
    cache, and fills vectors.
    """
    folds = dict(_folds(program))
    if not folds:
        return program
    arrays = {n: folds.get(n, a) for n, a in program.arrays.items()}
    return program.but(body=rebuild(program.body, partial(_folded, folds=folds)), arrays=arrays)


def _folds(program: Program) -> Iterator[tuple[str, Array]]:
    """The arrays that become rows, and the rows."""
    users: dict[str, list[Stmt]] = {}
    for stmt in statements(program.body):
        for name in reads(stmt) | writes(stmt):
            users.setdefault(name, []).append(stmt)
    for loop in statements(program.body):
        if isinstance(loop, Loop) and loop.parallel and loop.private:
            inside = {id(s) for s in statements(loop.body)}
            moving = {s.range.var for s in statements(loop.body) if isinstance(s, Loop)}
            for name in loop.private:
                row = _row(program.arrays[name])
                if row is not None and all(id(s) in inside for s in users.get(name, ())) and \
                        _only_added_up(name, users.get(name, ()), moving):
                    yield name, row


def _row(array: Array) -> Array | None:
    """The last axes of an array, as many as fill vectors; None where these are all."""
    kept = next((k for k in range(1, len(array.shape)) if prod(array.shape[-k:]) >= thresholds().folded_row), None)
    plain = array.dtype.kind in "fc" and array.packing is None
    return replace(array, shape=array.shape[-kept:]) if kept is not None and plain else None


def _only_added_up(name: str, users: Sequence[Stmt], moving: Collection[str]) -> bool:
    """Whether an array is cleared first and added up last, in one box, and nothing but added to in between, there.

    moving: variables of loops inside. A box that they or data move is another one each time, whatever its text."""
    maps = [s for s in users if isinstance(s, Map)]
    if len(maps) < 3 or len(maps) < len(users):
        return False
    first, *between, last = maps
    cleared = [p for p in first.body if isinstance(p, Store) and p.array == name]
    total = _total(last)
    if len(cleared) != 1 or not is_zero(cleared[0]) or name in reads(first) or total is None or \
            total.expr.array != name or not _in_order(first, cleared[0].index) or not _in_order(last, total.expr.index):
        return False
    box = _sides(first, cleared[0].index)
    if box is None or any(end.elems or not end.symbols.isdisjoint(moving) for ends in box for end in ends):
        return False
    return box == _sides(last, total.expr.index) and all(_adds(m, name, box) for m in between)


def _in_order(stmt: Map, index: Sequence[Ix]) -> bool:
    """Whether the dimensions are the ranges of a map, one after the other."""
    return len(index) == len(stmt.domain) and all(r.var in i.symbols for i, r in zip(index, stmt.domain, strict=True))


def _sides(stmt: Map, index: Sequence[Ix]) -> Sides | None:
    """In each dimension the first element that an index means, and the one behind the last; None where not all between
    are meant, or a side depends on the map."""
    own = {r.var: r for r in stmt.domain}
    sides: list[tuple[Ix, Ix]] = []
    for i in index:
        here = [own[v] for v in i.symbols if v in own]
        if len(here) > 1 or i.elems or any(r.step != 1 or i.coefficient(r.var) != 1 for r in here):
            return None
        names = {r.var: (r.start, r.stop) for r in here}
        low, high = (i.subs({v: ends[k] for v, ends in names.items()}) for k in (0, 1))
        if not own.keys().isdisjoint(low.symbols | high.symbols):
            return None
        sides.append((low, high if here else i + 1))
    return tuple(sides)


def _within(inner: Sides, outer: Sides) -> bool:
    return all(a == c and b == d or None not in (a.const, b.const, c.const, d.const) and
               c.const <= a.const and b.const <= d.const  # type: ignore[operator]
               for (a, b), (c, d) in zip(inner, outer, strict=True))


@dataclass(frozen=True)
class _AddedElement:
    """A store, and the element that it adds."""

    store: Store
    expr: Load


def _total(stmt: Map) -> _AddedElement | None:
    """A sum of elements, which goes to one element."""
    part = only_store(stmt)
    if part is None or part.op != "+" or not isinstance(part.expr, Load) or part.expr.array == part.array or \
            any(r.var in i.symbols for r in stmt.domain for i in part.index):
        return None
    return _AddedElement(part, part.expr)


def _adds(stmt: Map, name: str, box: Sides) -> bool:
    """Whether a map only adds to an array, and inside of a box."""
    stores = [p for p in stmt.body if isinstance(p, Store) and p.array == name]
    others = tuple(replace(p, op=None) if isinstance(p, Store) and p.array == name else p for p in stmt.body)
    places = [_sides(stmt, p.index) for p in stores]
    return all(p.op == "+" for p in stores) and name not in reads(replace(stmt, body=others)) and \
        all(here is not None and _within(here, box) for here in places)


def _folded(stmt: Stmt, folds: Mapping[str, Array]) -> Block:
    if not isinstance(stmt, Map) or folds.keys().isdisjoint(reads(stmt) | writes(stmt)):
        return (stmt,)
    total = _total(stmt)
    if total is not None and total.expr.array in folds:
        row = folds[total.expr.array]
        element = Load(row.name, total.expr.index[-len(row.shape):], row.dtype)
        added = replace(_on_row(total.store, folds), expr=element)
        return (Map(stmt.domain[-len(row.shape):], (added,), stmt.source),)
    cleared = [p for p in stmt.body if is_zero(p) and p.array in folds]
    rows = [Map(stmt.domain[-len(folds[p.array].shape):], (_on_row(p, folds),), stmt.source) for p in cleared]
    others = (p for p in stmt.body if not any(p is c for c in cleared))
    body = tuple(_on_row(p, folds) if isinstance(p, Store) else p for p in others)
    return (*rows, replace(stmt, body=body)) if any(isinstance(p, Store) for p in body) else tuple(rows)


def _on_row(part: Store, folds: Mapping[str, Array]) -> Store:
    row = folds.get(part.array)
    return part if row is None else replace(part, index=part.index[-len(row.shape):])
