"""How long planning takes: ``python -m npbench_suite.harness.plan_sweep [KERNELS] [--preset paper]``.

For every program: `sdfgad.plan` from shapes alone without a limit and at three limits between the smallest gradient
program and the one that stores everything, whole time in a fresh process, its resident peak, and what the solver says
of its own answer. Nothing is compiled or run, so the largest presets are as good as any.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

import sdfgad
from npbench_suite import kernel as suite
from npbench_suite.harness.report import write_atomically
from sdfgad.commands.subject import NPBENCH, load_subject

PERCENT = (60, 25, 5)
"""Of the way from the floor to storing everything."""
PLAN_SECONDS, SOLVER_SECONDS, PLAN_BYTES = 10.0, 5.0, 300e6
"""What one plan, its integer program, and the process that makes it may take."""
PROCESS_SECONDS = 300


@dataclass(frozen=True)
class Planned:
    """One plan. percent: None without a limit. seconds: parsing and everything included. peak: resident bytes of the
    process. solver: status of the integer program, empty when there was nothing to ask; gap: from its bound."""

    percent: int | None
    seconds: float
    peak: int
    solver: str
    solver_seconds: float
    gap: float

    @property
    def good(self) -> bool:
        return (self.seconds <= PLAN_SECONDS and self.solver_seconds <= SOLVER_SECONDS and self.peak <= PLAN_BYTES)


def planned(name: str, preset: str, limit: int | None, percent: int | None) -> tuple[Planned, int, int]:
    """A plan, the bytes of storing everything and those of the floor."""
    target = load_subject(f"{NPBENCH}:{name}", sizes={}, preset=preset, data=False)
    began = time.perf_counter()
    plan = sdfgad.plan(target.program, *target.arguments, wrt=target.wrt, output=target.output, reduce="sum",
                       memory_limit=limit)
    floor = plan.outlook.floor_bytes
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    report = plan.schedule.solver if plan.schedule else None
    found = Planned(percent, seconds, peak, report.status if report else "", report.seconds if report else 0.0,
                    report.gap if report else 0.0)
    return found, plan.predicted.peak_bytes, floor


def sweep(name: str, preset: str) -> list[Planned]:
    """A program without a limit and at several, a process for each; empty when it has no plan."""
    first = _in_a_process(name, preset, None, None)
    if first is None:
        return []
    found, most, least = first
    plans = [found]
    for percent in PERCENT if least < most else ():
        limited = _in_a_process(name, preset, least + (most - least) * percent // 100, percent)
        plans += [] if limited is None else [limited[0]]
    return plans


def _in_a_process(name: str, preset: str, limit: int | None, percent: int | None) -> tuple[Planned, int, int] | None:
    command = [sys.executable, "-m", "npbench_suite.harness.plan_sweep", "--preset", preset, "--one",
               json.dumps([name, limit, percent])]
    try:
        with TemporaryDirectory() as empty:  # no plan is found again
            done = subprocess.run(command, capture_output=True, text=True, timeout=PROCESS_SECONDS, check=False,
                                  env={**os.environ, "SDFGAD_CACHE_DIR": empty})
    except subprocess.TimeoutExpired:
        click.echo(f"{name}: no plan within {PROCESS_SECONDS} s", err=True)
        return None
    if done.returncode:
        click.echo(f"{name}: {done.stderr.strip().splitlines()[-1:]}", err=True)
        return None
    raw, most, least = json.loads(done.stdout)
    return Planned(**raw), most, least


def table(found: Sequence[tuple[str, list[Planned]]], preset: str) -> str:
    """The results as Markdown."""
    lines = [f"| {name} | {'none' if p.percent is None else f'{p.percent} %'} | {p.seconds:.2f} | "
             f"{p.peak / 1e6:.0f} | {p.solver or '-'} | {p.solver_seconds:.2f} | {100 * p.gap:.1f} % |"
             for name, plans in found for p in plans]
    every = [p for _, plans in found for p in plans]
    # Where nothing was asked, nothing is left open.
    proven = sum(all(p.solver != "feasible" for p in plans) for _, plans in found if plans)
    worst = (f"{sum(bool(plans) for _, plans in found)} programs, {proven} of them optimal at every limit; at most "
             f"{max((p.seconds for p in every), default=0):.1f} s, of which the solver "
             f"{max((p.solver_seconds for p in every), default=0):.1f} s, and "
             f"{max((p.peak for p in every), default=0) / 1e6:.0f} MB.")
    return (f"Preset {preset}. {worst}\n\n| program | limit | s | MB | solver | solver s | gap |\n"
            "| --- | ---: | ---: | ---: | --- | ---: | ---: |\n" + "\n".join(lines) + "\n")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("kernels", nargs=-1)
@click.option("--preset", default="paper", show_default=True)
@click.option("--one", default="", hidden=True)
@click.option("--markdown", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write the table here.")
def main(kernels: tuple[str, ...], preset: str, one: str, file: Path | None) -> None:
    """Plan gradients from shapes alone, with and without limits, and show how long that takes."""
    if one:
        click.echo(json.dumps(_one(preset, *json.loads(one))))
        return
    unknown = set(kernels) - set(suite.names())
    if unknown:
        raise click.UsageError(f"no program called {', '.join(sorted(unknown))}")
    found = []
    for name in kernels or suite.names():
        if suite.load(name).gradient != "none":
            click.echo(name, err=True)
            found.append((name, sweep(name, preset)))
    text = table(found, preset)
    click.echo(text)
    if file is not None:
        write_atomically(file, text)
    if not all(p.good for _, plans in found for p in plans):
        sys.exit(5)


def _one(preset: str, name: str, limit: int | None, percent: int | None) -> list[Any]:
    found, most, least = planned(name, preset, limit, percent)
    return [asdict(found), most, least]


if __name__ == "__main__":
    main()
