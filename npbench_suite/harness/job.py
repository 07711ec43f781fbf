"""What is asked of one subprocess, and what it brings back.

Only the standard library is imported here: the worker reads its job, pins its threads and then imports NumPy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

SUITE = "npbench_suite.kernel"

# Competitor -> the module that measures it, imported in the worker alone.
MEASURES: Mapping[str, str] = MappingProxyType({
    "numpy": "npbench_suite.harness.measure_numpy",
    "prepare": "npbench_suite.harness.prepare",
    "sdfgad": "npbench_suite.harness.measure_sdfgad",
    "jax:literal": "npbench_suite.harness.measure_jax",
    "jax:idiomatic": "npbench_suite.harness.measure_jax",
    "jax:matrix": "npbench_suite.harness.measure_jax",
    "dace": "npbench_suite.harness.measure_dace",
    "differences": "npbench_suite.harness.differences",
})


@dataclass(frozen=True)
class Job:
    """One kernel, one competitor, one number of threads.

    ``suite`` names the module whose ``load`` gives the kernel. Gradients to be compared later go to ``gradients``
    (an .npz file) when it is not empty; those of a port that is to be the ``reference`` are of both objectives and in
    double precision, at arguments ``nudged`` by a rounding error where that is asked. ``budget`` bounds the seconds
    spent on the repetitions of one measurement, ``rival`` is the time of a competitor: what takes many times as long is
    repeated less often.
    """

    kernel: str
    competitor: str
    threads: int
    preset: str
    repeat: int
    folder: str
    suite: str = SUITE
    cache: str = ""
    budget: float = 30.0
    rival: float = 0.0
    memory_limit: str | None = None
    gradients: str = ""
    reference: bool = False
    nudged: bool = False

    @property
    def result_file(self) -> Path:
        return Path(self.folder) / f"{self.label}.json"

    @property
    def label(self) -> str:
        return f"{self.kernel}-{self.competitor.replace(':', '-')}-{self.threads}"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Run:
    """What one job measured; grows while the worker runs, so that a timeout keeps what came before it.

    ``times`` maps "gradient", "value_and_gradient", "weighted", "forward" or "primal" to the seconds of each call,
    ``first`` the same names to the seconds of the first call. ``peak_rss_bytes`` is the most resident memory of the
    process, ``gradient_rss_bytes`` the most of it while gradients were timed; both hold interpreter and libraries.
    """

    kernel: str
    competitor: str
    threads: int
    status: str = "started"
    code: str = ""
    message: str = ""
    times: Mapping[str, list[float]] = field(default_factory=dict)
    first: Mapping[str, float] = field(default_factory=dict)
    predicted_peak_bytes: int | None = None
    peak_rss_bytes: int | None = None
    gradient_rss_bytes: int | None = None
    objective: float | None = None
    objective_scale: float | None = None
    directional_error: float | None = None
    sensitivity: float | None = None
    gradients: str = ""

    @classmethod
    def of(cls, job: Job) -> Run:
        return cls(job.kernel, job.competitor, job.threads)

    def with_times(self, name: str, first: float, times: list[float]) -> Run:
        return replace(self, times={**self.times, name: times}, first={**self.first, name: first})

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "gradients"}

    def save(self, file: Path) -> None:
        """A reader sees the old file or the new one, never half of it."""
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(asdict(self)))
        os.replace(unfinished, file)

    @classmethod
    def load(cls, file: Path) -> Run:
        return cls(**json.loads(file.read_text()))
