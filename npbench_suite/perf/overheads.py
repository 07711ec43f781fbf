"""What a call, an import and the start of a process cost before anything is computed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np

import sdfgad
from npbench_suite.perf.interleave import Call, interleaved
from npbench_suite.perf.task import Found, Task, complaint

SMALL = 8
FIRST_CALL = ("-m", "npbench_suite.perf.first_call")
IMPORTS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "the interpreter alone": ("-c", "pass"),
    "`import numpy`": ("-c", "import numpy"),
    "`import sdfgad`": ("-c", "import sdfgad"),
    "`import sdfgad` and the code generator": ("-c", "import sdfgad, sdfgad.codegen.cpu.lower"),
})


@dataclass(frozen=True)
class Cost:
    """Something, and its seconds; None when it did not work, with the reason in `note`."""

    what: str
    seconds: float | None
    note: str = ""


def squares(x: Any) -> Any:
    return np.sum(x * x)


def sums(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    return np.sum(a * b + c * d + e)


def names() -> list[str]:
    """The groups of figures."""
    return list(GROUPS)


def measure(task: Task) -> Found:
    """The figures of one group."""
    return {"rows": [asdict(cost) for cost in GROUPS[task.name](task)]}


def calls(task: Task) -> list[Cost]:
    """Calls on arrays of a few numbers."""
    x, several = np.ones(SMALL), [np.full(SMALL, float(k)) for k in range(5)]
    one, five = sdfgad.grad(squares), sdfgad.grad(sums)
    both, forward = sdfgad.value_and_grad(squares), sdfgad.forward(squares)
    timed = {"`grad`, one array": Call(lambda: one(x)), "`value_and_grad`, one array": Call(lambda: both(x)),
             "`grad`, five arrays": Call(lambda: five(*several)),
             "the function compiled, no gradient": Call(lambda: forward(x)),
             "the function in NumPy": Call(lambda: squares(x))}
    times = interleaved(timed, task.rounds, task.seconds)
    return [Cost(f"call: {name}", median(seconds)) for name, seconds in times.items()]


def imports(task: Task) -> list[Cost]:
    """Processes that only import."""
    timed = {name: Call(lambda command=command: _process(command)) for name, command in IMPORTS.items()}
    times = interleaved(timed, task.rounds, task.seconds)
    return [Cost(f"process: {name}", median(seconds)) for name, seconds in times.items()]


def starts(task: Task) -> list[Cost]:
    """Processes that make one gradient: compiled, then from the cache, then without a compiler on the machine."""
    with tempfile.TemporaryDirectory() as empty:
        _process(IMPORTS["`import sdfgad` and the code generator"])
        # Headers that all programs share are there already; the program is not.
        cold, _ = _first_call({"SDFGAD_CACHE_DIR": os.environ["SDFGAD_CACHE_DIR"]})
        warm = [_first_call({}) for _ in range(max(3, task.rounds))]
        bare = [_first_call({"PATH": empty, "CXX": ""}) for _ in range(max(3, task.rounds))]
    started = max(count for _, count in warm)
    return [Cost("process: first gradient, compiled", cold), _cost("process: first gradient, from the cache", warm,
                                                                  f"processes started: {started}"),
            _cost("process: the same, no compiler on the machine", bare, "")]


def _cost(what: str, runs: list[tuple[float | None, Any]], note: str) -> Cost:
    seconds = [one for one, _ in runs if one is not None]
    return Cost(what, median(seconds), note) if len(seconds) == len(runs) else Cost(what, None, str(runs[0][1]))


def _first_call(changed: Mapping[str, str]) -> tuple[float | None, Any]:
    """Seconds and number of processes started; None and the last line of its complaint when it failed."""
    began = perf_counter()
    done = subprocess.run([sys.executable, *FIRST_CALL], env={**_as_installed(), **changed}, capture_output=True,
                          text=True, check=False)
    seconds = perf_counter() - began
    if done.returncode:
        return None, complaint(done.stderr)
    return seconds, int(done.stdout)


def _process(command: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, *command], env=_as_installed(), check=True)


def _as_installed() -> dict[str, str]:
    """The environment in which Python keeps the byte code of what it imports, as an installed package has it from the
    start."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": os.path.join(os.environ["SDFGAD_CACHE_DIR"], "bytecode")}


GROUPS: Mapping[str, Callable[[Task], list[Cost]]] = MappingProxyType({
    "calls": calls, "imports": imports, "starts": starts})


def read(values: Found) -> list[Cost]:
    """The rows of a task."""
    return [Cost(**row) for row in values["rows"]]
