"""How overwritten elements come back: from a tape, or by taking the write back.

A tape has one slot per execution of the write, addressed by the iteration; where the number of iterations is not known
beforehand it grows, and each execution fills an entry on top.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sdfgad.analysis.elements.access import Access, always_inside, extent_bound, interval_env, told_apart
from sdfgad.errors import SourceLine
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Map, Pop, Push, Range, Store, all_of, over
from sdfgad.transform.normal.expand import Slots, iteration_slots

Declare = Callable[[str, tuple[int, ...], np.dtype, str], Array]


@dataclass(frozen=True)
class Entry:
    """One entry of a growable tape. soon: its size is known at the start of the block that fills it."""

    push: Push
    pop: Pop

    @property
    def soon(self) -> bool:
        return not any(n.elems for n in self.push.shape)


def entry_of(tape: Array, extents: tuple[Ix, ...] | None = None, source: SourceLine | None = None) -> Entry:
    """An entry of a tape; its whole extent, unless it is said that less is used."""
    shape = extents if extents is not None else tuple(ix(n) for n in tape.shape)
    return Entry(Push(tape.name, shape, source), Pop(tape.name, shape, source))


@dataclass(frozen=True)
class TapeRecord:
    """What is done before a write to store what it overwrites, and to put it back. An overwrite that is taken back
    exactly has nothing to save and no tape. `bytes` is None for a growable tape; entry: for which there is to be room
    from the start of the block on."""

    save: Block
    restore: Block
    tape: str = ""
    bytes: int | None = 0
    entry: Entry | None = None


@dataclass(frozen=True)
class _Dimension:
    """What one range of a region needs in a tape: room, the place of each element, and how many there are."""

    extent: int
    place: Ix
    count: Ix


def record(write: Access, array: Array, declare: Declare, source: SourceLine | None,
           around: Slots | None = None, versions: int = 0) -> TapeRecord:
    """Tape storage for one write: an array over all iterations, or a growable tape when their number is unknown.

    around: (room, place) for each loop around, where that is not one slot for each of its iterations. versions: how
    many leading indices of the array say which of its versions is meant.
    """
    domain = _region(write, array)
    dimensions = None if domain is None else _dimensions(write, domain, array)
    if domain is None or dimensions is None:
        return record(_whole(write, array, versions), array, declare, source, around, versions)
    slots = iteration_slots((*write.site.path, *domain), array.dtype.itemsize)
    ordered = [dimensions[d] for d in _layout(domain, write)]
    outer = () if slots is None else around or slots[:len(write.site.path)]
    shape = (*(n for n, _ in outer), *(d.extent for d in ordered))
    tape = declare("tape", shape, array.dtype, "transient" if slots is not None else "tape")
    at = (*(i for _, i in outer), *(d.place for d in ordered))
    save = Map(domain, (Store(tape.name, at, Load(array.name, write.index, array.dtype)),), source)
    back = Map(domain, (Store(array.name, write.index, Load(tape.name, at, array.dtype)),), source)
    if slots is not None:
        return TapeRecord((save,), (back,), tape.name, tape.bytes)
    entry = entry_of(tape, tuple(d.count for d in ordered), source)
    if entry.soon:
        return TapeRecord((save,), (back,), tape.name, None, entry)
    return TapeRecord((entry.push, save), (entry.pop, back), tape.name, None)


def _layout(domain: tuple[Range, ...], write: Access) -> list[int]:
    """The ranges in the order in which the array counts them, so that copies run along memory on both sides."""
    return sorted(range(len(domain)), key=lambda d: _decided(domain[d], write))


def _decided(r: Range, write: Access) -> int:
    """The first dimension of the array that a range has a say in."""
    return next(k for k, i in enumerate(write.index) if r.var in i.symbols)


def _region(write: Access, array: Array) -> tuple[Range, ...] | None:
    """Ranges that go through all elements that are written; None when data decides, or nobody knows."""
    used = set().union(*(i.symbols for i in write.index)) if write.index else set()
    kept = tuple(r for r in write.domain if r.var in used)
    moving = {r.var for r in kept}
    if any(not moving.isdisjoint(part.symbols) for i in write.index for e in i.elems for part in e.parts):
        return None
    left_out = {r.var for r in write.domain} - moving
    return kept if all(left_out.isdisjoint(_symbols(r)) for r in kept) else _widened(kept, left_out, write, array)


def _widened(kept: tuple[Range, ...], left_out: set[str], write: Access, array: Array) -> tuple[Range, ...] | None:
    """map i = 0:5, j = 0:i + 1: y[j] += ...   ->   j = 0:5

    Ranges from the smallest to the largest value that they take for any of the variables `left_out`. None unless every
    point of them is an element of the array: an iteration without points may say anything about its bounds.
    """
    env = interval_env((*write.site.path, *write.domain))
    found = []
    for r in kept:
        low, high = env[r.var]
        if left_out.isdisjoint(_symbols(r)):
            found.append(r)
        elif low is None or high is None:
            return None
        else:
            found.append(Range(r.var, ix(low), ix(high + 1)))
    return tuple(found) if always_inside(write.index, array.shape, env) else None


def _symbols(r: Range) -> frozenset[str]:
    return r.start.symbols | r.stop.symbols


def _dimensions(write: Access, domain: tuple[Range, ...], array: Array) -> list[_Dimension] | None:
    """None when nobody knows how large a range may get."""
    env = interval_env((*write.site.path, *domain))
    moving = {r.var for r in domain}
    found = []
    for r in domain:
        extent = extent_bound(r, env)
        if extent is None:
            extent = _along(r, write, domain, array)
        if extent is None:
            return None
        sign = 1 if r.step > 0 else -1
        count = (r.stop - r.start + (r.step - sign)) // r.step
        fixed = moving.isdisjoint(_symbols(r))
        found.append(_Dimension(extent, ((ix(r.var) - r.start) * sign) // abs(r.step), count if fixed else ix(extent)))
    return found


def _along(r: Range, write: Access, domain: tuple[Range, ...], array: Array) -> int | None:
    """The extent of the dimension a range walks along: if it alone does, and none of its iterations is idle."""
    k = _decided(r, write)
    others = [o for o in domain if o is not r]
    alone = write.index[k].symbols.isdisjoint(o.var for o in others)
    idle = any(r.var in _symbols(o) for o in others)
    return array.shape[k] if write.index[k].coefficient(r.var) and alone and not idle else None


def each_once(write: Access) -> Access:
    """map i = 0:3, j = 0:3: x[i + j] += ...   ->   x[c0] of c0 = 0:5

    What an accumulation of colliding iterations overwrites, element by element: as the iterations go, several would put
    back one element. Itself where no two iterations meet, or where nobody knows the ends.
    """
    if told_apart(write):
        return write
    ends = [_ends(i, write.domain) for i in write.index]
    domain = over((end for end in ends if end is not None), "c")
    if len(domain) < sum(not i.symbols.isdisjoint(r.var for r in write.domain) for i in write.index):
        return write
    places = iter(domain)
    index = tuple(i if end is None else ix(next(places).var) for i, end in zip(write.index, ends, strict=True))
    return replace(write, index=index, domain=domain)


def _ends(index: Ix, domain: tuple[Range, ...]) -> tuple[Ix, Ix] | None:
    """The least value of an index and the one behind the greatest, over ranges with fixed ends; None where no variable
    of them is in it, or more than sums of them."""
    moving = [r for r in domain if r.var in index.symbols]
    if not moving or index.affine is None or any(not r.trips or r.start.const is None for r in moving):
        return None
    coefficients, _ = index.affine
    low = high = index
    for r in moving:
        first, last = r.start, r.start + r.step * ((r.trips or 1) - 1)
        least, most = (first, last) if coefficients.get(r.var, 0) * r.step > 0 else (last, first)
        low, high = low.subs({r.var: least}), high.subs({r.var: most})
    return low, high + 1


def _whole(write: Access, array: Array, versions: int) -> Access:
    """All of the array, or of the version that is meant, wherever the write goes."""
    domain = all_of(array.shape[versions:], "w")
    index = (*write.index[:versions], *(ix(r.var) for r in domain))
    return Access(array.name, index, domain, write.site, write.moment)
