"""What runs on the device: kernels over boxes of points, and the control flow of the host around them."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import TypeAlias

from sdfgad.ir.expr import index_elems, loads
from sdfgad.ir.index import Elem, Ix, ix
from sdfgad.ir.program import If, Let, Lib, Loop, Pop, Push, Range, Store, While
from sdfgad.ir.walk import range_elems

BLOCK = 256
"""Threads of a block."""
SECTOR, WARP = 32, 32
"""Bytes that memory moves at once, and threads that ask for them together."""
PATCH = 8, 4
"""Points of a warp in a coordinate across and in the last one: sectors of numbers of 8 bytes are whole along either."""
BESIDE = 8
"""Points in a row that one block works for, where they lie beside each other: whole sectors of any number."""
TEAM = 1024
"""Threads of a block that runs alone: the most there can be. Each of them has 64 registers; where these may be too few
there are as many as in other blocks."""


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
class Look:
    """One look at an array, or one store."""

    array: str
    index: tuple[Ix, ...]
    written: bool = False

    @cached_property
    def places(self) -> Mapping[str, int]:
        """For each variable that is an index by itself the first dimension where it is."""
        alone = {d: next(iter(i.symbols)) for d, i in enumerate(self.index) if len(i.symbols) == 1}
        return {v: d for d, v in reversed(alone.items()) if self.index[d] is ix(v)}


def _looked_up(elems: Iterable[Elem]) -> Iterator[Look]:
    return (Look(e.array, e.parts) for e in elems)


class Looking:
    """What looks at arrays."""

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        """Everything that it touches, elements in indices and bounds too: each once."""
        return tuple(dict.fromkeys(self._looks()))

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The arrays that it touches, and how many dimensions they have."""
        return {a.array: len(a.index) for a in self.looks}

    @cached_property
    def written(self) -> frozenset[str]:
        """The arrays that it writes."""
        return frozenset(a.array for a in self.looks if a.written)

    def _looks(self) -> Iterator[Look]:
        raise NotImplementedError


@dataclass(frozen=True)
class PointWork(Looking):
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

    def _looks(self) -> Iterator[Look]:
        for r in self.domain:
            yield from _looked_up(range_elems(r))
        for part in self.body:
            yield from (Look(n.array, n.index) for n in loads(part.expr))
            yield from _looked_up(index_elems(part.expr))
            if isinstance(part, Store):
                yield Look(part.array, part.index, True)
                yield from _looked_up(e for i in part.index for e in i.elems)


@dataclass(frozen=True)
class ThreadLoop(Looking):
    """A loop inside a thread."""

    range: Range
    parts: tuple[Part, ...]

    def _looks(self) -> Iterator[Look]:
        yield from _looked_up(range_elems(self.range))
        yield from accesses(self.parts)


Part: TypeAlias = PointWork | ThreadLoop


def accesses(parts: Iterable[Part]) -> Iterator[Look]:
    """Everything that parts touch."""
    for part in parts:
        yield from part.looks


def ranks_in(parts: Iterable[Part]) -> Mapping[str, int]:
    """The arrays that parts touch, and how many dimensions they have."""
    return {n: rank for part in parts for n, rank in part.ranks.items()}


def written_in(parts: Iterable[Part]) -> frozenset[str]:
    """The arrays that parts write."""
    return frozenset(n for part in parts for n in part.written)


