"""Rows that never meet: a numbering under which every statement of a run keeps to the row it works on.

A row is a whole number. It owns one slice of each array of the run: element `offset + row` along one dimension. When
every iteration of every map touches slices of one row only, in all arrays that somebody writes, rows are independent.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from sdfgad.ir.atoms import Min
from sdfgad.ir.expr import index_elems, loads
from sdfgad.ir.index import Ix, of_atom
from sdfgad.ir.program import Array, Block, If, Loop, Map, Range, Stmt, Store
from sdfgad.ir.walk import children, expr_reads, range_elems, ranges_of, statements, with_loops


@dataclass(frozen=True)
class RowTouch:
    """One access of a map, at every point of its domain."""

    array: str
    index: tuple[Ix, ...]
    written: bool


@dataclass(frozen=True)
class RowNumbering:
    """places: per array the dimension that counts rows and the element of row zero there. turns: per map (by `id`) the
    variable that counts rows and the row at its zero."""

    places: Mapping[str, tuple[int, int]]
    turns: Mapping[int, tuple[str, int]]

    def keeps_to_row(self, stmt: Map, touch: RowTouch) -> bool:
        """Whether the access stays in the row of its iteration."""
        if touch.array not in self.places:
            return False
        (dim, offset), (var, shift) = self.places[touch.array], self.turns[id(stmt)]
        return distance(touch.index[dim], var) == shift + offset

    def span(self, stmt: Map) -> tuple[int, int]:
        """The rows a map works on, from the first to behind the last."""
        var, shift = self.turns[id(stmt)]
        r = next(r for r in stmt.domain if r.var == var)
        return (r.start.const or 0) + shift, (r.stop.const or 0) + shift


@dataclass(frozen=True)
class Reach:
    """What a statement writes, and what it touches across rows."""

    written: frozenset[str]
    stray: frozenset[str]

    def with_(self, other: Reach) -> Reach:
        return Reach(self.written | other.written, self.stray | other.stray)

    @property
    def independent(self) -> bool:
        return self.written.isdisjoint(self.stray)


def touches(stmt: Map) -> tuple[RowTouch, ...]:
    """Every access of a map, those of its indices and ranges included; kept with the map."""
    known: tuple[RowTouch, ...] | None = stmt.__dict__.get("_touches")
    if known is None:
        known = tuple(dict.fromkeys(_touches(stmt)))
        object.__setattr__(stmt, "_touches", known)
    return known


def touched(stmt: Map) -> tuple[frozenset[str], frozenset[str]]:
    """The arrays a map touches, and those among them it writes; kept with the map."""
    known: tuple[frozenset[str], frozenset[str]] | None = stmt.__dict__.get("_touched")
    if known is None:
        known = frozenset(t.array for t in touches(stmt)), frozenset(t.array for t in touches(stmt) if t.written)
        object.__setattr__(stmt, "_touched", known)
    return known


def _touches(stmt: Map) -> Iterator[RowTouch]:
    for r in stmt.domain:
        yield from (RowTouch(e.array, e.parts, False) for e in range_elems(r))
    for part in stmt.body:
        yield from (RowTouch(n.array, n.index, False) for n in loads(part.expr))
        yield from (RowTouch(e.array, e.parts, False) for e in index_elems(part.expr))
        if isinstance(part, Store):
            yield from (RowTouch(e.array, e.parts, False) for i in part.index for e in i.elems)
            yield RowTouch(part.array, part.index, True)


def maps_of(block: Block) -> list[Map]:
    """Every map of a block, in program order."""
    return [s for s in statements(block) if isinstance(s, Map)]


def seeds(block: Block, arrays: Mapping[str, Array]) -> list[tuple[str, int]]:
    """Dimensions of what the block writes, large arrays and outer dimensions first."""
    names = {t.array for m in maps_of(block) for t in touches(m) if t.written}
    ordered = sorted(names, key=lambda n: (-len(arrays[n].shape), -arrays[n].bytes, n))
    return [(n, d) for n in ordered for d in range(len(arrays[n].shape))]


def distance(index: Ix, var: str) -> int | None:
    """`index - var` when that is a number."""
    affine = index.affine
    return affine[1] if affine is not None and affine[0] == {var: 1} else None


def reach(stmt: Stmt, rows: RowNumbering) -> Reach | None:
    """What a statement touches in and across rows; None when it cannot run row by row."""
    if isinstance(stmt, Map):
        if id(stmt) not in rows.turns:
            return None
        stray = {t.array for t in touches(stmt) if not rows.keeps_to_row(stmt, t)}
        return Reach(frozenset(t.array for t in touches(stmt) if t.written), frozenset(stray))
    if isinstance(stmt, If):
        total = Reach(frozenset(), frozenset(expr_reads(stmt.cond)))
    elif isinstance(stmt, Loop) and stmt.until is None and not stmt.parallel:
        total = Reach(frozenset(), frozenset(e.array for e in range_elems(stmt.range)))
    else:
        return None
    for inner in (s for block in children(stmt) for s in block):
        part = reach(inner, rows)
        if part is None:
            return None
        total = total.with_(part)
    return total


def runs(block: Block, rows: RowNumbering) -> Iterator[tuple[int, int]]:
    """Stretches of neighbouring statements whose rows are independent, as long as they go."""
    start, total = 0, Reach(frozenset(), frozenset())
    for k, stmt in enumerate(block):
        part = reach(stmt, rows)
        if part is not None and part.independent and total.with_(part).independent:
            total = total.with_(part)
            continue
        if k > start:
            yield start, k
        fits = part is not None and part.independent
        start, total = (k, part) if fits and part is not None else (k + 1, Reach(frozenset(), frozenset()))
    if len(block) > start:
        yield start, len(block)


def stride(array: Array, index: tuple[Ix, ...], var: str) -> int | None:
    """How many elements a step of `var` moves an access; None when that changes."""
    return _strides(array.shape, index).get(var, 0)


@lru_cache(maxsize=1 << 13)
def _strides(shape: tuple[int, ...], index: tuple[Ix, ...]) -> Mapping[str, int | None]:
    """The same of all variables in which an index moves."""
    total: dict[str, int | None] = {}
    step = 1
    for i, n in zip(reversed(index), reversed(shape), strict=True):
        for var in i.symbols:
            factor, known = i.coefficient(var), total.get(var, 0)
            total[var] = None if factor is None or known is None else known + factor * step
        step *= n
    return total


def other_slice(own: Collection[str], a: Sequence[Ix], b: Sequence[Ix]) -> bool:
    """Whether two indices differ in a dimension that the variables `own` have no say in: they never meet there."""
    return any((i - j).const not in (None, 0) and i.symbols.isdisjoint(own) and not i.elems
               for i, j in zip(a, b, strict=True))


def points(stmt: Map, unknown: int = 16) -> int:
    """Roughly how often a map's body runs. All strips count as whole ones, though the last one may be a part."""
    return math.prod(max(unknown, _whole_strip(r)) if r.trips is None else r.trips for r in stmt.domain)


