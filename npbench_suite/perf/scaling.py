"""How the time of a gradient grows: with the points, from the caches to memory, and with the steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import median
from types import MappingProxyType
from typing import Any

from npbench_suite.perf.interleave import Call, Ratio, interleaved
from npbench_suite.perf.pairs import gradient_of
from npbench_suite.perf.subjects import SUBJECTS, Subject
from npbench_suite.perf.task import Found, Task
from npbench_suite.perf.traffic import last_cache_bytes

# Program -> its argument that counts steps, its value in the first table, and one for four times as many sweeps.
STEPS: Mapping[str, tuple[str, int, int]] = MappingProxyType({
    "jacobi_2d": ("TSTEPS", 11, 41), "burgers_2d": ("steps", 10, 40)})
SHARES = (1 / 64, 1 / 16, 1 / 4, 1, 2, 4, 8)
"""Of the last cache, that the arrays take which the sweeps touch."""
QUICK_SHARES = (1 / 64, 1 / 4, 1)
STEP_SHARES = (1 / 64, 2)


@dataclass(frozen=True)
class Size:
    """points, bytes of the arrays that the sweeps touch, sweeps; and seconds."""

    points: int
    footprint: int
    sweeps: int
    threads: int
    seconds: float

    @property
    def per_point(self) -> float:
        """Seconds per point and sweep."""
        return self.seconds / self.points / self.sweeps


@dataclass(frozen=True)
class Steps:
    """The time per sweep with four times as many sweeps, over that with `sweeps`."""

    points: int
    sweeps: int
    footprint: int
    more_footprint: int
    threads: int
    ratio: Ratio


def names() -> list[str]:
    """The programs of this part."""
    return list(STEPS)


def measure(task: Task) -> Found:
    """Both tables of a program."""
    subject, cache = SUBJECTS[task.name], last_cache_bytes()
    shares, step_shares = (QUICK_SHARES, STEP_SHARES[:1]) if task.quick else (SHARES, STEP_SHARES)
    sizes = [size for share in shares for size in by_size(subject, int(share * cache), task)]
    steps = [one for share in step_shares for one in by_steps(subject, int(share * cache), task)]
    return {"cache": cache, "sizes": [asdict(size) for size in sizes], "steps": [asdict(one) for one in steps]}


def by_size(subject: Subject, touched: int, task: Task) -> list[Size]:
    """The time at a size, for every number of threads."""
    few, _ = STEPS[subject.name][1:]
    arguments = sized(subject, touched, few)
    gradient = gradient_of(subject, arguments)
    times = interleaved({n: Call(gradient, n) for n in task.threads}, task.rounds, task.seconds / 4)
    points, sweeps = subject.streams.points(arguments), subject.streams.steps(arguments)
    footprint = subject.streams.footprint(arguments)
    return [Size(points, footprint, sweeps, n, median(times[n])) for n in task.threads]


def by_steps(subject: Subject, touched: int, task: Task) -> list[Steps]:
    """The ratio of the times per sweep at a size, for every number of threads."""
    few, many = (sized(subject, touched, steps) for steps in STEPS[subject.name][1:])
    calls = {"few": gradient_of(subject, few), "many": gradient_of(subject, many)}
    timed = {(name, n): Call(call, n) for n in task.threads for name, call in calls.items()}
    times = interleaved(timed, task.rounds, task.seconds / 2)
    sweeps, more = subject.streams.steps(few), subject.streams.steps(many)
    both = subject.streams.footprint(few), subject.streams.footprint(many)
    return [Steps(subject.streams.points(few), sweeps, *both, n,
                  Ratio.of([t / more for t in times["many", n]], [t / sweeps for t in times["few", n]]))
            for n in task.threads]


def sized(subject: Subject, touched: int, steps: int) -> dict[str, Any]:
    """Arguments with so many steps, of a size at which the steps of the first table touch about so many bytes."""
    name, few, _ = STEPS[subject.name]
    assert subject.large is not None
    one = subject.arguments({**subject.large(64), name: few})
    points = touched * subject.streams.points(one) // subject.streams.footprint(one)
    return subject.arguments({**subject.large(points), name: steps})


def read(values: Found) -> tuple[list[Size], list[Steps]]:
    """The rows of a task."""
    steps = [Steps(**{**one, "ratio": Ratio(**one["ratio"])}) for one in values["steps"]]
    return [Size(**size) for size in values["sizes"]], steps
