"""One block of memory for the arrays of a program that nobody else holds: those never in use at once share bytes.

Where each of them starts is dynamic storage allocation, which is NP-hard (Garey and Johnson, "Computers and
Intractability", SR2). The greedy rule here takes the largest array first and gives it the lowest place that is free
whenever it is in use: "greedy by size" of Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference
(arXiv:2001.03288), who find it to be mostly at the lower bound.
"""
from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sdfgad.caches import LINE

APART, LARGE, PAGE = 5 * LINE, 1 << 16, 1 << 12
"""Bytes left free behind a large array whose size is a multiple of the last number: its rows and those of its neighbour
would all take the same few places of a cache."""


@dataclass(frozen=True)
class Arena:
    """offsets: where each array starts. bytes: of the whole block."""

    offsets: Mapping[str, int]
    bytes: int


def pack(sizes: Mapping[str, int], apart: Callable[[str, str], bool]) -> Arena:
    """Places for arrays of these sizes in bytes; those that have to be `apart` do not overlap."""
    taken: list[tuple[int, int, str]] = []
    offsets: dict[str, int] = {}
    for name in sorted(sizes, key=lambda n: (-sizes[n], n)):
        size, place = _whole_lines(sizes[name]) + _gap(sizes[name]), 0
        for start, stop, other in taken:
            if start - place >= size:
                break
            if apart(name, other):
                place = max(place, stop)
        offsets[name] = place
        insort(taken, (place, place + size, name))
    return Arena(offsets, max((place + _whole_lines(sizes[n]) for n, place in offsets.items()), default=0))


def _gap(size: int) -> int:
    return APART if size >= LARGE and size % PAGE == 0 else 0


def _whole_lines(size: int) -> int:
    return -(-size // LINE) * LINE
