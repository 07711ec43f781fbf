"""From the source of a program to the library of its gradient, with nothing in the cache but the common headers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import import_module
from time import perf_counter

import sdfgad
from npbench_suite.harness.case import wanted
from npbench_suite.kernel import load
from npbench_suite.kernel import names as all_names
from npbench_suite.perf.task import Found, Task
from sdfgad.calls.arguments import bind
from sdfgad.verbs.pipeline import Request, derive

PRESET = "S"
QUICK = ("jacobi_2d", "gemm", "lu", "nbody")


@dataclass(frozen=True)
class Compiled:
    """A program. seconds: to read, differentiate and plan it (`derive`), to generate code and compile it (`build`);
    refused: the code of the error of a program that is not taken."""

    derive: float = 0.0
    build: float = 0.0
    refused: str = ""

    @property
    def total(self) -> float:
        """From source to library."""
        return self.derive + self.build


def names() -> list[str]:
    """The programs of this part."""
    return [name for name in all_names() if load(name).gradient != "none"]


def measure(task: Task) -> Found:
    """The times of a program."""
    kernel = load(task.name)
    arguments = kernel.initialize(**kernel.sizes(PRESET))
    # What is imported takes as long for every program: the code generator with dace, which is stated on its own, and
    # the passes.
    import_module("sdfgad.codegen.cpu.lower")
    sdfgad.plan(_smallest, 1.0)
    began = perf_counter()
    try:
        made = derive(kernel.program, bind(kernel.program, tuple(arguments.values()), {}),
                      Request(wanted(kernel), kernel.output, "sum"))
    except sdfgad.UnsupportedError as error:
        return asdict(Compiled(refused=error.code))
    derived = perf_counter()
    made.compiled()
    return asdict(Compiled(derived - began, perf_counter() - derived))


def _smallest(x: float) -> float:
    return x * x


def read(values: Found) -> Compiled:
    """What a task found."""
    return Compiled(**values)