@dataclass(frozen=True)
class DeviceKernel:
    """The parts, one after the other, for every point of a box.

    terms: where a block of threads works for each point, and shares the sums of the only part, what it shares; the
    variables of these sides are those of the part. beside: so many points in a row that one block works for, with a
    share of its threads for each. fills: arrays of which it replaces every element. across: the number of the
    coordinate, not the last one, in which the threads of a warp differ too: they cover `PATCH` points of both. pieced:
    whether some parts are together only because they touch different elements altogether.
    """

    box: tuple[Side, ...]
    parts: tuple[Part, ...]
    terms: tuple[Side, ...] = ()
    fills: frozenset[str] = frozenset()
    beside: int = 1
    across: int | None = None
    pieced: bool = False

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        """Everything that it touches, each once."""
        return tuple(dict.fromkeys(accesses(self.parts)))

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The arrays that it touches, and how many dimensions they have."""
        return ranks_in(self.parts)

    @cached_property
    def written(self) -> frozenset[str]:
        """The arrays that it writes."""
        return written_in(self.parts)

    @property
    def patches(self) -> tuple[Side, ...]:
        """The box, counted in pieces of a warp where one covers points of two coordinates."""
        pieces = {} if self.across is None else {self.across: PATCH[0], len(self.box) - 1: PATCH[1]}
        return tuple(replace(s, count=-(-s.count // pieces.get(k, 1))) for k, s in enumerate(self.box))

    @property
    def points(self) -> int:
        """Of the largest box."""
        return size(self.box)

    @property
    def groups(self) -> int:
        """Of points that have a block each, where terms are shared."""
        return -(-self.points // self.beside)

    @property
    def threads(self) -> int:
        """Of a launch, in whole blocks."""
        points = self.points if self.across is None else size(self.patches) * PATCH[0] * PATCH[1]
        return self.groups * BLOCK if self.terms else -(-points // BLOCK) * BLOCK


@dataclass(frozen=True)
class Launch:
    """Kernels that are started at once. chains: none writes what another one touches, and each has blocks of its own.
    The kernels of a longer chain are done by one block, whose threads wait for each other behind each."""

    chains: tuple[tuple[DeviceKernel, ...], ...]

    @property
    def kernels(self) -> Iterator[DeviceKernel]:
        """All of them, in an order in which they may run one by one."""
        return (kernel for chain in self.chains for kernel in chain)

    @property
    def threads(self) -> int:
        return sum(map(chain_threads, self.chains))


def chain_threads(chain: tuple[DeviceKernel, ...]) -> int:
    """Threads of a launch, in whole blocks."""
    return chain[0].threads if len(chain) == 1 else BLOCK


@dataclass(frozen=True)
class OrderedSum:
    """Terms that are joined to the elements that data name, in the order of their numbers.

    pairs: for each term the number of its element and its own, then sorted; a number of the array's size is none.
    values: the terms. count: of both, a power of two.
    """

    target: str
    op: str
    pairs: str
    values: str
    count: int

    @property
    def launches(self) -> int:
        """Steps of the sorting network, and what adds up."""
        depth = self.count.bit_length() - 1
        return depth * (depth + 1) // 2 + 1


@dataclass(frozen=True)
class HostControl:
    """A loop or a branch of the host around what it starts. team: of one that the device runs by itself, the threads
    of a block. blocks: how many it has work for; more than one are as many as the device runs at once, at the most."""

    stmt: Loop | While | If
    parts: tuple[DeviceItems, ...]
    team: int = 0
    blocks: int = 1

    @property
    def inner(self) -> DeviceItems:
        """What is in all parts."""
        return tuple(item for part in self.parts for item in part)


DeviceItem: TypeAlias = DeviceKernel | Launch | OrderedSum | HostControl | Lib | Push | Pop
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


def launches(items: DeviceItems, known: Mapping[str, int] = MappingProxyType({})) -> int:
    """Kernels and routines of libraries that a call starts; loops whose length data decide count once, and of branches
    the longer one. known: values of counters around."""
    return sum(_launches(item, known) for item in items)


def _launches(item: DeviceItem, known: Mapping[str, int]) -> int:
    if isinstance(item, OrderedSum):
        return item.launches
    if not isinstance(item, HostControl) or item.team:
        library = isinstance(item, Lib) and item.op not in ("fail", "look")
        return int(library or isinstance(item, (DeviceKernel, Launch, HostControl)))
    if not isinstance(item.stmt, Loop):
        return max(launches(part, known) for part in item.parts)
    r, body = item.stmt.range, item.parts[0]
    start, stop = (i.subs(known).const for i in (r.start, r.stop))
    if start is None or stop is None:
        return launches(body, known)
    turns = range(start, stop, r.step)
    if r.var not in _counters(body):
        return launches(body, known) * len(turns)
    return sum(launches(body, {**known, r.var: k}) for k in turns)


def waits(items: DeviceItems) -> int:
    """Times that all threads of a call wait for each other, at launches and in loops on the device, where each loop is
    gone through once."""
    return sum(sum(map(waits, one.parts)) if isinstance(one, HostControl) else 1 for one in items)


def _counters(items: DeviceItems) -> set[str]:
    """What decides how long loops of the host are."""
    found: set[str] = set()
    for item in items:
        if isinstance(item, HostControl) and not item.team:
            if isinstance(item.stmt, Loop):
                found |= item.stmt.range.start.symbols | item.stmt.range.stop.symbols
            found = found.union(*(_counters(part) for part in item.parts))
    return found


def ordered_sums(items: DeviceItems) -> Iterator[OrderedSum]:
    """All of them, each once."""
    for item in items:
        if isinstance(item, OrderedSum):
            yield item
        elif isinstance(item, HostControl):
            for part in item.parts:
                yield from ordered_sums(part)


def questions(items: DeviceItems) -> int:
    """The most numbers that the device makes for the host: both ends of loops, conditions, and one that opens it."""
    return 1 + sum(_questions(item) for item in items)


def _questions(item: DeviceItem) -> int:
    return 2 + sum(map(questions, item.parts)) if isinstance(item, HostControl) and not item.team else 0
