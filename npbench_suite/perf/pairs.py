"""sdfgad's gradient beside the hand-written one, and beside its own forward program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

import sdfgad
from npbench_suite.harness.measure_sdfgad import named
from npbench_suite.perf.interleave import Call, Ratio, interleaved
from npbench_suite.perf.subjects import SUBJECTS, Sizes, Subject
from npbench_suite.perf.task import Found, Task

LIMIT = 1e-10
"""Largest difference of an entry, over the largest entry of its array, between both gradients."""
Gradient = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Timed:
    """At one number of threads: medians in seconds, and medians of pairwise ratios."""

    threads: int
    sdfgad: float
    hand: float
    forward: float
    ratio: Ratio
    over_forward: Ratio


@dataclass(frozen=True)
class Comparison:
    """One program. sizes: as text; peak_bytes: what the gradient's arrays take; speedup, hand_speedup: the time with
    one thread over that with all of them; error: see `LIMIT`."""

    name: str
    sizes: str
    peak_bytes: int
    error: float
    timed: tuple[Timed, ...]
    speedup: Ratio | None
    hand_speedup: Ratio | None

    @classmethod
    def from_dict(cls, values: Found) -> Comparison:
        """What `asdict` made."""
        timed = tuple(Timed(**{**t, **{n: Ratio(**t[n]) for n in ("ratio", "over_forward")}}) for t in values["timed"])
        speedups = {n: None if values[n] is None else Ratio(**values[n]) for n in ("speedup", "hand_speedup")}
        return cls(**{**values, "timed": timed, **speedups})

    @property
    def equal(self) -> bool:
        """Whether both gradients are the same but for rounding."""
        return self.error <= LIMIT


def names() -> list[str]:
    """The programs of this part."""
    return list(SUBJECTS)


def measure(task: Task) -> Found:
    """The comparison of a program at its measured size."""
    subject = SUBJECTS[task.name]
    return asdict(compare(subject, subject.sizes, task))


def compare(subject: Subject, sizes: Sizes, task: Task) -> Comparison:
    """Both gradients and the forward program in turn, with every number of threads."""
    arguments = subject.arguments(sizes)
    gradient, adjoint = gradient_of(subject, arguments), subject.adjoint(arguments)
    error = max(difference(gradient, adjoint, subject, count) for count in task.threads)
    forward = sdfgad.forward(subject.kernel.program, output=subject.kernel.output)
    calls = {("sdfgad", n): Call(gradient, n) for n in task.threads}
    calls |= {("hand", n): Call(lambda n=n: adjoint(n)) for n in task.threads}
    calls |= {("forward", n): Call(lambda: forward(*arguments.values()), n) for n in task.threads}
    # What is compared comes one after the other.
    calls = {key: calls[key] for n in task.threads for key in calls if key[1] == n}
    times = interleaved(calls, task.rounds, task.seconds)
    peak = planned_bytes(subject, arguments)
    return Comparison(subject.name, described(sizes, subject), peak, error, tuple(_timed(times, task)),
                      _speedup(times, "sdfgad", task), _speedup(times, "hand", task))


def _timed(times: Mapping[tuple[str, int], list[float]], task: Task) -> Iterator[Timed]:
    for n in task.threads:
        ours, hand, forward = (times[name, n] for name in ("sdfgad", "hand", "forward"))
        yield Timed(n, median(ours), median(hand), median(forward), Ratio.of(ours, hand), Ratio.of(ours, forward))


def _speedup(times: Mapping[tuple[str, int], list[float]], name: str, task: Task) -> Ratio | None:
    most = max(task.threads)
    return Ratio.of(times[name, 1], times[name, most]) if 1 in task.threads and most > 1 else None


def gradient_of(subject: Subject, arguments: Mapping[str, Any]) -> Callable[[], Any]:
    """sdfgad's gradient at these arguments; of a weighted output the pullback alone."""
    kernel, weights = subject.kernel, subject.cotangent(arguments)
    if weights is not None:
        _, pullback = sdfgad.vjp(kernel.program, *arguments.values(), wrt=kernel.wrt, output=kernel.output)
        return lambda: pullback(weights)
    gradient = sdfgad.grad(kernel.program, wrt=kernel.wrt, output=kernel.output, reduce="sum")
    return lambda: gradient(*arguments.values())


def planned_bytes(subject: Subject, arguments: Mapping[str, Any]) -> int:
    """Bytes of all arrays at the peak of the gradient of the plain sum."""
    kernel = subject.kernel
    plan = sdfgad.plan(kernel.program, *arguments.values(), wrt=kernel.wrt, output=kernel.output, reduce="sum")
    return int(plan.predicted.peak_bytes)


def difference(gradient: Callable[[], Any], adjoint: Callable[[int], Gradient], subject: Subject,
               threads: int) -> float:
    """See `LIMIT`; infinite when an entry is no number."""
    with sdfgad.config(num_threads=threads):
        ours = named(gradient(), subject.kernel.wrt)
    return max(relative(ours[name], array) for name, array in adjoint(threads).items())


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference over the largest entry."""
    if a.shape != b.shape or not (np.all(np.isfinite(a)) and np.all(np.isfinite(b))):
        return float("inf")
    apart, largest = float(np.max(np.abs(a - b), initial=0.0)), float(np.max(np.abs(b), initial=0.0))
    return apart / largest if largest else apart


def described(sizes: Sizes, subject: Subject) -> str:
    """Sizes, and what else is not as the suite has it."""
    words = [f"{name} {value}" for name, value in {**sizes, **subject.changed}.items()]
    return ", ".join([*words, "random weights"] if subject.weighted else words)
