"""When arrays hold something that is still looked at: two textbook data-flow analyses over a tree of steps.

At a step an array is in use when the step touches it, or when an earlier step may have written it and a later one may
read it before it is wholly replaced (reaching writes and live variables; Aho, Lam, Sethi, Ullman, "Compilers", 9.2).
What an array holds before the first write of a call is undefined in every program, so nothing is lost then. Two arrays
that are in use at no common step may lie in the same bytes.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
    """steps: in program order. used: the arrays in use at each of them."""

    steps: tuple[Step, ...]
    used: tuple[frozenset[str], ...]

    @cached_property
    def moments(self) -> Mapping[str, int]:
        """For each array the steps at which it is in use, as the bits of a number."""
        found: dict[str, int] = {}
        since: dict[str, int] = {}
        before = NOTHING
        for k, names in enumerate((*self.used, NOTHING)):
            since.update(dict.fromkeys(names - before, k))
            for name in before - names:
                found[name] = found.get(name, 0) | (1 << k) - (1 << since[name])
            before = names
        return found

    def fullest(self, sizes: Mapping[str, int], steps: Sequence[int] | None = None) -> frozenset[str]:
        """The arrays in use at the step, of those given or of all, at which these take most bytes."""
        chosen = [self.used[k].intersection(sizes) for k in (range(len(self.used)) if steps is None else steps)]
        return max(chosen, key=lambda names: sum(sizes[n] for n in names), default=NOTHING)


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
    flow = _LivenessFlow({id(step): k for k, step in enumerate(steps)}, [NOTHING] * len(steps), [NOTHING] * len(steps))
    flow.backward(program, NOTHING)
    flow.forward(program, NOTHING)
    held = (later & written for later, written in zip(flow.later, flow.written, strict=True))
    return Lifetimes(steps, tuple(step.touches | names for step, names in zip(steps, held, strict=True)))


def _in_order(program: Steps) -> Iterator[Step]:
    for node in program:
        if isinstance(node, Step):
            yield node
        else:
            for part in (node.parts if isinstance(node, Either) else (node.body,)):
                yield from _in_order(part)


@dataclass
class _LivenessFlow:
    """later: what may be read after each step before it is replaced. written: what may have been written before it."""

    place: Mapping[int, int]
    later: list[frozenset[str]]
    written: list[frozenset[str]]

    def backward(self, steps: Steps, live: frozenset[str]) -> frozenset[str]:
        """From what is looked at after the steps to what is looked at before them."""
        for node in reversed(steps):
            if isinstance(node, Step):
                self.later[self.place[id(node)]] = live
                live = (live - node.fills) | node.reads
            elif isinstance(node, Either):
                live = NOTHING.union(*(self.backward(part, live) for part in node.parts))
            else:
                entry = self.backward(node.body, live)
                while not (found := self.backward(node.body, live | entry)) <= entry:
                    entry |= found
                live = entry if node.sure else entry | live
        return live

    def forward(self, steps: Steps, written: frozenset[str]) -> frozenset[str]:
        """From what may have been written before the steps to what may have been after them."""
        for node in steps:
            if isinstance(node, Step):
                self.written[self.place[id(node)]] = written
                written |= node.writes
            elif isinstance(node, Either):
                written = NOTHING.union(*(self.forward(part, written) for part in node.parts))
            else:
                while not (found := self.forward(node.body, written)) <= written:
                    written |= found
        return written
