"""One benchmark run: kernel after kernel, the competitors in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from npbench_suite.harness.job import SUITE, Job, Run
from npbench_suite.harness.objective import OBJECTIVES, SINGLE, relative_errors
from npbench_suite.harness.process import Bounds, run_job
from npbench_suite.harness.row import DIFFERENCES_TOLERANCE, SINGLE_TOLERANCE, Check, Row, row_of

PORTS = ("literal", "idiomatic", "matrix")
# The port whose gradients are the reference, in order of trust.
REFERENCES = ("jax:idiomatic", "jax:matrix", "jax:literal")
PRESETS = ("S", "M", "L", "paper")

# Repetitions of one measurement end here, so that slow kernels do not take the whole run.
REPETITION_SECONDS = 10.0
# Below this sensitivity a gradient is rounding noise around zero, and two correct ones differ.
NOISE = 1e4 * float(np.finfo(np.float64).eps)

Report = Callable[[Run], None]


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    kernels: tuple[str, ...]
    preset: str = "S"
    against: tuple[str, ...] = ("numpy", "jax")
    threads: tuple[int, ...] = (1, 2)
    repeat: int = 10
    memory_limit: str | None = None
    seconds: float = 300.0
    rss_bytes: int = 4_000_000_000
    suite: str = SUITE


def measured(options: Options, folder: Path, report: Report) -> Iterator[Row]:
    """One row per kernel, in the order of ``options.kernels``; ``report`` hears of every finished job."""
    for name in options.kernels:
        own = folder / name
        own.mkdir()
        yield kernel_row(options, name, own, report)
        for file in own.glob("*.npz"):
            file.unlink()


def kernel_row(options: Options, name: str, folder: Path, report: Report) -> Row:
    """Run everything for one kernel."""
    suite = import_module(options.suite)
    try:
        kernel = suite.load(name)
    except ModuleNotFoundError as error:
        return Row(name, "missing", message=str(error))
    if kernel.gradient == "none":
        return Row(name, "no floating input", message=kernel.notes.partition("\n")[0])
    bounds = Bounds(options.seconds, options.rss_bytes)
    runs: list[Run] = []
    for job in jobs(options, kernel, folder):
        runs.append(run_job(job, bounds))
        report(runs[-1])
    reference = reference_gradients(runs)
    if reference is not None:
        return row_of(name, *compared(runs, reference, kernel))
    if any(run.competitor == "sdfgad" and run.gradients for run in runs):
        runs.append(run_job(_job(options, name, "differences", 1, folder), bounds))
        report(runs[-1])
    return row_of(name, runs, list(difference_checks(runs, kernel)))


def jobs(options: Options, kernel: Any, folder: Path) -> Iterator[Job]:
    """The competitors in turn at each number of threads; the reference gradients are saved once."""
    for number, threads in enumerate(options.threads):
        for competitor in competitors(options, kernel):
            job = _job(options, kernel.name, competitor, threads, folder)
            saves = competitor in ("sdfgad", "dace") or (competitor in REFERENCES and number == 0)
            yield replace(job, gradients=str(folder / f"{job.label}.npz")) if saves else job


def competitors(options: Options, kernel: Any) -> list[str]:
    """What is run for this kernel, in order."""
    ports = [f"jax:{port}" for port in PORTS if getattr(kernel, port, None) is not None]
    chosen = ["sdfgad"]
    if "numpy" in options.against:
        chosen.insert(0, "numpy")
    if "jax" in options.against:
        chosen += ports
    if "dace" in options.against:
        chosen.append("dace")
    return chosen


def _job(options: Options, kernel: str, competitor: str, threads: int, folder: Path) -> Job:
    return Job(kernel, competitor, threads, options.preset, options.repeat, str(folder), options.suite,
               budget=min(options.seconds / 8, REPETITION_SECONDS), memory_limit=options.memory_limit)


def reference_gradients(runs: list[Run]) -> str | None:
    """The file of the most trusted port whose gradients are finite and more than rounding noise."""
    files = {run.competitor: run.gradients for run in reversed(runs)
             if run.gradients and (run.sensitivity or 0.0) > NOISE}
    return next((files[port] for port in REFERENCES if port in files and _finite(files[port])), None)


def _finite(file: str) -> bool:
    with np.load(file) as gradients:
        return all(np.isfinite(gradients[name]).all() for name in gradients.files)


def compared(runs: list[Run], reference: str, kernel: Any) -> tuple[list[Run], list[Check]]:
    """Every saved gradient against the reference: the checks of sdfgad's, and DaCe's runs with wrong ones marked."""
    checks, marked = [], []
    for run in runs:
        if run.gradients and run.competitor in ("sdfgad", "dace"):
            found = list(gradient_checks(run, reference, kernel.tolerance))
            wrong = next((check for check in found if not check.passed), None)
            if run.competitor == "sdfgad":
                checks += found
            elif wrong is not None:
                run = replace(run, status="mismatch", message=f"relative error {wrong.error:.1e}")
        marked.append(run)
    return marked, checks


def gradient_checks(run: Run, reference: str, tolerance: float) -> Iterator[Check]:
    """One check in double precision, and one more where the program works in single precision."""
    with np.load(run.gradients) as gradients:
        saved = {key.partition("/")[0] for key in gradients.files}
    wanted = saved | set(OBJECTIVES) if run.competitor == "sdfgad" else saved
    if double := wanted & set(OBJECTIVES):
        yield Check("JAX", worst_error(run.gradients, reference, double), tolerance)
    if SINGLE in wanted:
        yield Check("JAX in double precision", worst_error(run.gradients, reference, {SINGLE}), SINGLE_TOLERANCE)


def worst_error(candidate: str, reference: str, objectives: set[str]) -> float:
    """The largest relative error over the objectives and all arguments; infinite where something is NaN."""
    errors = relative_errors(candidate, reference)
    return max((error if error == error else float("inf") for key, error in errors.items()
                if key.partition("/")[0] in objectives), default=float("inf"))


def difference_checks(runs: list[Run], kernel: Any) -> Iterator[Check]:
    for run in runs:
        if run.directional_error is not None:
            yield Check("differences", run.directional_error, max(kernel.tolerance, DIFFERENCES_TOLERANCE))
