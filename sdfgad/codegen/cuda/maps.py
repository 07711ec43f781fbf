"""A map as kernels: who computes which terms of which sum.

A point of its own for whatever can be told apart, with the rest of the iterations as loops of its thread: sums of
fixed place are gathered in a register (no atomics, the same digits in every run). Where that leaves few points and long
sums, the threads of a block share the terms of one; the sum of a whole array goes in two stages. Where elements cannot
be told apart beforehand, every iteration is a point, and sums are atomic.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdfgad.analysis.elements.access import DURING, Access, Site, overlap_in
from sdfgad.analysis.elements.cover import replaced
from sdfgad.analysis.elements.dependence import touches
from sdfgad.codegen.cpp import Frame, strides
from sdfgad.codegen.cuda.ordered import apart, depends_on_order, in_order
from sdfgad.codegen.cuda.points import Points, counted_by_one, free_variables, in_points, sides, sums
from sdfgad.codegen.cuda.work import BESIDE, BLOCK, SECTOR, WARP, DeviceKernel, OrderedSum, PointWork, Side, size
from sdfgad.ir.expr import Load, loads
from sdfgad.ir.index import Ix, ix, minimum
from sdfgad.ir.program import Array, Let, Map, Range, Store
from sdfgad.ir.walk import expr_reads
from sdfgad.thresholds import thresholds
from sdfgad.transform.cutting.digits import digits_apart

ATOMIC_BYTES = (4, 8)
"""Sizes of numbers that the device adds to without being interrupted."""


@dataclass
class MapLowering:
    """Takes maps apart; `arrays` gains what is needed in between. frame: what is known of the loops around. ordered:
    sums of which nobody knows beforehand who adds to what have the digits of a fixed order."""

    frame: Frame
    arrays: dict[str, Array]
    fresh: Callable[[str], str]
    ordered: bool = False
    made: list[DeviceKernel | OrderedSum] = field(default_factory=list)

    def lower(self, stmt: Map) -> list[DeviceKernel | OrderedSum]:
        """The kernels of one map, in order."""
        self.made = []
        if all(r.trips != 0 for r in stmt.domain):
            self._lower(self._in_digits(counted_by_one(stmt)) if sums(stmt) else counted_by_one(stmt))
        return self.made

    def _in_digits(self, stmt: Map) -> Map:
        """With variables for `i // n` and `i % n` where no fewer points are told apart by them: `x[i] += y[i // n, k]`
        is well as it is."""
        other = counted_by_one(digits_apart(stmt))
        return other if self._points(other) >= self._points(stmt) else stmt

    def _points(self, stmt: Map) -> int:
        known = sides(stmt, self.frame)
        return size(known[v] for v in free_variables(stmt, known))

    def _lower(self, stmt: Map) -> None:
        known = sides(stmt, self.frame)
        chosen = free_variables(stmt, known)
        parts = apart(stmt)
        points = size(known[v] for v in chosen)
        if any(size(known[v] for v in free_variables(p, known)) > points for p in parts):
            for part in parts:
                self._one(part, free_variables(part, known), known)
        else:
            self._one(stmt, chosen, known)

    def _one(self, stmt: Map, chosen: Sequence[str], known: dict[str, Side]) -> None:
        limits = thresholds().device
        seen = nearest_last(in_points(stmt, chosen, known), self.arrays)
        points = size(seen.box)
        terms = size(known[v] for v in seen.loops) if all(v in known for v in seen.loops) else None
        few = points < limits.points and (terms is None or terms > limits.terms)
        long = terms is not None and terms > limits.terms and self.is_gathered(seen)
        rows = long and goes_along_rows(seen, self.arrays)
        if not seen.loops or not (few or rows):
            self._alone(stmt, seen)
        elif terms is not None and self.is_gathered(seen):
            self._shared(stmt, seen, [known[v] for v in seen.loops], terms)
        elif can_collide(stmt, self.arrays) and len(known) > len(seen.box):
            self._scattered(stmt, in_points(stmt, list(known), known))
        else:
            self._alone(stmt, seen)

    @property
    def path(self) -> tuple[Range, ...]:
        """The loops around, as far as they are known."""
        return tuple(self.frame.ranges.values())

    def is_gathered(self, seen: Points) -> bool:
        """Whether a map does nothing but add up sums that stay in one place."""
        stores = [k for k, p in enumerate(seen.stmt.body) if isinstance(p, Store)]
        return bool(stores) and held_sums(seen, self.path) == frozenset(stores)

    def _kernel(self, stmt: Map, seen: Points, work: PointWork, terms: Sequence[Side] = ()) -> None:
        beside = self._beside(seen) if terms else 1
        self.made.append(DeviceKernel(seen.box, (work,), tuple(terms), replaced(stmt, self.arrays), beside))

    def _beside(self, seen: Points) -> int:
        """The points that one block works for: several where sums of columns are shared."""
        row = bool(seen.box) and seen.box[-1].count * 2 >= BESIDE and not goes_along_rows(seen, self.arrays, equal=True)
        return BESIDE if row else 1

    def _alone(self, stmt: Map, seen: Points) -> None:
        """One thread for each point."""
        held = held_sums(seen, self.path) if seen.loops else frozenset()
        self._kernel(stmt, seen, PointWork(seen.stmt.domain, seen.stmt.body, held))

    def _scattered(self, stmt: Map, seen: Points) -> None:
        """One thread for each iteration that may add to elements of others."""
        if self.ordered and any(depends_on_order(p, self.arrays) for p in sums(stmt).values()):
            self.made += in_order(stmt, self.frame, self.arrays, self.fresh)
            return
        self._kernel(stmt, seen, PointWork(seen.stmt.domain, seen.stmt.body, atomic=frozenset(sums(seen.stmt))))

    def _shared(self, stmt: Map, seen: Points, terms: Sequence[Side], count: int) -> None:
        """A block of threads for each point, or some; many blocks where there are few and long sums."""
        limits = thresholds().device
        groups = -(-size(seen.box) // self._beside(seen))
        long = _longest(seen.stmt, terms)
        if groups * 2 <= limits.pieces and count >= limits.long_sum and long.count > 1:
            self._in_two_stages(seen, terms, long, min(-(-limits.pieces // groups), -(-count // BLOCK)))
        else:
            work = PointWork(seen.stmt.domain, seen.stmt.body, frozenset(sums(seen.stmt)))
            self._kernel(stmt, seen, work, terms)

    def _in_two_stages(self, whole: Points, terms: Sequence[Side], long: Side, most: int) -> None:
        """s[c] += x[c, i] for all i   ->   part[b, c] = sum over piece b of x[c, i] ; s[c] += sum of part[b, c]

        The pieces and their order depend on sizes alone: the same digits in every run. long: the side that is cut into
        so many pieces at the most.
        """
        stmt, inside = whole.stmt, tuple(whole.box)
        each = -(-long.count // most)
        piece = Range(self.fresh("piece"), ix(0), ix(-(-long.count // each)))
        first = next(r for r in stmt.domain if r.var == long.var)
        start = first.start + ix(piece.var) * each
        cut = replace(first, start=start, stop=minimum(first.stop, start + each))
        body, ends = [], []
        for part in stmt.body:
            if isinstance(part, Store):
                held = self._partial(part, (piece.trips or 0, *(s.count for s in inside)))
                place = (ix(piece.var), *(ix(s.var) - s.start for s in inside))
                ends.append(_joined(part, held, place, (piece, *(_range(s) for s in inside))))
                part = replace(part, array=held.name, index=place)
            body.append(part)
        inner = Map((piece, *(cut if r is first else r for r in stmt.domain)), tuple(body), stmt.source)
        known = {s.var: s for s in (Side(piece.var, ix(0), piece.trips or 0), *inside)}
        seen = in_points(inner, list(known), known)
        begin = next(r.start for r in seen.stmt.domain if r.var == first.var)
        work = PointWork(seen.stmt.domain, seen.stmt.body, frozenset(sums(seen.stmt)), assigned=True)
        own = frozenset(p.array for p in sums(inner).values())
        shared = tuple(Side(s.var, begin, each) if s is long else s for s in terms)
        self.made.append(DeviceKernel(seen.box, (work,), shared, own, self._beside(whole)))
        for end in ends:
            self._lower(end)

    def _partial(self, store: Store, shape: tuple[int, ...]) -> Array:
        name = self.fresh("partial")
        self.arrays[name] = Array(name, shape, self.arrays[store.array].dtype)
        return self.arrays[name]


def _joined(store: Store, held: Array, place: tuple[Ix, ...], domain: tuple[Range, ...]) -> Map:
    return Map(domain, (Store(store.array, store.index, Load(held.name, place, held.dtype), store.op),))


def _range(side: Side) -> Range:
    return Range(side.var, side.start, side.start + side.count)


def _longest(stmt: Map, terms: Sequence[Side]) -> Side:
    """The longest side of what is shared, of those that begin at one place."""
    loops = {s.var for s in terms}
    steady = {r.var for r in stmt.domain if loops.isdisjoint(r.start.symbols)}
    return max((s for s in terms if s.var in steady), key=lambda s: s.count)


def held_sums(seen: Points, path: Sequence[Range] = ()) -> frozenset[int]:
    """Sums of a point that stay in one place, which nothing else in the body looks at. path: the loops around."""
    loops = set(seen.loops)
    return frozenset(k for k, p in sums(seen.stmt).items()
                     if not any(i.elems or i.symbols & loops for i in p.index) and _is_only(seen.stmt, k, p, path))


def _is_only(stmt: Map, k: int, store: Store, path: Sequence[Range]) -> bool:
    """Whether no point touches an element that a store adds to, but by that store."""
    others = replace(stmt, body=(*stmt.body[:k], Let("", store.expr), *stmt.body[k + 1:]))
    own = Access(store.array, store.index, stmt.domain, Site(tuple(path), 0, 1), DURING)
    found = (t.access for t in touches(others, path) if t.access.array == store.array)
    return not any(overlap_in(access, own, len(path)) for access in found)


def _touched(part: Let | Store) -> set[str]:
    index = {e.array for i in part.index for e in i.elems} if isinstance(part, Store) else set()
    return expr_reads(part.expr) | index


def nearest_last(seen: Points, arrays: Mapping[str, Array]) -> Points:
    """The loops with the one at the end whose neighbours are nearest to each other in memory: threads that share a sum
    differ in it."""
    best = min(reversed(seen.loops), key=lambda var: _moved_beside(var, seen, arrays), default="")
    return replace(seen, loops=tuple(sorted(seen.loops, key=lambda var: var == best)))


def goes_along_rows(seen: Points, arrays: Mapping[str, Array], equal: bool = False) -> bool:
    """Whether threads that share a sum touch fewer sectors of memory than threads that have a sum each: neighbours
    among the first ones differ in the innermost loop, among the others in the last coordinate of points. equal: what is
    said where they touch as many."""
    alone = _moved_beside(seen.box[-1].var, seen, arrays) if seen.box else 0.0
    shared = _moved_beside(seen.loops[-1], seen, arrays)
    return shared < alone or equal and shared == alone


def _moved_beside(var: str, seen: Points, arrays: Mapping[str, Array]) -> float:
    """What one of the threads that differ in a variable moves."""
    looks = {(n.array, n.index) for part in seen.stmt.body for n in loads(part.expr)}
    return sum(_bytes_beside(var, arrays[n], index) for n, index in looks)


def _bytes_beside(var: str, array: Array, index: Sequence[Ix]) -> float:
    """What one of the threads that differ in a variable moves for an access: a share of a sector, or one of its own."""
    size = array.dtype.itemsize
    step = abs(sum(_factor(i, var) * s for i, s in zip(index, strides(array.shape), strict=True)))
    return min(step * size, max(SECTOR, size)) if step else size / WARP


def _factor(index: Ix, var: str) -> int:
    """Of a variable; elements that no formula gives lie far from each other."""
    found = index.coefficient(var)
    return SECTOR if found is None else found


def can_collide(stmt: Map, arrays: dict[str, Array]) -> bool:
    """Whether iterations may run at once with atomic sums: nothing that is added to is looked at or replaced."""
    added = sums(stmt)
    names = {p.array for p in added.values()}
    plain = {p.array for p in stmt.body if isinstance(p, Store) and not p.op}
    looked_at = set().union(*(_touched(p) for p in stmt.body))
    fits = all(_is_atomic(arrays[p.array].dtype, p.op) for p in added.values())
    return bool(added) and fits and not names & (plain | looked_at)


def _is_atomic(dtype: np.dtype, op: str | None) -> bool:
    """Whether the device joins such numbers without being interrupted: of complex ones, the parts of a sum."""
    if dtype.kind == "c":
        return op == "+"
    return dtype.kind in "iuf" and dtype.itemsize in ATOMIC_BYTES
