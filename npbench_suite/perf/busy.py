"""Gradients beside another job: a second program that computes gradients all the time, in a session of its own.

A scheduler may weigh sessions as groups, so that only a job in another one takes a core away for long.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import Any

import sdfgad
from npbench_suite import kernel as npbench
from npbench_suite.kernel import Kernel
from npbench_suite.perf.busy_programs import OTHERS
from npbench_suite.perf.interleave import Ratio
from npbench_suite.perf.task import Found, Task

LOAD = ("-m", "npbench_suite.perf.load")
CALLS, QUICK_CALLS = 100, 20
IN_TURN = 5
"""Calls with one number of threads before it is the turn of the other one."""
MOST, SLOWEST = 1.3, 5.0
"""What all threads may take beside another job, over one thread beside it: as a median, and a single call."""
Call = Callable[[], Any]


@dataclass(frozen=True)
class Beside:
    """A gradient beside another job. alone, shared: medians of the seconds with one thread and with all; slowest: of
    the calls with all threads, over `alone`; slowest_alone: the same of those with one."""

    threads: int
    alone: float
    shared: float
    ratio: Ratio
    slowest: float
    slowest_alone: float

    @property
    def good(self) -> bool:
        """Whether threads do no harm."""
        return self.ratio.median <= MOST and self.slowest <= max(SLOWEST, self.slowest_alone)


def names() -> list[str]:
    """Programs with a gradient: NPBench's, then those of `busy_programs`."""
    return [n for n in npbench.names() if npbench.load(n).gradient != "none"] + list(OTHERS)


def measure(task: Task) -> Found:
    """One program beside the load."""
    call, most = gradient_of(task), max(task.threads)
    for threads in (1, most):
        with_threads(call, threads, 1)
    with load():
        times = taken(call, (1, most), QUICK_CALLS if task.quick else CALLS, task.seconds)
    return asdict(beside(most, times[1], times[most]))


def gradient_of(task: Task) -> Call:
    """The gradient of a program, at preset M, or S where it has to be quick."""
    if task.name in OTHERS:
        other = OTHERS[task.name]
        gradient, values = sdfgad.grad(other.program, wrt=other.wrt), other.arguments()
        return lambda: gradient(*values)
    kernel: Kernel = npbench.load(task.name)
    arguments = kernel.initialize(**kernel.sizes("S" if task.quick else "M"))
    of_kernel = sdfgad.grad(kernel.program, wrt=kernel.wrt, output=kernel.output, reduce="sum")
    return lambda: of_kernel(**arguments)


def with_threads(call: Call, threads: int, count: int) -> list[float]:
    """Seconds of so many calls."""
    seconds = []
    with sdfgad.config(num_threads=threads):
        for _ in range(count):
            began = perf_counter()
            call()
            seconds.append(perf_counter() - began)
    return seconds


def taken(call: Call, threads: tuple[int, ...], count: int, budget: float) -> Mapping[int, list[float]]:
    """Seconds of calls with each number of threads, a few of each in turn, within the budget."""
    found: dict[int, list[float]] = {n: [] for n in threads}
    began = perf_counter()
    for _ in range(0, count, IN_TURN):
        for n in threads:
            found[n] += with_threads(call, n, IN_TURN)
        if perf_counter() - began > budget:
            break
    return found


def beside(threads: int, alone: list[float], shared: list[float]) -> Beside:
    """Both series compared."""
    usual = median(alone)
    return Beside(threads, usual, median(shared), Ratio.of(shared, alone), max(shared) / usual, max(alone) / usual)


@contextmanager
def load() -> Iterator[None]:
    """Another program in a session of its own, from its first gradient until the end."""
    free = {n: v for n, v in os.environ.items() if not n.endswith("_NUM_THREADS")}
    process = subprocess.Popen([sys.executable, *LOAD], env=free, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        assert process.stdout is not None and process.stdout.readline()
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def read(values: Found) -> Beside:
    """What `asdict` made."""
    return Beside(**{**values, "ratio": Ratio(**values["ratio"])})
