"""Where the elements of a container of a graph lie: in an array of the program, under an index."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.layout import axis
from sdfgad.ir.program import View


@dataclass(frozen=True)
class ContainerPlace:
    """Element (p0, p1, ...) of a container is `array[index]`, with `axis(k)` for pk.

    strides: distances of neighbours in memory, as the graph has them; two descriptors of the same memory are matched by
    these.
    """

    array: str
    index: tuple[Ix, ...]
    shape: tuple[Ix, ...]
    strides: tuple[Ix, ...]
    dtype: np.dtype

    def at(self, position: Sequence[Ix]) -> tuple[Ix, ...]:
        """The index in the array of the program."""
        mapping = {axis(k): p for k, p in enumerate(position)}
        return tuple(i.subs(mapping) for i in self.index)

    def load(self, position: Sequence[Ix]) -> Load:
        return Load(self.array, self.at(position), self.dtype)

    def view(self, box: ElementBox) -> View:
        """The elements of a box as an operand."""
        kept = [k for k, n in enumerate(box.counts) if n.const != 1]
        position = list(box.first)
        for number, k in enumerate(kept):
            position[k] = box.first[k] + ix(axis(number)) * box.steps[k]
        return View(self.array, tuple(box.counts[k] for k in kept), self.at(position), self.dtype)


@dataclass(frozen=True)
class ElementBox:
    """Elements of a container: so many in each dimension, from the first one in steps."""

    first: tuple[Ix, ...]
    counts: tuple[Ix, ...]
    steps: tuple[int, ...]

    def at(self, position: Sequence[Ix]) -> tuple[Ix, ...]:
        return tuple(f + p * s for f, p, s in zip(self.first, position, self.steps, strict=True))

    @property
    def extents(self) -> tuple[Ix, ...]:
        """The counts, without dimensions of one element."""
        return tuple(n for n in self.counts if n.const != 1)

    def unsqueezed(self, position: Sequence[Ix]) -> tuple[Ix, ...]:
        """The element at a position among `extents`."""
        rest = iter(position)
        return self.at([ix(0) if n.const == 1 else next(rest) for n in self.counts])

    @property
    def single(self) -> bool:
        return all(n.const == 1 for n in self.counts)


def whole(shape: Sequence[Ix]) -> ElementBox:
    return ElementBox(tuple(ix(0) for _ in shape), tuple(shape), tuple(1 for _ in shape))


def packed(shape: Sequence[Ix]) -> tuple[Ix, ...]:
    """The strides of C order."""
    strides = [ix(1)]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n)
    return tuple(strides[:len(shape)])


def seen_as(outer: ContainerPlace, first: Sequence[Ix], shape: tuple[Ix, ...], strides: tuple[Ix, ...],
            dtype: np.dtype) -> ContainerPlace | None:
    """The memory of a container from one of its elements on, with another shape and other strides; None where that is
    no rectangle of elements that can be named."""
    if dtype != outer.dtype:
        return None
    position = list(first)
    moved: list[tuple[Ix, Ix]] = []
    for k, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        if n.const == 1:
            continue
        at = _axis_of(outer, first, n, stride)
        if at is None:
            return _through_memory(outer, first, shape, strides)
        factor = _factor(stride, outer.strides[at])
        assert factor is not None
        moved.append((ix(at), ix(axis(k)) * factor))
    for at_, more in moved:
        position[at_.const or 0] = position[at_.const or 0] + more
    return ContainerPlace(outer.array, outer.at(position), shape, strides, dtype)


def _axis_of(outer: ContainerPlace, first: Sequence[Ix], n: Ix, stride: Ix) -> int | None:
    """The dimension along which n elements lie this far apart."""
    for at, (extent, own) in enumerate(zip(outer.shape, outer.strides, strict=True)):
        factor = _factor(stride, own)
        if factor is None or extent.const == 1:
            continue
        # Where sizes are not known to fit, equal strides say that they were meant to.
        room = (extent - 1 - first[at] - (n - 1) * factor).const
        if factor == 1 and room is None or room is not None and room >= 0:
            return at
    return None


def _factor(stride: Ix, own: Ix) -> int | None:
    if not (stride - own).terms:
        return 1
    if stride.const is None or own.const in (None, 0) or stride.const % (own.const or 1):
        return None
    return stride.const // (own.const or 1) or None


def _through_memory(outer: ContainerPlace, first: Sequence[Ix], shape: tuple[Ix, ...],
                    strides: tuple[Ix, ...]) -> ContainerPlace | None:
    """By the distance from the first element, where the outer container has no gaps."""
    if any((a - b).terms for a, b in zip(outer.strides, packed(outer.shape), strict=True)):
        return None
    distance = sum((f * s for f, s in zip(first, outer.strides, strict=True)), ix(0))
    distance = sum((ix(axis(k)) * s for k, s in enumerate(strides)), distance)
    position = [distance // s % n if k else distance // s
                for k, (s, n) in enumerate(zip(outer.strides, outer.shape, strict=True))]
    return ContainerPlace(outer.array, outer.at(position), shape, strides, outer.dtype)
