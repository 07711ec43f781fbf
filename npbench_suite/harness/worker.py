"""The subprocess of one job: ``python -m npbench_suite.harness.worker '<job as JSON>'`` (or the job on stdin).

An error that no measurement expects ends the process with its traceback; the parent makes a row of it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib import import_module

from npbench_suite.harness.job import MEASURES, Job, Run
from npbench_suite.harness.resident import process_peak


def main(arguments: list[str]) -> None:
    """Measure the job given as JSON and leave a `Run` in its result file."""
    job = Job.from_json(arguments[0] if arguments else sys.stdin.read())
    pin(job.threads)
    run = Run.of(job)
    for run in import_module(MEASURES[job.competitor]).measure(job):
        run.save(job.result_file)
    done = replace(run, status="ok") if run.status == "started" else run
    replace(done, peak_rss_bytes=max(process_peak(), run.peak_rss_bytes or 0)).save(job.result_file)


def pin(threads: int) -> None:
    """Keep this process on as many cores as it has threads: XLA sizes its pool by the cores it may use."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


if __name__ == "__main__":
    main(sys.argv[1:])
