"""The most memory this process had resident: since it started, or while something ran."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from npbench_suite.harness.job import Job, Run
from npbench_suite.harness.stopwatch import repeated

MARK, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def with_gradient_times(run: Run, call: Callable[[], Any], job: Job) -> Run:
    """The run with the repetitions of its gradient and the most memory that was resident meanwhile."""
    before, marked = process_peak(), mark()
    times = repeated(call, job.repeat, job.budget, rival=job.rival)
    run = run.with_times("gradient", run.first["gradient"], times)
    return replace(run, peak_rss_bytes=before, gradient_rss_bytes=peak_since_mark() if marked else None)


def process_peak() -> int:
    """Since the process started."""
    # Linux counts ru_maxrss in KiB.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def mark() -> bool:
    """Forget earlier peaks; False where the system does not allow it, and `peak_since_mark` would tell them."""
    try:
        # 5 resets the high-water mark, see proc(5).
        MARK.write_text("5")
    except OSError:
        return False
    return True


def peak_since_mark() -> int | None:
    """Since the last `mark`; None where the system does not say."""
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)
