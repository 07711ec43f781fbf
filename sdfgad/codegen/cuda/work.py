"""What runs on the device: kernels over boxes of points, and the control flow of the host around them."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from sdfgad.ir.index import Ix
from sdfgad.ir.program import If, Let, Lib, Loop, Pop, Push, Range, Store, While

BLOCK = 256
"""Threads of a block."""


def coordinate(k: int) -> str:
    """The variable of the k-th coordinate of a point; no program has one of this name."""
    return f"point.{k}"


@dataclass(frozen=True)
class Side:
    """One direction of a box: `var` counts from `start`, and takes `count` values at the most."""

    var: str
    start: Ix
    count: int


@dataclass(frozen=True)
class PointWork:
    """A map as one point sees it.

    domain: in the order of the program; the variables of a side of the box have one value, the others are loops. held:
    places in the body of sums that stay in a register until the loops are done. atomic: of sums that other points may
    add to as well. assigned: whether sums that are held replace what is there.
    """

    domain: tuple[Range, ...]
    body: tuple[Let | Store, ...]
    held: frozenset[int] = frozenset()
    atomic: frozenset[int] = frozenset()
    assigned: bool = False


@dataclass(frozen=True)
class ThreadLoop:
    """A loop inside a thread."""

    range: Range
    parts: tuple[Part, ...]


Part: TypeAlias = PointWork | ThreadLoop


@dataclass(frozen=True)
class DeviceKernel:
    """The parts, one after the other, for every point of a box.

    terms: where a block of threads works for each point, and shares the sums of the only part, what it shares; the
    variables of these sides are those of the part. fills: arrays of which it replaces every element.
    """

    box: tuple[Side, ...]
    parts: tuple[Part, ...]
    terms: tuple[Side, ...] = ()
    fills: frozenset[str] = frozenset()

    @property
    def points(self) -> int:
        """Of the largest box."""
        return size(self.box)

    @property
    def threads(self) -> int:
        """Of a launch, in whole blocks."""
        return self.points * BLOCK if self.terms else -(-self.points // BLOCK) * BLOCK


@dataclass(frozen=True)
class HostControl:
    """A loop or a branch of the host around what it starts."""

    stmt: Loop | While | If
    parts: tuple[DeviceItems, ...]


DeviceItem: TypeAlias = DeviceKernel | HostControl | Lib | Push | Pop
DeviceItems: TypeAlias = tuple[DeviceItem, ...]


def size(sides: Iterable[Side]) -> int:
    """The points of a box."""
    return prod(s.count for s in sides)


def works(parts: Iterable[Part]) -> Iterator[PointWork]:
    """The maps in parts, those inside loops too."""
    for part in parts:
        if isinstance(part, PointWork):
            yield part
        else:
            yield from works(part.parts)


def launches(items: DeviceItems) -> int:
    """Kernels and routines of libraries that a call starts; loops of unknown length count once, and of branches the
    longer one."""
    total = 0
    for item in items:
        if isinstance(item, HostControl):
            inner = [launches(part) for part in item.parts]
            trips = item.stmt.range.trips if isinstance(item.stmt, Loop) else 1
            total += max(inner) * (1 if trips is None else trips)
        else:
            total += isinstance(item, (DeviceKernel, Lib))
    return total


def questions(items: DeviceItems) -> int:
    """The most numbers that the device makes for the host: both ends of loops, conditions, and one that opens it."""
    return 1 + sum(_questions(item) for item in items)


def _questions(item: DeviceItem) -> int:
    return 2 + sum(map(questions, item.parts)) if isinstance(item, HostControl) else 0
