"""A gradient program as a plan makes it."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sdfgad.analysis.cost import seconds_of
from sdfgad.analysis.lifetimes import Held
from sdfgad.checkpoint.modes import Mode
from sdfgad.checkpoint.problem import Problem
from sdfgad.checkpoint.roofline import Machine
from sdfgad.ir.program import Program
from sdfgad.reverse.made import Gradient


@dataclass(frozen=True)
class Finished:
    """A gradient program after the last pass, the problem it answers, and what it holds."""

    program: Program
    problem: Problem
    held: Held


@dataclass(frozen=True)
class Emission:
    """A gradient program as the sweeps give it, and what it keeps. finish: does what is left to do."""

    made: Gradient
    modes: Mapping[str, Mode]
    finish: Callable[[Gradient], Finished] = field(repr=False)

    @cached_property
    def finished(self) -> Finished:
        return self.finish(self.made)

    @property
    def whole(self) -> Program:
        return self.finished.program

    @property
    def problem(self) -> Problem:
        return self.finished.problem

    @property
    def recomputed(self) -> frozenset[str]:
        return frozenset(k.name for k in self.made.kept if k.again)

    @property
    def undone(self) -> frozenset[str]:
        return frozenset(k.name for k in self.made.kept if k.undone)

    @property
    def stored(self) -> frozenset[str]:
        return frozenset(i.name for i in self.problem.items) - self.recomputed - self.undone

    @cached_property
    def peak(self) -> int:
        """Bytes of all arrays; growable tapes are not in it."""
        return self.problem.peak_bytes(i.name for i in self.problem.items if i.name in self.stored)

    def seconds(self, machine: Machine) -> float:
        """Estimated time of one run."""
        return seconds_of(self.whole.body, self.whole.arrays, machine.seconds)
