"""The program as NumPy runs it: its time, and the value that the compiled programs must reproduce."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from npbench_suite.harness.case import copies, kernel_of, preset_arguments
from npbench_suite.harness.job import Job, Run
from npbench_suite.harness.objective import magnitude, total
from npbench_suite.harness.stopwatch import first_call, repeated


def measure(job: Job) -> Iterator[Run]:
    """Objective and primal time; the program gets fresh arguments at every call."""
    kernel = kernel_of(job)
    arguments = preset_arguments(job, kernel)
    with np.errstate(all="ignore"):
        own = copies(arguments)
        first, returned = first_call(lambda: kernel.program(*own.values()))
        outputs = kernel.outputs(returned, own)
        run = replace(Run.of(job), objective=total(outputs), objective_scale=magnitude(outputs))
        yield run.with_times("primal", first, [first])
        times = repeated(kernel.program, job.repeat, job.budget, lambda: tuple(copies(arguments).values()))
    yield run.with_times("primal", first, times)
