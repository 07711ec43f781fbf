"""The ten programs, how their hand-written adjoints are called, and at which sizes they are measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from types import MappingProxyType
from typing import Any

import numpy as np

from npbench_suite.harness.burgers import burgers
from npbench_suite.kernel import Kernel, load
from npbench_suite.perf.native import Adjoint, Interface
from npbench_suite.perf.traffic import Traffic

SEED = "cotangent"
"""The array that holds the output's cotangent, where it is not 1 everywhere."""
BEYOND = 4
Sizes = Mapping[str, Any]


@dataclass(frozen=True)
class Subject:
    """A program with a hand-written adjoint.

    sizes: for `Kernel.initialize`, when measured; small: when checked, or measured quickly. changed: arguments with
    another value than the preset's, where that leaves too few digits to compare. weighted: the output's cotangent is an
    array of random weights: with ones, the gradient of a sum of a product needs no product. large: sizes with so many
    points, for programs that stream. idea: what the hand-written adjoint makes of the program.
    """

    name: str
    kernel: Kernel
    interface: Interface
    sizes: Sizes
    small: Sizes
    idea: str
    changed: Mapping[str, Any] = field(default_factory=dict)
    weighted: bool = False
    traffic: Traffic | None = None
    large: Callable[[int], Sizes] | None = None

    @property
    def streams(self) -> Traffic:
        """What a program that streams has to move."""
        assert self.traffic is not None
        return self.traffic

    def arguments(self, sizes: Sizes) -> dict[str, Any]:
        """The program's arguments by name."""
        return {**self.kernel.initialize(**sizes), **self.changed}

    def cotangent(self, arguments: Mapping[str, Any]) -> np.ndarray | None:
        """Random weights of the output, for a subject that is weighted."""
        if not self.weighted:
            return None
        return np.random.default_rng(7).random(arguments[self.kernel.output].shape) + 0.5

    def adjoint(self, arguments: Mapping[str, Any]) -> Adjoint:
        """The hand-written gradient at these arguments."""
        return Adjoint(self.name, self.interface, {**arguments, SEED: self.cotangent(arguments)}, self.kernel.wrt)


def _edge(points: int, dimensions: int = 2) -> int:
    return max(8, ceil(points ** (1 / dimensions)))


def _burgers_fields(steps: int, points: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"u": rng.random((points, points)), "v": rng.random((points, points)), "steps": steps}


BURGERS = Kernel("burgers_2d", burgers, _burgers_fields, lambda rng, size: _burgers_fields(2 + size, 6 + size),
                 ("u", "v"))
_SQUARE = (("A", 0), ("A", 1))

SUBJECTS: Mapping[str, Subject] = MappingProxyType({subject.name: subject for subject in (
    Subject(
        "jacobi_2d", load("jacobi_2d"), Interface(("TSTEPS", *_SQUARE)), load("jacobi_2d").sizes("M"),
        {"TSTEPS": 4, "N": 11}, "one pass per half step, no special points: a border of zeros",
        traffic=Traffic(lambda a: 2 * (a["TSTEPS"] - 1), lambda a: a["A"].size, sweep=2, live=2),
        large=lambda points: {"TSTEPS": 11, "N": _edge(points)}),
    Subject(
        "seidel_2d", load("seidel_2d"), Interface(("TSTEPS", "N")), load("seidel_2d").sizes("L"),
        {"TSTEPS": 9, "N": 14}, "four rows of different sweeps at a time, which hides the latency of the recurrence",
        traffic=Traffic(lambda a: a["TSTEPS"] - 1, lambda a: a["A"].size, sweep=2, live=1),
        large=lambda points: {"TSTEPS": 4, "N": _edge(points)}),
    Subject(
        "gemm", load("gemm"), Interface((("C", 0), ("C", 1), ("A", 1)), ("alpha", "beta"), (SEED, "A", "B")),
        load("gemm").sizes("S"), {"NI": 270, "NJ": 41, "NK": 23},
        "two products, packed and blocked for registers and caches", weighted=True),
    Subject(
        "burgers_2d", BURGERS, Interface(("steps", ("u", 0), ("u", 1)), (), ("u", "v")),
        {"steps": 100, "points": 256}, {"steps": 3, "points": 9},
        "the forward sweep runs in the tape; one gathering pass per step back",
        traffic=Traffic(lambda a: a["steps"], lambda a: a["u"].size, sweep=6, live=6, tape=4, kept=2),
        large=lambda points: {"steps": 5, "points": _edge(points)}),
    Subject(
        "nbody", load("nbody"),
        Interface(("N", "Nt"), ("dt", "G", "softening"), ("mass", "pos", "vel")),
        {"N": 100, "tEnd": 0.5, "dt": 0.02, "softening": 0.1, "G": 1.0},
        {"N": 7, "tEnd": 0.06, "dt": 0.02, "softening": 0.1, "G": 1.0},
        "pairs once, with both inverse distances on the tape; sums per thread instead of matrices"),
    Subject(
        "heat_3d", load("heat_3d"), Interface(("TSTEPS", *_SQUARE, ("A", 2))), load("heat_3d").sizes("M"),
        {"TSTEPS": 4, "N": 7}, "as jacobi_2d, a plane as one long row",
        traffic=Traffic(lambda a: 2 * (a["TSTEPS"] - 1), lambda a: a["A"].size, sweep=2, live=2),
        large=lambda points: {"TSTEPS": 11, "N": _edge(points, 3)}),
    Subject(
        "cavity_flow", load("cavity_flow"),
        Interface(("nx", "ny", "nt", "nit"), ("dt", "dx", "dy", "rho", "nu"), ("u", "v", "p")),
        load("cavity_flow").sizes("M"), {**load("cavity_flow").sizes("S"), "ny": 12, "nx": 9, "nt": 3, "nit": 4},
        "only velocities on the tape; boundary conditions of the pressure are a mirrored border",
        traffic=Traffic(lambda a: a["nt"], lambda a: a["u"].size, sweep=lambda a: 18 + 7 * a["nit"], live=11, tape=4,
                        kept=2),
        large=lambda points: {**load("cavity_flow").sizes("M"), "ny": _edge(points), "nx": _edge(points), "nt": 3}),
    Subject(
        "vadv", load("vadv"),
        Interface((("u_pos", 0), ("u_pos", 1), ("u_pos", 2)), ("dtr_stage",),
                  ("utens_stage", "u_stage", "wcon", "u_pos", "utens")),
        load("vadv").sizes("M"), {"I": 5, "J": 19, "K": 6},
        "the adjoint of a solve is a solve with the same factors; columns side by side",
        changed={"dtr_stage": 2.5}, traffic=Traffic(lambda a: 1, lambda a: a["u_pos"].size, sweep=10, live=10)),
    Subject(
        "adi", load("adi"), Interface(("TSTEPS", "N")), {"TSTEPS": 5, "N": 400}, {"TSTEPS": 2, "N": 21},
        "coefficients do not depend on the data: computed once, nothing stored, nothing forward"),
    Subject(
        "lu", load("lu"), Interface((("A", 0),), (), ("A",)), load("lu").sizes("M"), {"N": 22},
        "four rows at a time in both sweeps"),
)})


def enlarged(subject: Subject, cache_bytes: int) -> Sizes | None:
    """Sizes at which what a sweep touches is `BEYOND` times as large as the last cache; None for one size only."""
    if subject.large is None:
        return None
    return subject.large(BEYOND * cache_bytes // (8 * subject.streams.live))
