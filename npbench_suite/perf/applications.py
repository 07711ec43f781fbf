"""Programs of application size: the gradient beside the forward program, and beside JAX where there is a port."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from typing import Any

import sdfgad
from npbench_suite import applications
from npbench_suite.applications.application import Application
from npbench_suite.perf.interleave import Call, Ratio, interleaved
from npbench_suite.perf.task import Found, Task

SHORT = 0.2
"""Of the seconds for one measurement: there are many programs, and most of the time goes into compiling them."""
Key = tuple[str, int]


@dataclass(frozen=True)
class Timed:
    """At one number of threads: medians in seconds, and medians of pairwise ratios; jax: its gradient, which is
    measured with one thread alone, None without."""

    threads: int
    forward: float
    gradient: float
    over_forward: Ratio
    jax: float | None
    under_jax: Ratio | None


@dataclass(frozen=True)
class Measured:
    """An application. size: its sizes as text; peak_bytes: what the gradient's arrays take."""

    size: str
    peak_bytes: int
    timed: tuple[Timed, ...]


def names() -> list[str]:
    """All applications."""
    return applications.names()


def measure(task: Task) -> Found:
    """One application at its usual size, or the tiny one where it has to be quick."""
    application = applications.load(task.name)
    size = "tiny" if task.quick else "usual"
    arguments = application.at(size)
    gradient = sdfgad.grad(application.program, wrt=application.wrt)
    forward = sdfgad.forward(application.program)
    calls: dict[Key, Call] = {}
    for n in task.threads:
        calls["forward", n] = Call(lambda: forward(*arguments.values()), n)
        calls["gradient", n] = Call(lambda: gradient(*arguments.values()), n)
    if application.ported and 1 in task.threads and find_spec("jax"):
        calls["jax", 1] = Call(jax_gradient(application, application.at(size)))
    times = interleaved(calls, task.rounds, SHORT * task.seconds)
    peak = int(gradient.plan(*arguments.values()).predicted.peak_bytes)
    sizes = ", ".join(f"{name} {value}" for name, value in application.sizes[size].items())
    return asdict(Measured(sizes, peak, tuple(timed(times, n) for n in task.threads)))


def timed(times: Mapping[Key, list[float]], threads: int) -> Timed:
    """What was found with so many threads."""
    forward, gradient, jax = times["forward", threads], times["gradient", threads], times.get(("jax", threads))
    return Timed(threads, median(forward), median(gradient), Ratio.of(gradient, forward),
                 median(jax) if jax else None, Ratio.of(jax, gradient) if jax else None)


def jax_gradient(application: Application, arguments: Mapping[str, Any]) -> Callable[[], Any]:
    """The jitted gradient of the port, its arguments on the device; a call waits for the result."""
    # JAX makes as many threads as there are cores when it starts, and keeps them there.
    with one_core():
        jax = import_module("jax")
        jax.config.update("jax_enable_x64", True)
        port = application.jax_port()
        given = {name: jax.numpy.asarray(a) for name, a in arguments.items() if name not in application.wrt}
        active = {name: jax.numpy.asarray(arguments[name]) for name in application.wrt}
        call = jax.jit(jax.grad(lambda active, given: port(**active, **given)))
        jax.block_until_ready(call(active, given))
    return lambda: jax.block_until_ready(call(active, given))


@contextmanager
def one_core() -> Iterator[None]:
    """This thread, and those that it starts, on one core of its own."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def read(values: Found) -> Measured:
    """What `asdict` made."""
    rows = tuple(Timed(**{**one, **{name: one[name] and Ratio(**one[name]) for name in ("over_forward", "under_jax")}})
                 for one in values["timed"])
    return Measured(**{**values, "timed": rows})
