"""Kernels over rims of an array in the coordinates of kernels over all of it.

    point.0 = 0:m: p[0, point.0] = u[n - 1, point.0]
    ->   point.0 = 0:1, point.1 = 0:m: p[point.0, point.1] = u[n - 1, point.1]

A rim is a box with fewer sides, where other indices are numbers. With a side of one value for each of those it can be a
piece of the kernel that fills the interior.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.codegen.cuda.work import DeviceKernel, Look, Part, PointWork, Side, ThreadLoop, coordinate, works
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Map, Range, Store
from sdfgad.ir.walk import change_range, map_stmt_indices


def lifted(kernel: DeviceKernel, like: DeviceKernel) -> DeviceKernel | None:
    """The kernel with as many coordinates as another one that writes an array of both; None where that says nothing."""
    count = len(like.box)
    target = next((look for look in kernel.looks if look.written and len(look.index) == count and
                   look.array in like.written and _is_in_order(look.array, like)), None)
    lift = target and _lift(kernel, target, count)
    if not lift:
        return None
    rims = [lift.rim(w) for w in works(kernel.parts)]
    if None in rims:
        return None
    sides = list[Side]()
    for k in range(count):
        side = lift.side(k, kernel.box, [rim for rim in rims if rim is not None])
        if side is None:
            return None
        sides.append(side)
    return replace(kernel, box=tuple(sides), parts=tuple(map(lift.part, kernel.parts)))


def _is_in_order(array: str, kernel: DeviceKernel) -> bool:
    """Whether each coordinate of a kernel is the index in its own dimension where it writes an array."""
    own = {coordinate(k): k for k in range(len(kernel.box))}
    return any(look.array == array and look.written and own.items() <= look.places.items() for look in kernel.looks)


def _lift(kernel: DeviceKernel, target: Look, count: int) -> _Lift | None:
    """Where the coordinates of a kernel go: to the dimensions where they are indices of what it writes."""
    own = [coordinate(k) for k in range(len(kernel.box))]
    places = [target.places.get(v, -1) for v in own]
    if min(places, default=0) < 0 or len(set(places)) < len(places):
        return None
    new, loops = tuple(k for k in range(count) if k not in places), frozenset(_loops(kernel.parts))
    return _Lift(dict(zip(own, places, strict=True)), new, count, loops)


def _loops(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, ThreadLoop):
            yield part.range.var
            yield from _loops(part.parts)


@dataclass(frozen=True)
class _Lift:
    """places: the dimension of each coordinate. new: the dimensions in which a rim is at a number. loops: variables of
    loops inside threads."""

    places: Mapping[str, int]
    new: tuple[int, ...]
    count: int
    loops: frozenset[str]

    def rim(self, work: PointWork) -> tuple[Ix, ...] | None:
        """Where a map stores, in the new dimensions; None where it stores to elements of another kind."""
        store = _first_store(work)
        if len(store.index) != self.count or not self.places.items() <= Look(store.array, store.index).places.items():
            return None
        found, inside = tuple(store.index[d] for d in self.new), self.loops.union(r.var for r in work.domain)
        return None if any(i.elems or i.symbols & inside for i in found) else found

    def side(self, k: int, box: Sequence[Side], rims: Sequence[tuple[Ix, ...]]) -> Side | None:
        """A side of the box, from the first rim to the last one in new dimensions; None where no number says how far
        that is."""
        if k not in self.new:
            old = next(s for s in box if self.places[s.var] == k)
            return replace(old, var=coordinate(k))
        at = [rim[self.new.index(k)] for rim in rims]
        gaps = [(i - at[0]).const for i in at]
        known = [g for g in gaps if g is not None]
        if len(known) < len(gaps):
            return None
        return Side(coordinate(k), at[0] + min(known), max(known) - min(known) + 1)

    def part(self, part: Part) -> Part:
        if isinstance(part, ThreadLoop):
            return ThreadLoop(change_range(part.range, self._moved), tuple(map(self.part, part.parts)))
        rim, store = self.rim(part), _first_store(part)
        assert rim is not None, "all maps were looked at"
        ranges = (Range(coordinate(d), at, at + 1) for d, at in zip(self.new, rim, strict=True))
        names = {v: coordinate(k) for v, k in self.places.items()}
        domain = tuple(replace(r, var=names.get(r.var, r.var), start=self._moved(r.start), stop=self._moved(r.stop))
                       for r in part.domain)
        moved = map_stmt_indices(Map((), part.body), self._moved)
        assert isinstance(moved, Map), "a map stays one"
        at_rim = dict(zip(self.new, rim, strict=True))
        body = tuple(replace(p, index=self._on_rim(p.index, at_rim)) if isinstance(p, Store) and p.array == store.array
                     else p for p in moved.body)
        return replace(part, domain=(*ranges, *domain), body=body)

    def _moved(self, index: Ix) -> Ix:
        return index.subs({v: coordinate(k) for v, k in self.places.items()})

    def _on_rim(self, index: Iterable[Ix], rim: Mapping[int, Ix]) -> tuple[Ix, ...]:
        """An index with the new coordinates where it is on the rim."""
        return tuple(ix(coordinate(d)) if d in rim and i == rim[d] else i for d, i in enumerate(index))


def _first_store(work: PointWork) -> Store:
    return next(p for p in work.body if isinstance(p, Store))
