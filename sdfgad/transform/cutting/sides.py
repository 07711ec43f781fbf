"""Which way the messages of a halo go: from the lower or from the upper side of a block, of neighbours or from afar."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sdfgad.ir.index import ix
from sdfgad.transform.cutting.accesses import HaloNeed, ReadBox
from sdfgad.transform.cutting.blocks import ArrayBlocks, Place

Way: TypeAlias = tuple[int, bool, bool]
"""The dimension of the grid; whether it comes from the upper side; whether from afar."""


@dataclass(frozen=True)
class HaloSide:
    """What ranks need of an array from one side. way: None where it cannot be said, or where it is all of a need."""

    way: Way | None
    need: HaloNeed


def sides_of(need: HaloNeed, blocks: ArrayBlocks, places: Sequence[Place]) -> tuple[HaloSide, ...]:
    """x[i - 1:i + 2] for i = 10:20   ->   x[9:10] from below, x[20:21] from above

    The boxes beside a block along its first cut axis have its corners, those along the next one lie between them.
    """
    if any(not _is_known(box) for box in need.boxes if box is not None):
        return (HaloSide(None, need),)
    parts: dict[Way, list[ReadBox | None]] = {}
    for rank, (box, place) in enumerate(zip(need.boxes, places, strict=True)):
        for way, part in _parts(box, blocks, place) if box is not None else ():
            parts.setdefault(way, [None] * len(places))[rank] = part
    return tuple(HaloSide(way, replace(need, boxes=tuple(boxes))) for way, boxes in sorted(parts.items()))


def _is_known(box: ReadBox) -> bool:
    return all(a.const is not None and b.const is not None for a, b in box)


def _parts(box: ReadBox, blocks: ArrayBlocks, place: Place) -> list[tuple[Way, ReadBox]]:
    found: list[tuple[Way, ReadBox]] = []
    if any((a.const or 0) >= (b.const or 0) for a, b in box):
        return found
    left = list(box)
    for k, axis in enumerate(blocks.axes):
        if axis is None:
            continue
        (first, behind), (low, high) = axis.span(place), (left[k][0].const or 0, left[k][1].const or 0)
        middle = max(low, min(first, high)), min(high, max(behind, low))
        for upper, (a, b), touches in ((False, (low, min(first, high)), high >= first),
                                       (True, (max(behind, low), high), low <= behind)):
            if a < b:
                found.append(((axis.dimension, upper, not touches), (*left[:k], (ix(a), ix(b)), *left[k + 1:])))
        if middle[0] >= middle[1]:
            break
        left[k] = ix(middle[0]), ix(middle[1])
    return found
