"""A nonlinear stencil in little memory: ``python -m npbench_suite.harness.burgers``.

Burgers' equation in two dimensions, 1000 steps on 512 x 512 points: everything stored takes 4.2 GB. Shows what less
memory costs, measured in turn within one run, beside what the plan said.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import click
import numpy as np

import sdfgad

STEPS, POINTS, LIMITS = 1000, 512, ("256MB", "64MB")


def burgers(u, v, steps):
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1] - 0.1 * un[1:-1, 1:-1] * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - 0.1 * vn[1:-1, 1:-1] * (un[1:-1, 1:-1] - un[1:-1, :-2])
            + 0.01 * (un[2:, 1:-1] + un[:-2, 1:-1] + un[1:-1, 2:] + un[1:-1, :-2] - 4 * un[1:-1, 1:-1]))
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1] - 0.1 * un[1:-1, 1:-1] * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - 0.1 * vn[1:-1, 1:-1] * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            + 0.01 * (vn[2:, 1:-1] + vn[:-2, 1:-1] + vn[1:-1, 2:] + vn[1:-1, :-2] - 4 * vn[1:-1, 1:-1]))
    return np.sum(u * u + v * v)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--points", default=POINTS, show_default=True, help="Points in each direction.")
@click.option("--steps", default=STEPS, show_default=True)
@click.option("--limit", "limits", multiple=True, default=LIMITS, show_default=True, help="Memory limits.")
@click.option("--repeat", default=5, show_default=True)
def main(points: int, steps: int, limits: tuple[str, ...], repeat: int) -> None:
    """Show what storing less costs."""
    rng = np.random.default_rng(0)
    data = rng.random((points, points)), rng.random((points, points)), steps
    free = sdfgad.grad(burgers, wrt=("u", "v"))
    expected = free(*data)
    known = free.plan(*data)
    click.echo("| limit | predicted | measured | time | time of storing everything | ratio | predicted ratio | error | "
               "how |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for limit in limits:
        limited = sdfgad.grad(burgers, wrt=("u", "v"), memory_limit=limit)
        found = limited(*data)
        pairs = [(_seconds(limited, data), _seconds(free, data)) for _ in range(repeat)]
        plan = limited.measure(*data)
        error = max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(found, expected, strict=True))
        said = plan.outlook.seconds / known.outlook.seconds
        click.echo(f"| {limit} | {plan.predicted.peak_bytes / 1e6:.1f} MB | {plan.measured.peak_bytes / 1e6:.1f} MB | "
                   f"{median(a for a, _ in pairs):.3f} s | {median(b for _, b in pairs):.3f} s | "
                   f"{median(a / b for a, b in pairs):.2f} | {said:.2f} | {error:.0e} | "
                   f"{', '.join(str(m) for m in plan.modes.values())} |")


def _seconds(gradient: Any, data: tuple[Any, ...]) -> float:
    began = time.perf_counter()
    gradient(*data)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
