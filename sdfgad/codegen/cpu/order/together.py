"""Loops that stay with one thread, as sharing them saves less than it takes to pass data from core to core."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from sdfgad.caches import NEAR_BYTES
from sdfgad.codegen.cpu.order.handover import Facts, Holdings, Middle, enter, facts
from sdfgad.codegen.cpu.order.pieces import ControlFlow, Group, Item, Kernel, pieces
from sdfgad.ir.program import Array, If, Loop, Map, Store
from sdfgad.ir.walk import statements
from sdfgad.thresholds import thresholds


def keep_together(items: tuple[Item, ...], arrays: Mapping[str, Array]) -> tuple[Item, ...]:
    """for t: { parallel i: map j: y[i, j] = f(x[i, j]) ; parallel j: map i: x[i, j] = g(y[i, j]) }
    ->   the same on one thread, where f and g take less time than lines of x and y from one core to the other and back

    Of loops alone: what runs once finds its data anywhere. Loops that touch more than a core's cache holds find it in
    memory, or in the cache of all cores, whoever had it last.
    """
    return tuple(_Settler(arrays).items(items, {}))


def _streams(item: ControlFlow, arrays: Mapping[str, Array]) -> bool:
    """Whether a single map assigns more than a cache holds: each iteration another element."""
    maps = (s for p in pieces(item.parts[0]) for s in statements(p.body) if isinstance(s, Map))
    return any(prod(r.trips or 0 for r in m.domain) * arrays[p.array].dtype.itemsize > NEAR_BYTES
               for m in maps for p in m.body if isinstance(p, Store) and p.op is None)


class _Settler:
    """Decides loop by loop, inner ones first. known: what pieces do, with the pieces themselves."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self.known: dict[int, tuple[Group | Kernel, Facts]] = {}

    def items(self, items: tuple[Item, ...], middle: Middle) -> Iterator[Item]:
        for item in items:
            if not isinstance(item, ControlFlow):
                yield item
                continue
            inside = _inside(item, middle)
            made = replace(item, parts=tuple(tuple(self.items(part, inside)) for part in item.parts))
            alone = not any(isinstance(p, Kernel) for p in pieces((made,)))
            yield Group((item.stmt,)) if alone or self.loses(made, inside) else made

    def loses(self, item: ControlFlow, middle: Middle) -> bool:
        """Whether an iteration takes longer than on one thread."""
        if isinstance(item.stmt, If) or _streams(item, self.arrays):
            return False
        first, later = (_LoopRun(self, caches) for caches in [Holdings()] * 2)
        first.items(item.parts[0], middle)
        if first.bytes > NEAR_BYTES:
            return False
        later.items(item.parts[0], middle)
        return later.lines * thresholds().parallel_work / thresholds().lines_per_fork > later.saved

    def facts(self, item: Group | Kernel, middle: Middle) -> Facts:
        if id(item) not in self.known:
            self.known[id(item)] = item, facts(item, self.arrays, middle)
        return self.known[id(item)][1]


class _LoopRun:
    """A run of the items of a loop: operations saved by a second thread, and lines passed, both for one of two threads.

    most: bytes touched of each array.
    """

    def __init__(self, settler: _Settler, caches: Holdings) -> None:
        self.settler, self.caches = settler, caches
        self.most: dict[str, float] = {}
        self.saved = self.lines = 0.0

    @property
    def bytes(self) -> float:
        return sum(self.most.values())

    def items(self, items: tuple[Item, ...], middle: Middle, times: float = 1.0) -> None:
        for item in items:
            if isinstance(item, ControlFlow):
                self.region(item, middle, times)
                continue
            found = self.settler.facts(item, middle)
            for t in found.touched:
                self.most[t.array] = max(self.most.get(t.array, 0.0), sum(t.bytes))
            self.lines += times * self.caches.run(found)
            if isinstance(item, Kernel):
                self.saved += times * (found.work - thresholds().parallel_work) / 2

    def region(self, item: ControlFlow, middle: Middle, times: float) -> None:
        """A loop as its first iteration, and all others like the second one."""
        inside, trips = dict(middle), 2
        if isinstance(item.stmt, Loop):
            trips = enter(item.stmt.range, inside)
        for part in item.parts:
            self.items(part, inside, times)
            if trips > 1 and not isinstance(item.stmt, If):
                self.items(part, inside, times * (trips - 1))


def _inside(item: ControlFlow, middle: Middle) -> Middle:
    inside = dict(middle)
    if isinstance(item.stmt, Loop):
        enter(item.stmt.range, inside)
    return inside
