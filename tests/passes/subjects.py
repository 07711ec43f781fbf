"""The programs of the ledger: NPBench, applications, the correctness traps, and random ones by number."""
from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from npbench_suite import applications
from npbench_suite import kernel as npbench
from npbench_suite.harness.case import wanted
from sdfgad.calls.arguments import bind
from sdfgad.verbs.pipeline import Derivative, Request, derive
from tests.programs.examine import Task
from tests.programs.running import load, wrt_of
from tests.support.traps import TRAPS

NPBENCH, APPLICATIONS, HELD_OUT = "npbench", "applications", "random"
RANDOM_SIZES = (5, 48)
"""The same numbers at a few elements, where everything is unrolled, and where the usual thresholds let passes work."""


@dataclass(frozen=True)
class Subject:
    """A program of one group, by name. preset: of NPBench's."""

    group: str
    name: str
    preset: str = "M"

    @property
    def label(self) -> str:
        """For people."""
        return self.name if self.group in (NPBENCH, APPLICATIONS) else f"{self.group} {self.name}"

    def given(self) -> tuple[Callable[..., Any], tuple[Any, ...], Request]:
        """The function, arguments for it, and what to differentiate."""
        return _GIVEN[self.group](self)

    def derived(self) -> Derivative:
        """Its gradient, which is not compiled yet."""
        function, arguments, request = self.given()
        return derive(function, bind(function, arguments, {}), request)


def subjects(random: int) -> Iterator[Subject]:
    """All of them, with so many random programs."""
    yield from (Subject(NPBENCH, n) for n in npbench.names() if npbench.load(n).gradient != "none")
    yield from (Subject(APPLICATIONS, n) for n in applications.names())
    yield from (Subject("traps", n) for n in TRAPS)
    yield from (Subject(HELD_OUT, f"{seed}:{RANDOM_SIZES[seed % 2]}") for seed in range(random))


def _benchmark(subject: Subject) -> tuple[Callable[..., Any], tuple[Any, ...], Request]:
    kernel = npbench.load(subject.name)
    arguments = kernel.initialize(**kernel.sizes(subject.preset))
    return kernel.program, tuple(arguments.values()), Request(wanted(kernel), kernel.output, "sum")


def _application(subject: Subject) -> tuple[Callable[..., Any], tuple[Any, ...], Request]:
    found = applications.load(subject.name)
    return found.program, tuple(found.at("usual").values()), Request(found.wrt)


def _trap(subject: Subject) -> tuple[Callable[..., Any], tuple[Any, ...], Request]:
    trap = TRAPS[subject.name]
    return trap.program, (trap.x.copy(),), Request(("x",))


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where the texts of random programs lie for as long as somebody may read them."""
    return tempfile.TemporaryDirectory()


def _random(subject: Subject) -> tuple[Callable[..., Any], tuple[Any, ...], Request]:
    seed, size = map(int, subject.name.split(":"))
    task = Task(seed, size)
    function = load(task.text, Path(_folder().name), seed)
    arguments = task.arguments
    return function, tuple(arguments.values()), Request(wrt_of(arguments), None, "sum")


_GIVEN = {NPBENCH: _benchmark, APPLICATIONS: _application, "traps": _trap, HELD_OUT: _random}
