"""How arrays are cut into blocks over a grid of ranks, and which elements each rank has."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from types import MappingProxyType
from typing import TypeAlias

from sdfgad.ir.program import Array

Place: TypeAlias = tuple[int, ...]
"""Where a rank stands in the grid."""
Span: TypeAlias = tuple[int, int]
"""From the first number to the one behind the last."""


@dataclass(frozen=True)
class RankGrid:
    """Ranks in a box, the last dimension first, as elements of an array. extents: ranks in each dimension."""

    extents: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.extents)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Of all ranks, in their order."""
        return tuple(product(*map(range, self.extents)))


@dataclass(frozen=True)
class CutAxis:
    """An axis that is cut. dimension: of the grid; ends: rank k of it has the elements from `ends[k]` to
    `ends[k + 1]`."""

    dimension: int
    ends: tuple[int, ...]

    def span(self, place: Place) -> Span:
        here = place[self.dimension]
        return self.ends[here], self.ends[here + 1]

    def moved(self, by: int, extent: int) -> CutAxis:
        """The same cut of an axis whose element 0 stands beside element `by` of this one."""
        inner = (min(max(end - by, 0), extent) for end in self.ends[1:-1])
        return replace(self, ends=(0, *inner, extent))


@dataclass(frozen=True)
class ArrayBlocks:
    """How an array is cut: for each axis how, or None. Every element has an owner for each place in the dimensions of
    the grid that cut none of its axes, and owners always have the elements as they are in the serial program."""

    axes: tuple[CutAxis | None, ...]

    @cached_property
    def dimensions(self) -> frozenset[int]:
        """Those of the grid that cut an axis."""
        return frozenset(a.dimension for a in self.axes if a is not None)

    def own(self, place: Place, shape: Sequence[int]) -> tuple[Span, ...]:
        """The box of elements that a rank has."""
        return tuple((0, n) if a is None else a.span(place) for a, n in zip(self.axes, shape, strict=True))


@dataclass(frozen=True)
class Distribution:
    """What a caller asks for. axes: for each array the dimension of the grid that cuts each axis, or None; () leaves it
    whole. rank: the one that a program is made for. alike: arrays that are cut as another one is: gradients. gather:
    whether every rank gets results whole. beside: for dimension and extent that of the arrays whose blocks end at the
    same places (`staggered`)."""

    grid: RankGrid
    rank: int
    axes: Mapping[str, tuple[int | None, ...]]
    alike: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    gather: bool = True
    beside: Mapping[tuple[int, int], int] = field(default_factory=lambda: MappingProxyType({}))

    def largest(self, shapes: Mapping[str, Sequence[int]]) -> int:
        """The rank with the most elements of the arrays that the caller has named, one in the middle if there are
        several: that has neighbours on all sides."""
        def elements(rank: int) -> int:
            own = [self.blocks(n, shape).own(self.grid.places[rank], shape) for n, shape in shapes.items()]
            return sum(prod(behind - first for first, behind in box) for box in own)
        def aside(rank: int) -> int:
            return sum(abs(k - n // 2) for k, n in zip(self.grid.places[rank], self.grid.extents, strict=True))
        return max(range(self.grid.size), key=lambda r: (elements(r), -aside(r)))

    def unlike(self, shapes: Mapping[str, Sequence[int]]) -> list[int]:
        """A rank of each kind: of the same extents of blocks, beside the same borders of the grid."""
        kinds: dict[object, int] = {}
        for rank, place in enumerate(self.grid.places):
            sizes = tuple(b - a for n, shape in shapes.items() for a, b in self.blocks(n, shape).own(place, shape))
            borders = tuple((k == 0, k == n - 1) for k, n in zip(place, self.grid.extents, strict=True))
            kinds.setdefault((sizes, borders), rank)
        return list(kinds.values())

    def own(self, name: str, shape: Sequence[int]) -> tuple[slice, ...]:
        """The block of this rank of an array that the caller has named."""
        return tuple(slice(*side) for side in self.blocks(name, shape).own(self.grid.places[self.rank], shape))

    def blocks(self, name: str, shape: Sequence[int]) -> ArrayBlocks:
        """The blocks of an array that the caller has named."""
        cuts = self.axes[name] or (None,) * len(shape)
        return ArrayBlocks(tuple(None if d is None else CutAxis(d, self._ends(d, n))
                                 for d, n in zip(cuts, shape, strict=True)))

    def _ends(self, dimension: int, extent: int) -> tuple[int, ...]:
        ranks, cells = self.grid.extents[dimension], self.beside.get((dimension, extent), extent)
        # Where ranks have no cells, nothing is gained by leaving them without faces as well.
        return (*even_ends(cells if cells >= ranks else extent, ranks)[:-1], extent)


def staggered(axes: Mapping[str, tuple[int | None, ...]],
              shapes: Mapping[str, Sequence[int]]) -> Mapping[tuple[int, int], int]:
    """Which extents are one more than another one in the same dimension of the grid: of values on the faces of cells.

    Cell i lies between faces i and i + 1, which one rank has, but for the last face of its block. Where both were cut
    evenly, blocks of faces would begin now at their cells, now one later, and a rank would need both neighbours.
    """
    found = {(d, n) for name, cuts in axes.items() for d, n in zip(cuts, shapes[name], strict=False) if d is not None}
    cells = {(d, n) for d, n in found if (d, n - 1) not in found}
    return MappingProxyType({(d, n + 1): n for d, n in cells if (d, n + 1) in found})


def within_window(part: tuple[slice, ...], array: Array) -> tuple[slice, ...]:
    """A part of an array where a rank has it."""
    if array.window is None:
        return part
    return tuple(slice(s.start - low, s.stop - low) for s, (low, _) in zip(part, array.window, strict=True))


def even_ends(extent: int, count: int) -> tuple[int, ...]:
    """Where `count` blocks of an axis end, as even as can be: block k has the elements from end k to end k + 1."""
    return tuple(extent * k // count for k in range(count + 1))
