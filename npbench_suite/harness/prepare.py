"""What every compilation shares, in the cache of a run: precompiled headers, threads, the machine's constants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from npbench_suite.harness.job import Job, Run
from sdfgad.codegen.compiling.build import common_entries
from sdfgad.codegen.compiling.cache import lend
from sdfgad.codegen.targets import chosen


def measure(job: Job) -> Iterator[Run]:
    """Made in the user's cache, in which they mostly are, and put into the run's, which holds nothing else: compile
    times are those of a first use."""
    began = perf_counter()
    chosen().machine()
    lend(common_entries(), Path(job.folder) / "cache")
    seconds = perf_counter() - began
    yield Run.of(job).with_times("prepare", seconds, [seconds])
