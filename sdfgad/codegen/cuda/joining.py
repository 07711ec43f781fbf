"""Kernels that follow each other as one, and loops around a kernel inside of it.

Threads do not wait for each other, so a point must find what it looks at in its own hands. That is so where each
coordinate stands alone in the same dimension of every access to what one of two parts writes: elements of different
points are different ones then, and one thread goes through the parts in the order of the program. It is so, too, where
the elements are different ones altogether, as those of two pieces of an array.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sdfgad.codegen.cuda.meeting import meet
from sdfgad.codegen.cuda.work import (
    BLOCK,
    DeviceItem,
    DeviceKernel,
    Part,
    PointWork,
    Side,
    ThreadLoop,
    coordinate,
    size,
    works,
)
from sdfgad.ir.expr import index_elems, loads
from sdfgad.ir.index import Elem, Ix, ix
from sdfgad.ir.program import Loop, Range, Store
from sdfgad.ir.walk import range_elems
from sdfgad.thresholds import thresholds

SPARE = 1.5
"""So many times the points of the larger one, and a block, a kernel made of two may have: the others only ask whether
they are meant."""


@dataclass(frozen=True)
class Look:
    """One look at an array, or one store."""

    array: str
    index: tuple[Ix, ...]
    written: bool = False


def accesses(parts: Iterable[Part]) -> Iterator[Look]:
    """Everything that parts touch, elements in indices and bounds too."""
    for part in parts:
        if isinstance(part, ThreadLoop):
            yield from _looked_up(range_elems(part.range))
            yield from accesses(part.parts)
        else:
            yield from _of_work(part)


def _of_work(work: PointWork) -> Iterator[Look]:
    for r in work.domain:
        yield from _looked_up(range_elems(r))
    for part in work.body:
        yield from (Look(n.array, n.index) for n in loads(part.expr))
        yield from _looked_up(index_elems(part.expr))
        if isinstance(part, Store):
            yield Look(part.array, part.index, True)
            yield from _looked_up(e for i in part.index for e in i.elems)


def _looked_up(elems: Iterable[Elem]) -> Iterator[Look]:
    return (Look(e.array, e.parts) for e in elems)


def touched(kernel: DeviceKernel) -> tuple[frozenset[str], frozenset[str]]:
    """The arrays that a kernel touches, and those that it writes."""
    found = list(accesses(kernel.parts))
    return frozenset(a.array for a in found), frozenset(a.array for a in found if a.written)


def _sites(index: tuple[Ix, ...], count: int) -> tuple[int, ...] | None:
    """The dimension in which each coordinate stands alone; None unless all do."""
    found = [next((d for d, i in enumerate(index) if i == ix(coordinate(k))), None) for k in range(count)]
    return tuple(d for d in found if d is not None) if None not in found else None


def at_own_points(parts: Iterable[Part], others: Iterable[Part], count: int) -> bool:
    """Whether points of two parts never touch the same element, unless it is the same point or both only read it."""
    mine: dict[str, list[Look]] = {}
    for access in accesses(parts):
        mine.setdefault(access.array, []).append(access)
    for access in accesses(others):
        for other in mine.get(access.array, ()):
            if access.written or other.written:
                site = _sites(access.index, count)
                if site is None or site != _sites(other.index, count):
                    return False
    return True


def _takes_company(kernel: DeviceKernel) -> bool:
    return not kernel.terms and not any(w.atomic for w in works(kernel.parts))


def join(first: DeviceKernel, other: DeviceKernel, path: tuple[Range, ...]) -> DeviceKernel | None:
    """One kernel in place of two that follow each other, where that is possible and no waste. path: the loops around.
    """
    if len(first.box) != len(other.box) or not (_takes_company(first) and _takes_company(other)):
        return None
    box = _around(first.box, other.box)
    if box is None or size(box) > SPARE * max(first.points, other.points) + BLOCK:
        return None
    own = at_own_points(first.parts, other.parts, len(box))
    if not own and meet(first.parts, other.parts, path, [s.var for s in first.box]):
        return None
    return DeviceKernel(box, (*first.parts, *other.parts), (), first.fills | other.fills)


def _around(first: tuple[Side, ...], other: tuple[Side, ...]) -> tuple[Side, ...] | None:
    """The smallest box around two; None where their distance is no number."""
    sides = []
    for a, b in zip(first, other, strict=True):
        gap = (b.start - a.start).const
        if gap is None:
            return None
        start, end = min(0, gap), max(a.count, gap + b.count)
        sides.append(Side(a.var, a.start + start, end - start))
    return tuple(sides)


def add(items: list[DeviceItem], kernel: DeviceKernel, path: tuple[Range, ...] = ()) -> None:
    """Put a kernel behind items: into the one that it has most in common with of those that it fits, past kernels that
    it has nothing to do with, and the first of several (typed fusion; Kennedy and McKinley, 1993). What has grown may
    have become large enough for its neighbours."""
    found = list(_joined(items, kernel, path))
    if not found:
        items.append(kernel)
        return
    place, joined = max(found, key=lambda one: (_in_common(items[one[0]], kernel), -one[0]))
    behind = items[place + 1:]
    del items[place:]
    add(items, joined, path)
    items += behind


def _joined(items: Sequence[DeviceItem], kernel: DeviceKernel,
            path: tuple[Range, ...]) -> Iterator[tuple[int, DeviceKernel]]:
    """The places of items that a kernel fits, and both together."""
    for place in range(len(items) - 1, max(-1, len(items) - 1 - thresholds().device.apart), -1):
        before = items[place]
        if not isinstance(before, DeviceKernel):
            return
        joined = join(before, kernel, path)
        if joined is not None:
            yield place, joined
        if not independent(before, kernel):
            return


def _in_common(first: DeviceItem, other: DeviceKernel) -> int:
    """The dimensions of the arrays that two kernels touch: what a thread need not ask memory for again."""
    assert isinstance(first, DeviceKernel), "nothing else takes a kernel"
    ranks = {a.array: len(a.index) for a in accesses(first.parts)}
    return sum({a.array: ranks[a.array] for a in accesses(other.parts) if a.array in ranks}.values())


def independent(first: DeviceKernel, other: DeviceKernel) -> bool:
    """Whether two kernels may change places."""
    (all_first, first_writes), (all_other, other_writes) = touched(first), touched(other)
    return not (first_writes & all_other or other_writes & all_first)


def inside(stmt: Loop, kernel: DeviceKernel) -> DeviceKernel | None:
    """A loop around one kernel as a kernel with a loop in it, where no iteration looks at what other points did."""
    var = stmt.range.var
    moves = any(var in s.start.symbols for s in kernel.box)
    whole = (ThreadLoop(stmt.range, kernel.parts),)
    if stmt.until is not None or moves or not _takes_company(kernel) or not _is_steady(stmt.range, kernel):
        return None
    if not at_own_points(whole, whole, len(kernel.box)):
        return None
    return replace(kernel, parts=whole, fills=kernel.fills if stmt.range.trips else frozenset())


def _is_steady(r: Range, kernel: DeviceKernel) -> bool:
    """Whether the bounds of a loop stay what they are while it runs."""
    return touched(kernel)[1].isdisjoint(e.array for e in range_elems(r))
