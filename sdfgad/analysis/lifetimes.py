"""When arrays hold something that is still looked at: two textbook data-flow analyses over a tree of steps.

At a step an array is in use when the step touches it, or when an earlier step may have written it and a later one may
read it before it is wholly replaced (reaching writes and live variables; Aho, Lam, Sethi, Ullman, "Compilers", 9.2).
What an array holds before the first write of a call is undefined in every program, so nothing is lost then. Two arrays
that are in use at no common step may lie in the same bytes.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import or_
from typing import TypeAlias

NOTHING: frozenset[str] = frozenset()

GAPS = "between arrays"
"""What is left over where arrays share bytes: no place was free throughout, or lines have to be filled up."""


@dataclass(frozen=True)
class Step:
    """One computation. top: number of the item of the program that holds it. fills: arrays of which it surely replaces
    every element, whatever it reads."""

    top: int
    reads: frozenset[str] = NOTHING
    writes: frozenset[str] = NOTHING
    fills: frozenset[str] = NOTHING

    @property
    def touches(self) -> frozenset[str]:
        return self.reads | self.writes


@dataclass(frozen=True)
class Either:
    """One of the parts runs."""

    parts: tuple[Steps, ...]


@dataclass(frozen=True)
class Repeated:
    """The body runs any number of times; sure: at least once."""

    body: Steps
    sure: bool


Node: TypeAlias = Step | Either | Repeated
Steps: TypeAlias = tuple[Node, ...]


@dataclass(frozen=True)
class Lifetimes:
    """steps: in program order. moments: for each array that is ever in use the steps at which it is, as the bits of a
    number."""

    steps: tuple[Step, ...]
    moments: Mapping[str, int]

    def used(self, step: int) -> frozenset[str]:
        """The arrays in use at a step."""
        return frozenset(n for n, bits in self.moments.items() if bits >> step & 1)

    def taken(self, sizes: Mapping[str, int]) -> list[int]:
        """What the arrays of these sizes take together at each step."""
        change = [0] * (len(self.steps) + 1)
        for name, size in sizes.items():
            for first, behind in runs(self.moments.get(name, 0)):
                change[first] += size
                change[behind] -= size
        return list(accumulate(change[:-1]))

    def fullest(self, sizes: Mapping[str, int], steps: Sequence[int] | None = None) -> frozenset[str]:
        """The arrays in use at the step, of those given or of all, at which these take most bytes."""
        taken = self.taken(sizes)
        most = max(range(len(self.steps)) if steps is None else steps, key=taken.__getitem__, default=None)
        return NOTHING if most is None else self.used(most).intersection(sizes)


def copy_name(argument: str) -> str:
    """What the copy of an argument is called that a call makes."""
    return f"{argument} (copy)"


@dataclass(frozen=True)
class Held:
    """always: bytes held throughout a call, by name. own: bytes of the arrays that share one block while they are not
    in use at once; block: the bytes of that. lives: when they are in use."""

    always: Mapping[str, int]
    own: Mapping[str, int]
    block: int
    lives: Lifetimes

    def at_peak(self) -> dict[str, int]:
        """All of it: the own arrays in use where these need most."""
        fullest = {n: self.own[n] for n in sorted(self.lives.fullest(self.own))}
        left = self.block - sum(fullest.values())
        return {**self.always, **fullest, **({GAPS: left} if left else {})}


def lifetimes(program: Steps) -> Lifetimes:
    """When each array is in use."""
    steps = tuple(_in_order(program))
    names = _Names()
    flow = _LivenessFlow(names, {id(step): k for k, step in enumerate(steps)}, [0] * len(steps), [0] * len(steps))
    flow.backward(program, 0)
    flow.forward(program, 0)
    used = [names.bits(step.touches) | later & written
            for step, later, written in zip(steps, flow.later, flow.written, strict=True)]
    return Lifetimes(steps, names.moments(used))


def _in_order(program: Steps) -> Iterator[Step]:
    for node in program:
        if isinstance(node, Step):
            yield node
        else:
            for part in (node.parts if isinstance(node, Either) else (node.body,)):
                yield from _in_order(part)


def runs(bits: int) -> Iterator[tuple[int, int]]:
    """Where runs of ones in a number start, and the places behind them, from the lowest on."""
    done = 0
    while bits:
        first = done + (bits & -bits).bit_length() - 1
        bits >>= first - done
        length = (~bits & bits + 1).bit_length() - 1
        yield first, first + length
        bits >>= length
        done = first + length


class _Names:
    """Sets of names as the bits of numbers: as many of them as there are steps would be large."""

    def __init__(self) -> None:
        self._bit: dict[str, int] = {}

    def bits(self, names: Iterable[str]) -> int:
        found = 0
        for name in names:
            found |= self._bit.setdefault(name, 1 << len(self._bit))
        return found

    def moments(self, used: Sequence[int]) -> dict[str, int]:
        """For each name the places in a sequence of sets that hold it."""
        names = list(self._bit)
        found: dict[str, int] = {}
        since: dict[int, int] = {}
        before = 0
        for k, now in enumerate((*used, 0)):
            for number in (n for run in runs(before ^ now) for n in range(*run)):
                if now >> number & 1:
                    since[number] = k
                else:
                    found[names[number]] = found.get(names[number], 0) | (1 << k) - (1 << since[number])
            before = now
        return found


@dataclass
class _LivenessFlow:
    """later: what may be read after each step before it is replaced. written: what may have been written before it."""

    names: _Names
    place: Mapping[int, int]
    later: list[int]
    written: list[int]

    def backward(self, steps: Steps, live: int) -> int:
        """From what is looked at after the steps to what is looked at before them."""
        for node in reversed(steps):
            if isinstance(node, Step):
                self.later[self.place[id(node)]] = live
                live = live & ~self.names.bits(node.fills) | self.names.bits(node.reads)
            elif isinstance(node, Either):
                live = reduce(or_, [self.backward(part, live) for part in node.parts], 0)
            else:
                entry = self.backward(node.body, live)
                while (found := self.backward(node.body, live | entry)) & ~entry:
                    entry |= found
                live = entry if node.sure else entry | live
        return live

    def forward(self, steps: Steps, written: int) -> int:
        """From what may have been written before the steps to what may have been after them."""
        for node in steps:
            if isinstance(node, Step):
                self.written[self.place[id(node)]] = written
                written |= self.names.bits(node.writes)
            elif isinstance(node, Either):
                written = reduce(or_, [self.forward(part, written) for part in node.parts], 0)
            else:
                while (found := self.forward(node.body, written)) & ~written:
                    written |= found
        return written
