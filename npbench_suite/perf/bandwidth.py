"""Programs that stream: the bytes they have to move, over what the machine can move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from npbench_suite.perf.interleave import Call, interleaved
from npbench_suite.perf.native import triad
from npbench_suite.perf.pairs import described, gradient_of
from npbench_suite.perf.subjects import SUBJECTS, Sizes, Subject, enlarged
from npbench_suite.perf.task import Found, Task
from npbench_suite.perf.traffic import last_cache_bytes

TRIAD_CACHES = 4
"""Each array of the triad is so many times as large as the last cache, as its rules ask."""


@dataclass(frozen=True)
class Stream:
    """A program at a size and a number of threads.

    footprint: bytes of all arrays that its sweeps need; moved: bytes that cannot stay in the cache, 0 when all of them
    can; triad: bytes per second of the best of the triads between its calls.
    """

    sizes: str
    threads: int
    footprint: int
    moved: int
    sdfgad: float
    hand: float
    triad: float

    @property
    def fraction(self) -> float:
        """Of the machine's bandwidth, by sdfgad's gradient."""
        return self.moved / self.sdfgad / self.triad

    @property
    def hand_fraction(self) -> float:
        """The same for the hand-written one."""
        return self.moved / self.hand / self.triad


def names() -> list[str]:
    """The programs of this part."""
    return [name for name, subject in SUBJECTS.items() if subject.traffic is not None]


def measure(task: Task) -> Found:
    """At the size of the comparison, and at one beyond the caches."""
    subject = SUBJECTS[task.name]
    cache = last_cache_bytes()
    sizes = [subject.sizes] if task.quick else [subject.sizes, enlarged(subject, cache)]
    rows = [row for one in sizes if one is not None for row in streams(subject, one, cache, task)]
    return {"cache": cache, "rows": [asdict(row) for row in rows]}


def streams(subject: Subject, sizes: Sizes, cache: int, task: Task) -> list[Stream]:
    """Both gradients and triads in turn, for every number of threads."""
    traffic, arguments = subject.streams, subject.arguments(sizes)
    gradient, adjoint = gradient_of(subject, arguments), subject.adjoint(arguments)
    elements = TRIAD_CACHES * cache // 8
    found = []
    for n in task.threads:
        rates: list[float] = []
        calls = {"sdfgad": Call(gradient, n), "hand": Call(lambda n=n: adjoint(n)),
                 "triad": Call(lambda n=n, rates=rates: rates.append(triad(elements, n)))}
        times = interleaved(calls, task.rounds, task.seconds / 2)
        ours, hand = median(times["sdfgad"]), median(times["hand"])
        found.append(Stream(described(sizes, subject), n, traffic.footprint(arguments),
                            traffic.moved(arguments, cache), ours, hand, max(rates)))
    return found


def read(values: Found) -> list[Stream]:
    """The rows of a task."""
    rows: list[Mapping[str, Any]] = values["rows"]
    return [Stream(**row) for row in rows]
