"""Which elements statements read: boxes, whose ends are numbers or formulas in the loops around."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sdfgad.errors import SourceLine
from sdfgad.ir.expr import Expr, index_elems, loads
from sdfgad.ir.index import Bounds, Ix, ix, maximum, minimum
from sdfgad.ir.program import Map, Store
from sdfgad.ir.walk import range_elems
from sdfgad.transform.cutting.blocks import ArrayBlocks, Place, Span

Side: TypeAlias = tuple[Ix, Ix]
ReadBox: TypeAlias = tuple[Side, ...]
Access: TypeAlias = tuple[str, tuple[Ix, ...]]
"""An array and the index of an element."""


@dataclass(frozen=True)
class HaloNeed:
    """What ranks read of an array: a box for each rank, None where it reads nothing.

    axes: those that are cut. varies: loops whose variables decide where along them the ranks read.
    """

    array: str
    axes: tuple[int, ...]
    boxes: tuple[ReadBox | None, ...]
    varies: frozenset[str]
    source: SourceLine | None


def read_by(stmt: Map) -> list[Access]:
    """Every element that a map reads, but for what it adds to."""
    found = [a for part in stmt.body for a in accesses(part.expr)]
    found += [(e.array, e.parts) for p in stmt.body if isinstance(p, Store) for i in p.index for e in i.elems]
    found += [(e.array, e.parts) for r in stmt.domain for e in range_elems(r)]
    return list(dict.fromkeys(found))


def added_to(stmt: Map) -> frozenset[str]:
    """What a map adds to and does nothing else with."""
    stores = [p for p in stmt.body if isinstance(p, Store)]
    other = {p.array for p in stores if p.op != "+"} | {name for name, _ in read_by(stmt)}
    return frozenset(p.array for p in stores) - other


def accesses(expr: Expr) -> Iterator[Access]:
    """The elements that an expression reads, those in indices too."""
    yield from ((n.array, n.index) for n in loads(expr))
    yield from ((e.array, e.parts) for e in index_elems(expr))


def read_box(index: Sequence[Ix], shape: Sequence[int], env: Mapping[str, Bounds],
             loops: Mapping[str, Bounds]) -> ReadBox:
    """The box that an index runs through. env: what map variables run through; loops: variables of loops around."""
    return tuple(_side(i, n, env, loops) for i, n in zip(index, shape, strict=True))


def _side(i: Ix, extent: int, env: Mapping[str, Bounds], loops: Mapping[str, Bounds]) -> Side:
    if not i.symbols & env.keys() and not i.elems and i.symbols <= loops.keys() and i.const is None:
        return i, i + 1
    low, high = i.bounds({**loops, **env})
    first, last = max(low or 0, 0), extent if high is None else min(high + 1, extent)
    return ix(first), ix(max(first, last))


def apart(one: ReadBox, other: ReadBox) -> bool:
    """Whether two boxes have no element in common, as far as their ends can be compared."""
    return any(_before(a, b) or _before(b, a) for a, b in zip(one, other, strict=True))


def _before(one: Side, other: Side) -> bool:
    gap = (other[0] - one[1]).const
    return gap is not None and gap >= 0


def around(one: ReadBox, other: ReadBox) -> ReadBox | None:
    """The box around two, where their ends are the same or numbers."""
    sides: list[Side] = []
    for (a, b), (c, d) in zip(one, other, strict=True):
        if (a, b) != (c, d) and None in (a.const, b.const, c.const, d.const):
            return None
        sides.append((minimum(a, c), maximum(b, d)))
    return tuple(sides)


def widened(box: ReadBox, shape: Sequence[int], loops: Mapping[str, Bounds], var: str) -> ReadBox:
    """The box of all iterations of a loop."""
    def side(pair: Side, extent: int) -> Side:
        if var not in pair[0].symbols | pair[1].symbols:
            return pair
        low, high = pair[0].bounds(loops)[0], pair[1].bounds(loops)[1]
        return ix(max(low or 0, 0)), ix(extent if high is None else min(high, extent))
    return tuple(side(pair, n) for pair, n in zip(box, shape, strict=True))


def within(inner: ReadBox, outer: ReadBox) -> bool:
    """Whether one box is part of the other, as far as their ends can be compared."""
    return all((a[0] - b[0]).const is not None and ((a[0] - b[0]).const or 0) >= 0
               and (b[1] - a[1]).const is not None and ((b[1] - a[1]).const or 0) >= 0
               for a, b in zip(inner, outer, strict=True))


def in_own(box: ReadBox, blocks: ArrayBlocks, place: Place) -> bool:
    """Whether a rank has all of a box itself."""
    return all(axis is None or _inside(side, axis.span(place)) for axis, side in zip(blocks.axes, box, strict=True))


def _inside(side: Side, span: Span) -> bool:
    low, high = side[0].const, side[1].const
    return low is not None and high is not None and (low >= high or span[0] <= low and high <= span[1])


def varying(index: Sequence[Ix], blocks: ArrayBlocks, loops: Iterable[str]) -> frozenset[str]:
    """Loops that decide where along a cut axis an element lies; all of them where an index array decides."""
    around = frozenset(loops)
    cut = [i for i, axis in zip(index, blocks.axes, strict=True) if axis is not None]
    return around if any(i.elems for i in cut) else frozenset(s for i in cut for s in i.symbols & around)
