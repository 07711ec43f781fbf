"""Maps row by row: which row of the data an iteration belongs to, and which rows of two maps depend on each other."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median_low
from types import MappingProxyType
from typing import TypeAlias

from sdfgad.analysis.loops.rows import touches
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.cost import map_work
from sdfgad.codegen.cpu.nests.injective import injective_variables
from sdfgad.codegen.cpu.nests.nest_order import order_loops
from sdfgad.ir.expr import index_elems
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import Map, Range, Store
from sdfgad.ir.walk import conflicts, range_elems, rename_symbols

MOST_GLUED = 4
"""So many rows that depend on each other are kept together; more are too few blocks."""
Origins = Mapping[str, tuple[int, int]]
"""Which dimension of an array counts rows, and its index in row 0."""


@dataclass(frozen=True)
class Place:
    """One index of an element: its interval, and how far it is ahead of the row, where that is the same everywhere."""

    bounds: Bounds
    ahead: Ix | None


_Places: TypeAlias = tuple[tuple[tuple[Place, ...], bool], ...]


@dataclass(frozen=True)
class Rowed:
    """A map whose first range, over numbers, counts the rows. bounds: the intervals of all variables."""

    stmt: Map
    bounds: Mapping[str, Bounds]

    @property
    def row(self) -> Range:
        return self.stmt.domain[0]

    @cached_property
    def rows(self) -> range:
        return range(self.row.start.const or 0, self.row.stop.const or 0)

    @cached_property
    def work(self) -> float:
        return map_work(self.stmt, self.bounds)

    @cached_property
    def known_places(self) -> dict[str, _Places]:
        """What has been found out about the elements touched."""
        return {}

    def places(self, array: str) -> _Places:
        """The elements of an array that are touched, each with whether it is written."""
        if array not in self.known_places:
            found = ((tuple(Place(i.bounds(self.bounds), self._ahead(i)) for i in a.index), a.written)
                     for a in touches(self.stmt) if a.array == array)
            self.known_places[array] = tuple(dict.fromkeys(found))
        return self.known_places[array]

    def _ahead(self, place: Ix) -> Ix | None:
        """In a map of one row any number is ahead of it by another one."""
        if len(self.rows) == 1:
            place = place.subs({self.row.var: self.rows[0]}) + ix(self.row.var) - self.rows[0]
        apart = place - ix(self.row.var)
        return apart if apart.symbols.isdisjoint(r.var for r in self.stmt.domain) else None


def in_rows(stmt: Map, frame: Frame, origins: Origins, var: str, alone: bool) -> Rowed | None:
    """The map with the rows of `origins` as its first range; None where data decides what it touches, or rows collide.

    alone: it is enough work for all threads, and its outermost loop counts rows where no array is known to have them.

    map i = 0:9, j: y[i + 1, j] = x[i, j]   ->   map row = 1:10, j: y[row, j] = x[row - 1, j]
    """
    if not _plain(stmt):
        return None
    found = _known_row(stmt, origins) or (_outer_row(stmt, frame) if alone else _first_row(stmt))
    if found is None:
        return None
    place, shift = found
    if place is None:
        made = replace(stmt, domain=(Range(var, ix(shift), ix(shift + 1)), *stmt.domain))
    elif place.var in injective_variables(stmt, frame):
        row = Range(var, place.start + shift, place.stop + shift)
        rest = replace(stmt, domain=tuple(r for r in stmt.domain if r is not place))
        renamed = rename_symbols((rest,), {place.var: ix(var) - shift})[0]
        if not isinstance(renamed, Map):
            return None
        made = replace(renamed, domain=(row, *renamed.domain))
    else:
        return None
    return Rowed(made, MappingProxyType(dict(frame.inside(made.domain).bounds)))


def _plain(stmt: Map) -> bool:
    """Whether what the map touches follows from its variables, and it stores into arrays."""
    if not stmt.domain or any(range_elems(r) for r in stmt.domain):
        return False
    stores = [p for p in stmt.body if isinstance(p, Store)]
    return all(p.index and not any(i.elems for i in p.index) for p in stores) \
        and not any(index_elems(p.expr) for p in stmt.body)


def _known_row(stmt: Map, origins: Origins) -> tuple[Range | None, int] | None:
    """The range that counts the rows of what is stored, or else of most that is loaded, and how far they are ahead.

    No range and a number for a map in a single row.
    """
    ranges = {r.var: r for r in stmt.domain if _fixed(r)}
    for written in (True, False):
        found: dict[str, list[int]] = {}
        for a in touches(stmt):
            if a.written != written or a.array not in origins:
                continue
            dimension, origin = origins[a.array]
            place = a.index[dimension]
            var = next(iter(place.symbols & ranges.keys()), "")
            gap = (place - ix(var)).const if var else place.const
            if gap is not None:
                found.setdefault(var, []).append(gap - origin)
        if found:
            var = max(found, key=lambda v: len(found[v]))
            return ranges.get(var), median_low(found[var])
    return None


def _outer_row(stmt: Map, frame: Frame) -> tuple[Range, int] | None:
    """The outermost loop, in rows of what the map stores first."""
    outer = order_loops(frame, stmt)[0]
    if not _fixed(outer):
        return None
    gaps = [(i - ix(outer.var)).const for p in stmt.body if isinstance(p, Store) for i in p.index]
    return outer, next((g for g in gaps if g is not None), 0)


def _first_row(stmt: Map) -> tuple[Range | None, int] | None:
    """The first index of what the map stores first that does not stay the same in a loop around it."""
    ranges = {r.var: r for r in stmt.domain if _fixed(r)}
    index = next((p.index for p in stmt.body if isinstance(p, Store)), ())
    for place in index:
        if place.const is not None:
            return None, place.const
        for var in place.symbols & ranges.keys():
            gap = (place - ix(var)).const
            return (ranges[var], gap) if gap is not None else None
    return None


def _fixed(r: Range) -> bool:
    return r.step == 1 and not r.early and r.start.const is not None and r.stop.const is not None and bool(r.trips)


def origins_of(made: Rowed, known: Origins) -> dict[str, tuple[int, int]]:
    """Where the rows of the arrays of a map are, beside those known."""
    found = dict(known)
    # What a map stores says more of its rows than what it loads.
    for a in sorted(touches(made.stmt), key=lambda t: not t.written):
        for d, place in enumerate(a.index):
            gap = (place - ix(made.row.var)).const
            if gap is not None and a.array not in found:
                found[a.array] = (d, gap)
    return found


def tied(first: Rowed, second: Rowed) -> range | None:
    """The rows that must not be parted from the row before them when blocks of rows run both maps one after the other.

    None where that would be many: the second map has to wait for all of the first one.
    """
    rows: list[int] = []
    for one, other in _pairs(first, second):
        found = _tied_by(first.rows, second.rows, one, other)
        if found is None:
            return None
        rows.extend(found)
    together = range(min(rows), max(rows) + 1) if rows else range(0)
    return together if len(together) <= MOST_GLUED else None


def _pairs(first: Rowed, second: Rowed) -> Iterator[tuple[tuple[Place, ...], tuple[Place, ...]]]:
    """Elements of the same array, of which one map writes at least one."""
    for name in sorted(conflicts(first.stmt, second.stmt)):
        for one, written in first.places(name):
            yield from ((one, other) for other, also in second.places(name) if written or also)


def _tied_by(mine: range, others: range, one: tuple[Place, ...], other: tuple[Place, ...]) -> range | None:
    """The rows between the iterations that touch the same element."""
    if any(_apart(a.bounds, b.bounds) for a, b in zip(one, other, strict=True)):
        return range(0)
    found = {(a.ahead - b.ahead).const for a, b in zip(one, other, strict=True)
             if a.ahead is not None and b.ahead is not None}
    gaps = found - {None}
    if not gaps:
        return _between(min(mine[0], others[0]), max(mine[-1], others[-1]))
    gap = gaps.pop() or 0
    start, stop = max(mine.start, others.start - gap), min(mine.stop, others.stop - gap)
    if gaps or start >= stop or not gap:
        return range(0)
    return _between(min(start, start + gap), max(stop - 1, stop - 1 + gap))


def _apart(one: Bounds, other: Bounds) -> bool:
    """Whether intervals have no number in common."""
    (low, high), (least, most) = one, other
    return (high is not None and least is not None and high < least) \
        or (most is not None and low is not None and most < low)


def _between(first: int, last: int) -> range | None:
    return range(first + 1, last + 1) if last - first <= MOST_GLUED else None