@lru_cache(maxsize=1 << 12)
def _whole_strip(r: Range) -> int:
    """start:min(start + n, last)   ->   n; zero for ranges that are no strips"""
    ends = [end for atom in r.stop.atoms if isinstance(atom, Min) and r.stop == of_atom(atom) for end in atom.parts]
    return next((n for end in ends if (n := (end - r.start).const) is not None), 0)


def trips(r: Range, unknown: int = 16) -> int:
    return unknown if r.trips is None else r.trips


def timed(block: Block) -> Iterator[tuple[Map, int]]:
    """Every map, and how often the loops of the block run it."""
    for stmt, around in with_loops(block):
        if isinstance(stmt, Map):
            yield stmt, prod(map(trips, ranges_of(around)))


def footprint(body: Block, arrays: Mapping[str, Array], width: tuple[RowNumbering, int] | None = None) -> int:
    """Bytes of cache lines that one pass over the statements touches; loops count one iteration.

    width: with so many rows of a numbering only.
    """
    size: dict[str, int] = {}
    for stmt in maps_of(body):
        row = width[0].turns[id(stmt)][0] if width else ""
        for t in touches(stmt):
            steps = {r.var: stride(arrays[t.array], t.index, r.var) for r in stmt.domain}
            extents = {r.var: min(trips(r), width[1]) if width and r.var == row else trips(r) for r in stmt.domain}
            count = math.prod(n for v, n in extents.items() if steps[v] != 0)
            unit = max((n for v, n in extents.items() if steps[v] in (1, -1)), default=1)
            item = arrays[t.array].dtype.itemsize
            size[t.array] = max(size.get(t.array, 0), count * max(item, 64 // max(1, unit)))
    return sum(size.values())


def touched_bytes(stmt: Map, touch: RowTouch, arrays: Mapping[str, Array]) -> int:
    """Bytes of the elements that an access of a map reaches, from element to element."""
    array = arrays[touch.array]
    count = math.prod(trips(r) for r in stmt.domain if stride(array, touch.index, r.var) != 0)
    return min(count, array.size) * array.dtype.itemsize
