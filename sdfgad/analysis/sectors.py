"""What a graphics processor moves for a map: memory comes in sectors of 32 bytes, which neighbouring threads share
where their elements lie side by side (NVIDIA, CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory").

Neighbouring threads are neighbouring points along the variable by which the first store walks in the smallest steps; of
few long sums, which the threads of a block share, along the last one that is summed over, or along the former one
where that moves less.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from sdfgad.ir.expr import Load, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Map, Store
from sdfgad.thresholds import thresholds

SECTOR = 32
"""Bytes."""
SHARING = 32
"""Threads that start a load at once: where all of them want one element, they move one sector."""
KEPT_BYTES = 1 << 25
"""Arrays up to this size stay in the cache that all of a device shares, so that a map brings them in once."""


def sector_bytes(stmt: Map, arrays: Mapping[str, Array], points: float) -> float:
    """Bytes that a map moves between memory and device: of each array the widest access, as neighbours that look at
    neighbouring elements find them in a cache."""
    stores = [p for p in stmt.body if isinstance(p, Store)]
    side = fastest(stmt, arrays)
    moved = 0.0
    for looks in (_loads(stmt), [(p.array, p.index) for p in stores]):
        widest: dict[str, float] = {}
        for name, index in looks:
            widest[name] = max(widest.get(name, 0.0), _of_point(index, arrays[name], side))
        moved += sum(_limited(points * width, arrays[name]) for name, width in widest.items())
    return moved


def atomic_sums(stmt: Map, points: float) -> float:
    """Sums into elements that data name: each is done alone."""
    return points * sum(p.op is not None and any(i.elems for i in p.index) for p in stmt.body if isinstance(p, Store))


def fastest(stmt: Map, arrays: Mapping[str, Array]) -> str | None:
    """The variable by which neighbouring threads differ; None where there is one point."""
    store = next((p for p in stmt.body if isinstance(p, Store)), None)
    if store is None:
        return None
    steps = [(abs(step), r.var) for r in stmt.domain if (step := _step(store.index, arrays[store.array], r.var))]
    kept, limits = {var for _, var in steps}, thresholds().device
    summed = [r for r in stmt.domain if r.var not in kept] if store.op else []
    points = prod(r.trips or 1 for r in stmt.domain if r.var in kept)
    if summed and points < limits.points and prod(r.trips or 1 for r in summed) > limits.terms:
        sides = [summed[-1].var, *([min(steps)[1]] if steps else [])]
        return min(sides, key=lambda side: sum(_of_point(i, arrays[n], side) for n, i in _loads(stmt)))
    return min(steps)[1] if steps else None


def _loads(stmt: Map) -> Iterator[tuple[str, Sequence[Ix]]]:
    nodes = {n for p in stmt.body for n in walk(p.expr) if isinstance(n, Load)}
    return ((n.array, n.index) for n in nodes)


def _of_point(index: Iterable[Ix], array: Array, side: str | None) -> float:
    """Bytes that are moved for one point of many."""
    step = _step(index, array, side or "")
    if step is None:
        return SECTOR
    if not step:
        return SECTOR / SHARING
    return float(min(SECTOR, abs(step)) if abs(step) >= array.dtype.itemsize else array.dtype.itemsize)


def _step(index: Iterable[Ix], array: Array, var: str) -> int | None:
    """Bytes from the element of one point to that of its neighbour; None where data decide."""
    total, size = 0, array.dtype.itemsize
    # What each iteration around has for itself lies there with an axis more, the first one.
    for i, extent in zip(reversed(tuple(index)), reversed(array.shape), strict=False):
        factor = None if i.elems else i.coefficient(var)
        if factor is None:
            return None
        total += factor * size
        size *= extent
    return total


def _limited(moved: float, array: Array) -> float:
    return min(moved, float(max(SECTOR, array.bytes))) if array.bytes <= KEPT_BYTES else moved
