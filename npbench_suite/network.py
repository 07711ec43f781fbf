"""How long ranks wait for each other: lists of their work and messages, run through a model of the network.

A message of n bytes takes latency + n / bandwidth (R. Hockney: The communication challenge for MPP, Parallel Computing
20, 1994); those of one rank leave one after the other. A sum of all ranks takes that for each round of recursive
doubling, ceil(log2 P) of them, from when the last rank comes (R. Thakur, R. Rabenseifner, W. Gropp: Optimization of
collective communication operations in MPICH, IJHPCA 19, 2005).
"""
from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil, log2
from typing import TypeAlias

import numpy as np

from sdfgad.analysis.cost import Clock, seconds_of
from sdfgad.checkpoint.roofline import MESSAGE_BYTES_PER_SECOND, MESSAGE_SECONDS
from sdfgad.errors import InvariantError
from sdfgad.ir.messages import EXCHANGE, communicates, is_finish, is_message, received, sent
from sdfgad.ir.program import Array, Block, Lib, Loop, Program
from sdfgad.verbs.automatic import NOMINAL


@dataclass(frozen=True)
class RankWork:
    """Work between messages."""

    seconds: float


@dataclass(frozen=True)
class RankMessages:
    """Messages that go at the same time: how far the other rank is, and bytes."""

    out: tuple[tuple[int, int], ...]
    come: tuple[int, ...]


@dataclass(frozen=True)
class RankSum:
    """A sum of all ranks."""

    bytes: int


@dataclass(frozen=True)
class RankLoop:
    """What is done again and again."""

    trips: int
    steps: RankSteps


RankSteps: TypeAlias = "tuple[RankWork | RankMessages | RankSum | RankLoop, ...]"


@dataclass(frozen=True)
class Simulated:
    """A call of all ranks. seconds: until the last one is ready; messages and bytes: of all of them; sums: of one."""

    seconds: float
    messages: int
    bytes: int
    sums: int


def steps_of(program: Program, rank: int) -> RankSteps:
    """What a rank of a distributed program does, in the time of a nominal core. InvariantError for messages in branches
    and in loops of unknown length."""
    return _of_block(program.body, program.arrays, program.constants, rank, NOMINAL.seconds)


def _of_block(block: Block, arrays: Mapping[str, Array], constants: Mapping[str, np.ndarray], rank: int,
              clock: Clock) -> RankSteps:
    found: list[RankWork | RankMessages | RankSum | RankLoop] = []
    quiet: list[object] = []

    def work() -> None:
        if quiet:
            found.append(RankWork(seconds_of(tuple(quiet), arrays, clock)))  # type: ignore[arg-type]
            quiet.clear()

    for stmt in block:
        if is_finish(stmt):  # the model waits where messages start
            continue
        if not communicates((stmt,)):
            quiet.append(stmt)
            continue
        work()
        if is_message(stmt):
            found.append(_of_message(stmt, constants, rank))
        elif isinstance(stmt, Loop) and stmt.range.trips is not None and stmt.until is None:
            found.append(RankLoop(stmt.range.trips, _of_block(stmt.body, arrays, constants, rank, clock)))
        else:
            raise InvariantError("messages of a distributed program in a branch, or in a loop of unknown length")
    work()
    return tuple(found)


def _of_message(stmt: Lib, constants: Mapping[str, np.ndarray], rank: int) -> RankMessages | RankSum:
    if stmt.attrs["kind"] != EXCHANGE:
        return RankSum(int(stmt.attrs["count"]) * stmt.attrs["dtype"].itemsize)
    to, frm = (constants[v.array][1::2] for v in stmt.ins[len(sent(stmt)):-1])
    return RankMessages(tuple((int(p) - rank, v.bytes) for p, v in zip(to, sent(stmt), strict=True)),
                        tuple(int(p) - rank for p, _ in zip(frm, received(stmt), strict=True)))


def simulated(ranks: int, steps: Callable[[int], RankSteps], latency: float = MESSAGE_SECONDS,
              bandwidth: float = MESSAGE_BYTES_PER_SECOND) -> Simulated:
    """What a call of so many ranks takes. steps: of each rank. InvariantError where their messages do not fit."""
    network = _Network(ranks, latency, bandwidth)
    waiting = deque(network.rank(r, steps(r)) for r in range(ranks))
    stuck = 0
    while waiting:
        one = waiting.popleft()
        before = network.moved
        if next(one, None) is not None:
            waiting.append(one)
        stuck = 0 if network.moved != before else stuck + 1
        if stuck > len(waiting) > 0:
            raise InvariantError("ranks wait for messages that nobody sends")
    return Simulated(max(network.ready), network.messages, network.bytes, network.sums)


class _Network:
    """Clocks of the ranks, and what is under way between them."""

    def __init__(self, ranks: int, latency: float, bandwidth: float) -> None:
        self.ranks, self.latency, self.bandwidth = ranks, latency, bandwidth
        self.ready = [0.0] * ranks
        self.under_way: dict[tuple[int, int], deque[float]] = defaultdict(deque)
        self.joined: dict[int, list[float]] = defaultdict(list)
        self.messages = self.bytes = self.sums = self.moved = 0

    def rank(self, rank: int, steps: RankSteps) -> Iterator[bool]:
        """What one rank does; gives something whenever it waits."""
        summed, now = 0, 0.0
        for step in _flat(steps):
            if isinstance(step, RankWork):
                now += step.seconds
            elif isinstance(step, RankMessages):
                now = done = self._send(rank, now, step)
                for other in step.come:
                    queue = self.under_way[rank + other, rank]
                    while not queue:
                        yield True
                    done = max(done, queue.popleft())
                now = done
            else:
                self.joined[summed].append(now)
                self.sums = max(self.sums, summed + 1)
                self.moved += 1
                while len(self.joined[summed]) < self.ranks:
                    yield True
                now = max(self.joined[summed]) + self._rounds() * (self.latency + step.bytes / self.bandwidth)
                summed += 1
            self.moved += 1
        self.ready[rank] = now

    def _send(self, rank: int, now: float, step: RankMessages) -> float:
        """When the last message has left."""
        for other, size in step.out:
            now += size / self.bandwidth
            self.under_way[rank, rank + other].append(now + self.latency)
            self.messages, self.bytes, self.moved = self.messages + 1, self.bytes + size, self.moved + 1
        return now

    def _rounds(self) -> int:
        return ceil(log2(self.ranks)) if self.ranks > 1 else 0


def _flat(steps: RankSteps) -> Iterator[RankWork | RankMessages | RankSum]:
    for step in steps:
        if isinstance(step, RankLoop):
            for _ in range(step.trips):
                yield from _flat(step.steps)
        else:
            yield step
