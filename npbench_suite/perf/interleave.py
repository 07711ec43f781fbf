"""Calls in turn: what else happens on the machine happens to all of them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import ceil
from statistics import median
from time import perf_counter, sleep
from typing import Any, TypeVar

import sdfgad
from npbench_suite.harness.timing import interval

Name = TypeVar("Name", bound=Hashable)
# A batch of short calls takes about this long, after a call that brings its data back into the caches.
BATCH_SECONDS = 5e-3
LONG_SECONDS = 0.1
REST_SECONDS = 20e-3
"""Before each batch: threads of another runtime (libgomp) spin for some milliseconds behind their last region, and who
comes next would share the cores with them."""


@dataclass(frozen=True)
class Call:
    """Something to time; `threads` are sdfgad's, when it is sdfgad that runs."""

    function: Callable[[], Any]
    threads: int | None = None

    def seconds(self, count: int) -> float:
        """Of one call, as the mean of `count`."""
        sleep(REST_SECONDS)
        with nullcontext() if self.threads is None else sdfgad.config(num_threads=self.threads):
            if count > 1:
                self.function()
            began = perf_counter()
            for _ in range(count):
                self.function()
            return (perf_counter() - began) / count


def interleaved(calls: Mapping[Name, Call], rounds: int, budget: float) -> dict[Name, list[float]]:
    """Seconds of each call, once per round, every other round in reverse; the budget ends it early, after one round."""
    counts = {name: _batch(call) for name, call in calls.items()}
    found: dict[Name, list[float]] = {name: [] for name in calls}
    gc.collect()
    gc.disable()
    began = perf_counter()
    try:
        for turn in range(rounds):
            for name in list(calls)[:: -1 if turn % 2 else 1]:
                found[name].append(calls[name].seconds(counts[name]))
            if perf_counter() - began > budget:
                break
    finally:
        gc.enable()
    return found


def _batch(call: Call) -> int:
    """How many calls make a batch; the first call of all compiles and does not count."""
    call.seconds(1)
    seconds = call.seconds(1)
    # Two for anything that is not long: the first one of a batch then warms the caches.
    return 1 if seconds > LONG_SECONDS else max(2, ceil(BATCH_SECONDS / max(seconds, 1e-7)))


@dataclass(frozen=True)
class Ratio:
    """The median of pairwise ratios, and an interval that holds the true median with `confidence`."""

    median: float
    low: float
    high: float
    pairs: int
    confidence: float

    @classmethod
    def of(cls, above: Sequence[float], below: Sequence[float]) -> Ratio:
        ratios = [a / b for a, b in zip(above, below, strict=True)]
        return cls(median(ratios), *interval(ratios))
