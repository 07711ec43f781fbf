"""Repeated measurements as one number: the median, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median
from typing import Any

from npbench_suite.harness.job import Run

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Timing:
    """A median over ``repeats`` calls, and an interval that holds the true median with ``confidence``."""

    seconds: float
    threads: int
    competitor: str
    low: float
    high: float
    repeats: int
    confidence: float

    @classmethod
    def of(cls, run: Run, name: str) -> Timing:
        times = run.times[name]
        return cls(median(times), run.threads, run.competitor, *interval(times))

    @classmethod
    def from_dict(cls, values: dict[str, Any] | None) -> Timing | None:
        return None if values is None else cls(**values)


def interval(times: Sequence[float]) -> tuple[float, float, int, float]:
    """Lower and upper end, number of calls and confidence.

    The k-th smallest and the k-th largest call enclose the median unless fewer than k calls fall on one side of it,
    whatever the distribution. The largest k that leaves 95 % is taken; with fewer than six calls it is the whole range,
    and the confidence is smaller.
    """
    ordered, n = sorted(times), len(times)
    k = 1
    while coverage(n, k + 1) >= CONFIDENCE:
        k += 1
    return ordered[k - 1], ordered[n - k], n, coverage(n, k)


def coverage(n: int, k: int) -> float:
    """The chance that the median lies between the k-th smallest and the k-th largest of n calls."""
    return max(0.0, 1 - 2 * sum(comb(n, i) for i in range(k)) / 2**n)


def best(runs: Iterable[Run], competitors: Iterable[str], name: str) -> Timing | None:
    """The smallest median of ``name`` over the competitors and numbers of threads; wrong results do not count."""
    wanted = set(competitors)
    found = [Timing.of(run, name) for run in runs
             if run.competitor in wanted and run.status != "mismatch" and run.times.get(name)]
    return min(found, key=lambda timing: timing.seconds, default=None)


def ratio(above: Timing | None, below: Timing | None) -> float | None:
    return above.seconds / below.seconds if above and below and below.seconds > 0 else None
