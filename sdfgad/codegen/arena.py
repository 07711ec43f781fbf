"""One block of memory for the arrays of a program that nobody else holds: those never in use at once share bytes.

Where each of them starts is dynamic storage allocation, which is NP-hard (Garey and Johnson, "Computers and
Intractability", SR2). The greedy rule here takes the largest array first and gives it the lowest place that is free
whenever it is in use: "greedy by size" of Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference
(arXiv:2001.03288), who find it to be mostly at the lower bound.
"""
from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from sdfgad.caches import LINE

APART, LARGE, PAGE = 5 * LINE, 1 << 16, 1 << 12
"""Bytes left free behind a large array whose size is a multiple of the last number: its rows and those of its neighbour
would all take the same few places of a cache."""


@dataclass(frozen=True)
class Arena:
    """offsets: where each array starts. bytes: of the whole block."""

    offsets: Mapping[str, int]
    bytes: int


@dataclass(frozen=True)
class _TakenBytes:
    """Bytes that hold the same arrays, from `start` to `stop`. moments: when one of them is in use."""

    start: int
    stop: int
    kind: Hashable
    moments: int


def pack(sizes: Mapping[str, int], moments: Mapping[str, int], kinds: Mapping[str, Hashable] | None = None) -> Arena:
    """Places for arrays of these sizes in bytes.

    Those that are in use at once do not overlap: `moments` has the times of each as the bits of a number. Nor do those
    of different `kinds`.
    """
    taken: list[_TakenBytes] = []
    offsets: dict[str, int] = {}
    for name in sorted(sizes, key=lambda n: (-sizes[n], n)):
        size, kind = _whole_lines(sizes[name]) + _gap(sizes[name]), None if kinds is None else kinds[name]
        place = offsets[name] = _first_place(taken, size, kind, moments[name])
        taken = _with(taken, _TakenBytes(place, place + size, kind, moments[name]))
    return Arena(offsets, max((place + _whole_lines(sizes[n]) for n, place in offsets.items()), default=0))


def _first_place(taken: list[_TakenBytes], size: int, kind: Hashable, moments: int) -> int:
    """The lowest place with so many bytes that nobody else uses at these times."""
    place = 0
    for there in taken:
        if there.start - place >= size:
            break
        if there.kind != kind or there.moments & moments:
            place = there.stop
    return place


def _with(taken: list[_TakenBytes], new: _TakenBytes) -> list[_TakenBytes]:
    """In order, the bytes that were taken and those that are now."""
    found: list[_TakenBytes] = []
    free = new.start
    for there in taken:
        if there.stop <= new.start or there.start >= new.stop or new.start == new.stop:
            found.append(there)
            continue
        start, stop = max(there.start, new.start), min(there.stop, new.stop)
        pieces = (replace(there, stop=start), replace(new, start=free, stop=start),
                  _TakenBytes(start, stop, new.kind, there.moments | new.moments), replace(there, start=stop))
        found += [p for p in pieces if p.start < p.stop]
        free = stop
    found.append(replace(new, start=free))
    return sorted((t for t in found if t.start < t.stop), key=lambda t: t.start)


def _gap(size: int) -> int:
    return APART if size >= LARGE and size % PAGE == 0 else 0


def _whole_lines(size: int) -> int:
    return -(-size // LINE) * LINE
