"""How well memory limits are kept: ``python -m npbench_suite.harness.memory_sweep [KERNELS] [--preset S]``.

For every program that keeps something for its reverse sweep: limits between the smallest gradient program and the one
that stores everything, what was predicted and what was measured, the time over that of storing everything, and how far
the gradient is from its gradient. One process per program.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np

import sdfgad
from npbench_suite import kernel as suite
from npbench_suite.harness.report import write_atomically
from npbench_suite.kernel import Kernel

PERCENT = (100, 60, 40, 25, 15, 10, 5)
"""Of the way from the floor to storing everything."""
TIMED_CALLS = 5
BUDGET_SECONDS = 4.0
WORTH_BYTES = 0.02
"""Programs whose floor is within this share of storing everything have nothing to plan."""
PROCESS_SECONDS = 600


@dataclass(frozen=True)
class Point:
    """One limit. predicted, measured: bytes at the peak; time, said: over that of storing everything, as measured and
    as the plan has it; error: largest difference from its gradient, over the largest entry; solver: what it says of
    its answer, and its seconds."""

    percent: int
    limit: int
    predicted: int
    measured: int
    time: float
    said: float
    error: float
    decision: str
    solver: str = ""
    solver_seconds: float = 0.0

    @property
    def kept(self) -> bool:
        """Predicted and measured within the limit, without any of the tolerance that the contract would give."""
        return max(self.predicted, self.measured) <= self.limit


@dataclass(frozen=True)
class Sweep:
    """One program. seconds: of one call that stores everything."""

    kernel: str
    floor: int
    store_all: int
    seconds: float
    points: tuple[Point, ...]


def sweep(kernel: Kernel, preset: str) -> Sweep:
    """Run a program under every limit; no points when there is nothing to plan."""
    arguments = kernel.initialize(**kernel.sizes(preset))
    free = _gradient(kernel, None)
    plan = free.measure(*arguments.values())
    # Growable tapes are not in what is predicted.
    most, least = max(plan.predicted.peak_bytes, plan.measured.peak_bytes), plan.outlook.floor_bytes
    if least > most * (1 - WORTH_BYTES):
        return Sweep(kernel.name, least, most, 0.0, ())
    expected = _flat(free(*arguments.values()))
    seconds = _seconds(free, arguments)
    points = []
    for percent in PERCENT:
        limit = least + (most - least) * percent // 100
        points.append(_point(kernel, arguments, percent, limit, expected, free))
    return Sweep(kernel.name, least, most, seconds, tuple(points))


def _point(kernel: Kernel, arguments: Mapping[str, Any], percent: int, limit: int, expected: np.ndarray,
           free: Any) -> Point:
    limited = _gradient(kernel, limit)
    found = _flat(limited(*arguments.values()))
    # In turn, so that whatever else happens on the machine happens to both.
    ratios = []
    began = time.perf_counter()
    while len(ratios) < TIMED_CALLS and (not ratios or time.perf_counter() - began < BUDGET_SECONDS):
        ratios.append(_once(limited, arguments) / _once(free, arguments))
    plan = limited.measure(*arguments.values())
    error = float(np.max(np.abs(found - expected), initial=0.0) / max(np.max(np.abs(expected), initial=0.0), 1e-300))
    modes = ", ".join(str(mode) for mode in plan.modes.values())
    report = plan.schedule.solver if plan.schedule else None
    return Point(percent, limit, plan.predicted.peak_bytes, plan.measured.peak_bytes, median(ratios),
                 plan.outlook.seconds / plan.outlook.store_all_seconds, error, modes or "store all",
                 report.status if report else "", report.seconds if report else 0.0)


def _gradient(kernel: Kernel, limit: int | None) -> Any:
    return sdfgad.grad(kernel.program, wrt=kernel.wrt, output=kernel.output, reduce="sum", memory_limit=limit)


def _flat(gradients: Any) -> np.ndarray:
    if isinstance(gradients, Iterable) and not isinstance(gradients, np.ndarray):
        return np.concatenate([_flat(g) for g in gradients])
    return np.ravel(gradients)


def _once(gradient: Any, arguments: Mapping[str, Any]) -> float:
    began = time.perf_counter()
    gradient(*arguments.values())
    return time.perf_counter() - began


def _seconds(gradient: Any, arguments: Mapping[str, Any]) -> float:
    return median(_once(gradient, arguments) for _ in range(TIMED_CALLS))


def head(preset: str) -> str:
    """What stands above the rows, as Markdown."""
    columns = ("program", "floor", "store all", "limit", "predicted", "measured", "kept", "time", "said", "error",
               "solver", "how")
    left = {"program", "kept", "solver", "how"}
    return (f"Preset {preset}, bytes in MB, time over that of storing everything.\n\n| {' | '.join(columns)} |\n"
            f"| {' | '.join('---' if c in left else '---:' for c in columns)} |")


def rows(s: Sweep) -> list[str]:
    """One for each limit."""
    return [f"| {s.kernel} | {_mb(s.floor)} | {_mb(s.store_all)} | {p.percent} % | {_mb(p.predicted)} | "
            f"{_mb(p.measured)} | {'yes' if p.kept else 'NO'} | {p.time:.2f} | {p.said:.2f} | {p.error:.0e} | "
            f"{_solved(p)} | {p.decision} |" for p in s.points]


def foot(sweeps: Sequence[Sweep]) -> str:
    """The programs without rows."""
    return f"\nNothing to plan: {', '.join(s.kernel for s in sweeps if not s.points) or 'none'}."


def _solved(p: Point) -> str:
    return f"{p.solver}, {p.solver_seconds:.2f} s" if p.solver else ""


def _mb(size: int) -> str:
    return f"{size / 1e6:.2f}"


def _in_a_process(name: str, preset: str) -> Sweep | None:
    command = [sys.executable, "-m", "npbench_suite.harness.memory_sweep", "--one", name, "--preset", preset]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROCESS_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        click.echo(f"{name}: no result within {PROCESS_SECONDS} s", err=True)
        return None
    if done.returncode:
        click.echo(f"{name}: {done.stderr.strip().splitlines()[-1:]}", err=True)
        return None
    raw = json.loads(done.stdout)
    return Sweep(**{**raw, "points": tuple(Point(**p) for p in raw["points"])})


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("kernels", nargs=-1)
@click.option("--preset", default="S", show_default=True)
@click.option("--one", default="", hidden=True)
@click.option("--markdown", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write the table here.")
def main(kernels: tuple[str, ...], preset: str, one: str, file: Path | None) -> None:
    """Run gradients under memory limits between the floor and storing everything, and show what became of them."""
    if one:
        click.echo(json.dumps(asdict(sweep(suite.load(one), preset))))
        return
    unknown = set(kernels) - set(suite.names())
    if unknown:
        raise click.UsageError(f"no program called {', '.join(sorted(unknown))}")
    names = [n for n in kernels or suite.names() if suite.load(n).gradient != "none"]
    found, lines = [], [head(preset)]
    click.echo(lines[0])
    for name in names:
        click.echo(name, err=True)
        done = _in_a_process(name, preset)
        if done is not None:
            found.append(done)
            lines += rows(done)
            click.echo("".join(f"{line}\n" for line in rows(done)), nl=False)
    lines.append(foot(found))
    click.echo(lines[-1])
    if file is not None:
        write_atomically(file, "\n".join(lines) + "\n")
    if not all(p.kept for s in found for p in s.points):
        sys.exit(5)
    if len(found) < len(names):
        sys.exit(1)


if __name__ == "__main__":
    main()
