"""One benchmark run: kernel after kernel, the competitors in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import sdfgad
from npbench_suite.harness.job import SUITE, Job, Run
from npbench_suite.harness.oracle import compared, difference_checks, ill_conditioned, reference_gradients
from npbench_suite.harness.process import Bounds, run_job
from npbench_suite.harness.row import COMPARED_PORTS, Row, row_of
from npbench_suite.harness.timing import best

# In order of trust: the first one with usable gradients is the reference.
PORTS = ("jax:idiomatic", "jax:literal", "jax:matrix")
PRESETS = ("S", "M", "L", "paper")

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
    # Repetitions of one measurement end here, so that slow kernels do not take the whole run.
    spend: float = 5.0
    rss_bytes: int = 4_000_000_000
    suite: str = SUITE


def prepared(options: Options, folder: Path, report: Report) -> float | None:
    """Seconds until what all programs share is in the cache of this run, to compile it where the user's cache does not
    have it yet; None when it failed, which every kernel will say in its row."""
    job = replace(_job(options, "", "prepare", max(options.threads), folder, folder), cache=str(sdfgad.cache.path))
    run = run_job(job, _bounds(options))
    report(run)
    return sum(run.times.get("prepare", [])) or None


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
    runs: list[Run] = []
    for threads in options.threads:
        for competitor in competitors(options, kernel, threads):
            runs.append(_one(options, kernel, competitor, threads, folder, runs))
            report(runs[-1])
    return judged(options, kernel, folder, runs, report)


def judged(options: Options, kernel: Any, folder: Path, runs: list[Run], report: Report) -> Row:
    """The row: gradients against JAX's, else, where that says nothing, against central differences at a tiny size."""
    note = ""
    reference = reference_gradients(runs)
    if reference is not None:
        marked, checks = compared(runs, reference, kernel)
        if all(check.passed for check in checks):
            return row_of(kernel.name, marked, checks)
        note = ill_conditioned(checks, _second_opinions(options, kernel, folder, marked, reference), reference, kernel)
        if not note:
            return row_of(kernel.name, marked, checks)
        runs = marked
    if any(run.competitor == "sdfgad" and run.gradients for run in runs):
        job = _job(options, kernel.name, "differences", 1, folder, folder.parent)
        runs.append(run_job(job, _bounds(options)))
        report(runs[-1])
    return row_of(kernel.name, runs, list(difference_checks(runs, kernel)), note)


def _second_opinions(
    options: Options, kernel: Any, folder: Path, runs: list[Run], reference: str,
) -> dict[str, str]:
    """The files of other gradients by JAX: of the reference port at rounded arguments, and of the other port."""
    port = next(run for run in runs if run.gradients == reference)
    job = replace(_job(options, kernel.name, port.competitor, port.threads, folder, folder.parent), repeat=1,
                  gradients=str(folder / "second.npz"), reference=True, nudged=True)
    rounded = run_job(job, _bounds(options)).gradients
    others = {"rounding the arguments moves": rounded} if rounded else {}
    for run in runs:
        if run.competitor in COMPARED_PORTS and run.gradients and run.competitor != port.competitor:
            others["writing the program differently moves"] = run.gradients
    return others


def _one(options: Options, kernel: Any, competitor: str, threads: int, folder: Path, before: list[Run]) -> Run:
    """One job; a port that did not end with fewer threads is not tried again."""
    earlier = [run for run in before if run.competitor == competitor]
    if competitor in PORTS and earlier and earlier[-1].status in ("timeout", "out of memory"):
        return replace(Run(kernel.name, competitor, threads), status=earlier[-1].status,
                       message=f"not tried: with {earlier[-1].threads} threads it was {earlier[-1].message}")
    job = _job(options, kernel.name, competitor, threads, folder, folder.parent)
    # Every gradient of sdfgad is checked, a port once: more threads do not change what it computes.
    if competitor in ("sdfgad", "dace") or (competitor in PORTS and not earlier):
        job = replace(job, gradients=str(folder / f"{job.label}.npz"),
                      reference=competitor in PORTS and reference_gradients(before) is None)
    return run_job(replace(job, rival=rival_seconds(competitor, before)), _bounds(options))


def rival_seconds(competitor: str, before: list[Run]) -> float:
    """The time of the idiomatic port for the other ports, 0 where there is none."""
    found = best(before, ["jax:idiomatic"], "gradient") if competitor in PORTS[1:] else None
    return found.seconds if found else 0.0


def competitors(options: Options, kernel: Any, threads: int) -> list[str]:
    """What is run for this kernel, in order; NumPy once, with all threads."""
    chosen = ["sdfgad"]
    if "numpy" in options.against and threads == max(options.threads):
        chosen.insert(0, "numpy")
    if "jax" in options.against:
        chosen += [port for port in PORTS if getattr(kernel, port.partition(":")[2], None) is not None]
    if "dace" in options.against:
        chosen.append("dace")
    return chosen


def _job(options: Options, kernel: str, competitor: str, threads: int, folder: Path, shared: Path) -> Job:
    return Job(kernel, competitor, threads, options.preset, options.repeat, str(folder), options.suite,
               cache=str(shared / "cache"), budget=min(options.seconds / 8, options.spend),
               memory_limit=options.memory_limit)


def _bounds(options: Options) -> Bounds:
    return Bounds(options.seconds, options.rss_bytes)
