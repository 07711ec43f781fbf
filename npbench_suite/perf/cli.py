"""The command line: ``./scripts/perf`` and ``python -m npbench_suite.perf``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import click

from npbench_suite.harness.job import Job
from npbench_suite.harness.machine import machine, usable_cores
from npbench_suite.harness.process import Bounds, run_job, terminable
from npbench_suite.harness.report import write_atomically
from npbench_suite.harness.table import duration
from npbench_suite.perf.compile_times import QUICK
from npbench_suite.perf.document import comparisons, document
from npbench_suite.perf.results import Results
from npbench_suite.perf.task import MEASURES, Task, run_task

ROUNDS, QUICK_ROUNDS = 15, 3
SECONDS, QUICK_SECONDS = 30.0, 3.0
EXIT_FAILED, EXIT_MISMATCH = 1, 5
MEMORY = 1 << 40


@dataclass(frozen=True)
class Plan:
    """What is to be measured, and what every task gets."""

    tasks: tuple[Task, ...]
    limit: float


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("programs", nargs=-1)
@click.option("--part", "parts", multiple=True, type=click.Choice(list(MEASURES)), help="One part; may be repeated.")
@click.option("--busy", is_flag=True, help="The part beside another job alone.")
@click.option("--threads", multiple=True, type=click.IntRange(1), help="May be repeated.  [default: 1 and all cores]")
@click.option("--quick", is_flag=True, help="A few minutes: few repetitions, fewer sizes and programs.")
@click.option("--rounds", type=click.IntRange(1), help=f"Of everything in turn.  [default: {ROUNDS}]")
@click.option("--seconds", type=click.FloatRange(0.1), help=f"For one measurement.  [default: {SECONDS:g}]")
@click.option("--timeout", type=click.FloatRange(1), default=900.0, show_default=True, help="Seconds for one program.")
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), default=Path("results/perf.json"),
              show_default=True, help="Where the results go, after every program.")
@click.option("--resume", is_flag=True, help="Keep what that file holds and measure the rest.")
@click.option("--markdown", "page", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the page as well, such as docs/performance.md.")
def main(programs: tuple[str, ...], parts: tuple[str, ...], busy: bool, threads: tuple[int, ...], quick: bool,
         rounds: int | None, seconds: float | None, timeout: float, file: Path, resume: bool,
         page: Path | None) -> None:
    """Measure gradients against hand-written adjoints, memory bandwidth and more (all programs, or PROGRAMS).

    \b
    Parts: pairs, bandwidth, scaling, applications, compile, overheads, busy.
    Exit codes: 0 all right, 1 a task failed, 2 a wrong request, 5 two gradients that differ.
    """
    usual = (QUICK_ROUNDS, QUICK_SECONDS) if quick else (ROUNDS, SECONDS)
    like = Task("", "", tuple(sorted(set(threads) or {1, usable_cores()})), rounds or usual[0], seconds or usual[1],
                quick)
    before = _earlier(file) if resume else None
    chosen = (*parts, "busy") if busy else parts or tuple(MEASURES)
    plan = Plan(tuple(tasks(like, chosen, programs)), timeout)
    file.parent.mkdir(parents=True, exist_ok=True)
    with terminable():
        results = run(plan, before or Results(machine(), quick, {}), file)
    if page is not None:
        write_atomically(page, document(results))
    click.echo(document(results))
    sys.exit(exit_code(results))


def _earlier(file: Path) -> Results | None:
    try:
        return Results.load(file) if file.exists() else None
    except ValueError as error:
        raise click.UsageError(f"{file} is no result of this benchmark: {error}") from error


def tasks(like: Task, parts: Sequence[str], programs: Sequence[str]) -> Iterator[Task]:
    """One task per part and program, in the order of the parts; a name that no part knows is a usage error."""
    known = {part: list(import_module(MEASURES[part]).names()) for part in MEASURES if part in parts}
    unknown = set(programs) - {name for names in known.values() for name in names}
    if unknown:
        raise click.UsageError(f"nothing is called {', '.join(sorted(unknown))} in {', '.join(known)}")
    for part, names in known.items():
        if part == "compile" and like.quick and not programs:
            names = list(QUICK)
        for name in names:
            if name in programs or not programs:
                yield Task(part, name, like.threads, like.rounds, like.seconds, like.quick)


def run(plan: Plan, results: Results, file: Path) -> Results:
    """Every task that has no result yet; the file is written after each of them."""
    missing = [task for task in plan.tasks if task.name not in results.of(task.part)]
    with tempfile.TemporaryDirectory(prefix="sdfgad-perf-") as folder:
        if missing:
            _prepare(missing[0], Path(folder), plan.limit)
        for number, task in enumerate(missing, start=1):
            click.echo(f"[{number}/{len(missing)}] {task.part} {task.name}", err=True)
            found = run_task(task, Path(folder), plan.limit)
            if "failed" in found:
                click.echo(f"  failed: {found['failed']}", err=True)
            results = results.having(task.part, task.name, found)
            results.write(file)
    return results


def _prepare(task: Task, folder: Path, limit: float) -> None:
    """Compile what all programs share."""
    job = Job("", "prepare", max(task.threads), "S", 1, str(folder), cache=str(folder))
    done = run_job(job, Bounds(limit, MEMORY))
    seconds = sum(done.times.get("prepare", []))
    click.echo(f"common headers: {duration(seconds) if seconds else done.message}", err=True)


def exit_code(results: Results) -> int:
    """5 when two gradients differ, 1 when a task failed."""
    if not all(one.equal for one in comparisons(results)):
        return EXIT_MISMATCH
    return EXIT_FAILED if results.failures() else 0
