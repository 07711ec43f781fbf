"""Kernels that follow each other as one, and loops around a kernel inside of it.

Threads do not wait for each other, so a point must find what it looks at in its own hands. That is so where each
coordinate stands alone in the same dimension of every access to what one of two parts writes: elements of different
points are different ones then, and one thread goes through the parts in the order of the program. It is so, too, where
the elements are different ones altogether, as those of two pieces of an array:

    out[i + s] of i = 0:n - s   and   out[i] of i = 0:s, where s = mod(shift[k], n) is read from memory

What data decide is a number as any other where it is the same on both sides: it depends on loops around both, and on
variables that have one value wherever the two touch one element.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from sdfgad.analysis.elements.access import Access, Site, overlap_in, range_accesses
from sdfgad.analysis.elements.dependence import READ, touches
from sdfgad.codegen.cuda.lifting import lifted
from sdfgad.codegen.cuda.work import (
    BLOCK,
    DeviceItem,
    DeviceKernel,
    Look,
    Part,
    PointWork,
    Side,
    ThreadLoop,
    accesses,
    coordinate,
    ranks_in,
    size,
    works,
    written_in,
)
from sdfgad.ir.atoms import Atom
from sdfgad.ir.index import Ix, ix, of_atom
from sdfgad.ir.program import Loop, Map, Range
from sdfgad.ir.walk import range_elems
from sdfgad.thresholds import thresholds

SPARE = 1.5
"""So many times the points of the larger one, and a block, a kernel made of two may have: the others only ask whether
they are meant."""
FAR = 1 << 62
"""No number of a program is so large."""


def at_own_points(parts: Sequence[Part], others: Sequence[Part], count: int) -> bool:
    """Whether points of two parts never touch the same element, unless it is the same point or both only read it."""
    variables, shared = [coordinate(k) for k in range(count)], _in_dispute(parts, others)
    mine: dict[str, list[Look]] = {}
    for access in dict.fromkeys(a for a in accesses(parts) if a.array in shared):
        mine.setdefault(access.array, []).append(access)
    return not any((access.written or other.written) and not _at_one_place(access, other, variables)
                   for access in dict.fromkeys(a for a in accesses(others) if a.array in shared)
                   for other in mine[access.array])


def _in_dispute(parts: Sequence[Part], others: Sequence[Part]) -> frozenset[str]:
    """The arrays that two parts touch and one of them writes."""
    return (written_in(parts) | written_in(others)) & ranks_in(parts).keys() & ranks_in(others).keys()


def _at_one_place(one: Look, other: Look, variables: Sequence[str]) -> bool:
    """Whether each variable stands alone in the same dimension of both."""
    return all(v in one.places and one.places[v] == other.places.get(v) for v in variables)


def _takes_company(kernel: DeviceKernel) -> bool:
    return not kernel.terms and not any(w.atomic for w in works(kernel.parts))


@dataclass(frozen=True)
class Around:
    """Where kernels stand. path: the loops around. pieces: whether those that touch different elements altogether
    may be one, too. past: whether a kernel may go past those, to one that it has more in common with."""

    path: tuple[Range, ...] = ()
    pieces: bool = True
    past: bool = False


def join(first: DeviceKernel, other: DeviceKernel, around: Around) -> DeviceKernel | None:
    """One kernel in place of two that follow each other, where that is possible and no waste."""
    if not (_takes_company(first) and _takes_company(other)):
        return None
    if len(first.box) != len(other.box):
        return _with_rim(first, other, around) if around.pieces else None
    box = _around(first.box, other.box)
    if box is None or size(box) > SPARE * max(first.points, other.points) + BLOCK:
        return None
    own = at_own_points(first.parts, other.parts, len(box))
    if not own and not (around.pieces and not meet(first.parts, other.parts, around.path, [s.var for s in first.box])):
        return None
    parts, pieced = (*first.parts, *other.parts), first.pieced or other.pieced or not own
    return DeviceKernel(box, parts, (), first.fills | other.fills, pieced=pieced)


def _with_rim(first: DeviceKernel, other: DeviceKernel, around: Around) -> DeviceKernel | None:
    """The same, where one of them is over the rim of what the other one writes."""
    ahead = len(first.box) < len(other.box)
    small, large = (first, other) if ahead else (other, first)
    rim = lifted(small, large)
    if rim is None or not _apart_on_rims(rim, len(large.box) - len(small.box), around.path):
        return None
    made = join(rim, large, around) if ahead else join(large, rim, around)
    return replace(made, pieced=True) if made else None


def _apart_on_rims(rim: DeviceKernel, count: int, path: tuple[Range, ...]) -> bool:
    """Whether the parts of a lifted kernel may run in several threads, as those of different rims do: one thread went
    through all of them before, in the order of the program. count: new sides, which come first in each part.

    u[1, j] = f(j) ; v[2, j] = u[1, j]   ->   row 1 in one thread, row 2 in another one, which may be the first
    """
    variables = [s.var for s in rim.box]
    return not any(one.domain[:count] != other.domain[:count] and meet((a,), (b,), path, variables)
                   for (one, a), (other, b) in combinations(_one_by_one(rim.parts), 2))


def _one_by_one(parts: Sequence[Part]) -> Iterator[tuple[PointWork, Part]]:
    """Each map of parts, alone, and within the loops around it."""
    for part in parts:
        if isinstance(part, ThreadLoop):
            yield from ((work, ThreadLoop(part.range, (inner,))) for work, inner in _one_by_one(part.parts))
        else:
            yield part, part


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


def add(items: list[DeviceItem], kernel: DeviceKernel, around: Around) -> None:
    """Put a kernel behind items: into the one that it has most in common with of those that it fits, past kernels that
    it has nothing to do with, and the first of several (typed fusion; Kennedy and McKinley, 1993). What has grown may
    have become large enough for its neighbours, and for those that it went past."""
    found = list(_joined(items, kernel, around))
    if not found:
        items.append(kernel)
        return
    place, joined = max(found, key=lambda one: (_in_common(items[one[0]], kernel), -one[0]))
    behind = items[place + 1:]
    del items[place:]
    add(items, joined, around)
    for one in behind:
        if around.past and isinstance(one, DeviceKernel):
            add(items, one, around)
        else:
            items.append(one)


def _joined(items: Sequence[DeviceItem], kernel: DeviceKernel,
            around: Around) -> Iterator[tuple[int, DeviceKernel]]:
    """The places of items that a kernel fits, and both together."""
    for place in range(len(items) - 1, max(-1, len(items) - 1 - thresholds().device.apart), -1):
        before = items[place]
        if not isinstance(before, DeviceKernel):
            return
        joined = join(before, kernel, around)
        if joined is not None:
            yield place, joined
        if not (independent(before, kernel) or around.past and not meet(before.parts, kernel.parts, around.path)):
            return


def _in_common(first: DeviceItem, other: DeviceKernel) -> int:
    """The dimensions of the arrays that two kernels touch: what a thread need not ask memory for again."""
    assert isinstance(first, DeviceKernel), "nothing else takes a kernel"
    return sum(first.ranks[n] for n in first.ranks.keys() & other.ranks.keys())


def independent(first: DeviceKernel, other: DeviceKernel) -> bool:
    """Whether two kernels may change places."""
    return first.written.isdisjoint(other.ranks) and other.written.isdisjoint(first.ranks)


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
    return kernel.written.isdisjoint(e.array for e in range_elems(r))


def meet(parts: tuple[Part, ...], others: tuple[Part, ...], path: tuple[Range, ...],
         but: Collection[str] = ()) -> bool:
    """Whether one of two parts may write an element that the other one touches, in one iteration of the loops around.
    but: coordinates; what has all of these for indices, each in the same dimension, is of the same point."""
    shared, written = _in_dispute(parts, others), written_in(parts) | written_in(others)
    first, second = ([t for t in _touches(p, (), path) if t[0].array in shared] if shared else []
                     for p in (parts, others))
    return any(one.array == two.array and (wrote or writes) and not (but and set(but) <= set(_alone(one, two)))
               and overlap_in(one, two, len(path)) and _overlap(one, two, written)
               for one, wrote in first for two, writes in second)


def _touches(parts: tuple[Part, ...], domain: tuple[Range, ...],
             path: tuple[Range, ...]) -> Iterator[tuple[Access, bool]]:
    """What parts touch, and whether they write it: sums do, too."""
    for part in parts:
        if isinstance(part, ThreadLoop):
            inner = *domain, part.range
            yield from ((access, False) for access in range_accesses(inner, Site(path, 0, 1), 0))
            yield from _touches(part.parts, inner, path)
        else:
            yield from ((t.access, t.how != READ) for t in touches(Map((*domain, *part.domain), part.body), path))


def _alone(one: Access, two: Access) -> list[str]:
    """Variables of both that are an index in the same dimension."""
    both = {r.var for r in one.domain} & {r.var for r in two.domain}
    return [v for v in both if any(i is j is ix(v) for i, j in zip(one.index, two.index, strict=True))]


def _overlap(one: Access, two: Access, written: Collection[str]) -> bool:
    """The same, where what is alike on both sides has one value."""
    names: dict[Atom, str] = {}
    alike = {r.var for r in one.site.path} | set(_alone(one, two))

    def number(atom: Atom) -> Ix | None:
        i = of_atom(atom)
        known = i.symbols <= alike | set(names.values())
        if isinstance(atom, str) or not known or any(e.array in written for e in i.elems):
            return None
        return ix(names.setdefault(atom, f"number.{len(names)}"))

    named = [_outwards(access, alike, number) for access in (one, two)]
    numbers = tuple(Range(n, ix(-FAR), ix(FAR)) for n in names.values())
    first, second = (replace(a, site=replace(a.site, path=(*a.site.path, *numbers))) for a in named)
    return overlap_in(first, second, len(first.site.path))


def _outwards(access: Access, alike: Collection[str], number: Callable[[Atom], Ix | None]) -> Access:
    """With numbers for what data decide, and the variables that are alike among the loops around."""
    domain = [Range(r.var, r.start.rebuild(number), r.stop.rebuild(number), r.step) for r in access.domain]
    around = (*access.site.path, *sorted((r for r in domain if r.var in alike), key=lambda r: r.var))
    return replace(access, index=tuple(i.rebuild(number) for i in access.index),
                   domain=tuple(r for r in domain if r.var not in alike), site=replace(access.site, path=around))
