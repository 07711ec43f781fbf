"""Gradients over many ranks, without them: what each of them does and sends, run through a model of the network.

`python -m npbench_suite.over_ranks` prints a table for blocks of one size on more and more ranks; under `mpiexec`,
`python -m npbench_suite.over_ranks --measured` compares numbers of messages and bytes with those of real ones.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any

import click
import numpy as np

import sdfgad
from npbench_suite.network import RankLoop, RankMessages, RankSteps, Simulated, simulated, steps_of
from sdfgad.calls.arguments import bind
from sdfgad.plans.request import Request
from sdfgad.transform.cutting.blocks import Distribution, RankGrid
from sdfgad.verbs.pipeline import derive

STEPS = 10
FEW = 5
"""Ranks in each direction that stand for any number of them."""


def diffuse(u, k, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return np.sum(u ** 2)


def normalised(u, k, steps):
    """A sum of all ranks in each step."""
    for _ in range(steps):
        u[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u[:] = u / np.sqrt(np.sum(u * u))
    return np.sum(u ** 3)


PROGRAMS: Mapping[str, Callable[..., Any]] = MappingProxyType({"diffuse": diffuse, "normalised": normalised})


@dataclass(frozen=True)
class ManyRanks:
    """A program on a grid of ranks, each with a block of `side` x `side` elements; extents: (P,) cuts rows alone."""

    program: Callable[..., Any]
    extents: tuple[int, ...]
    side: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.side * self.extents[0], self.side * (self.extents[1] if len(self.extents) > 1 else 1)

    @property
    def form(self) -> tuple[str | None, ...]:
        return ("block", "block" if len(self.extents) > 1 else None)

    @cached_property
    def _wanted(self) -> Distribution:
        axes = {"u": tuple(range(len(self.extents))) + (None,) * (2 - len(self.extents))}
        return Distribution(RankGrid(self.extents), 0, axes, gather=False)

    @cached_property
    def _known(self) -> dict[tuple[int, ...], RankSteps]:
        return {}

    def own(self, rank: int) -> RankSteps:
        """What a rank does, of the program that is made for it."""
        bound = bind(self.program, (sdfgad.spec(self.shape), 0.1, STEPS), {})
        made = derive(self.program, bound, Request(("u",), distribution=replace(self._wanted, rank=rank)))
        return steps_of(made.program, rank)

    def like(self, rank: int) -> RankSteps:
        """The same, of a rank that lies in the same way on a smaller grid: blocks have one size, so all in the middle
        do alike."""
        small = replace(self, extents=tuple(min(n, FEW) for n in self.extents))
        place = np.unravel_index(rank, self.extents)
        stands = tuple(int(min(p, FEW // 2, n - 1) if n - p > FEW // 2 else m - n + p)
                       for p, n, m in zip(place, self.extents, small.extents, strict=True))
        if stands not in self._known:
            other = int(np.ravel_multi_index(stands, small.extents))
            self._known[stands] = self._moved(small.own(other), other, small.extents)
        return self._known[stands]

    def _moved(self, steps: RankSteps, rank: int, small: tuple[int, ...]) -> RankSteps:
        """Distances between ranks as they are on this grid."""
        weights = [prod(self.extents[k + 1:]) for k in range(len(small))]

        def far(by: int) -> int:
            there, here = (np.unravel_index(r, small) for r in (rank + by, rank))
            return sum(int(a - b) * w for a, b, w in zip(there, here, weights, strict=True))

        def moved(step: Any) -> Any:
            if isinstance(step, RankLoop):
                return replace(step, steps=tuple(map(moved, step.steps)))
            if isinstance(step, RankMessages):
                return RankMessages(tuple((far(by), n) for by, n in step.out), tuple(map(far, step.come)))
            return step

        return tuple(map(moved, steps))

    def run(self) -> Simulated:
        return simulated(prod(self.extents), self.like)


@click.command()
@click.option("--side", default=256, help="Rows and columns of the block of a rank.")
@click.option("--most", default=100_000, help="The largest number of ranks.")
@click.option("--measured", is_flag=True, help="Compare with the messages of the ranks that run this.")
def main(side: int, most: int, measured: bool) -> None:
    """Weak scaling of two gradients by rows and by blocks of both axes."""
    if measured:
        _compare(side)
        return
    click.echo("| program | grid | ranks | messages | MB | sums | ms | efficiency |\n|" + " --- |" * 8)
    for name, program in PROGRAMS.items():
        alone = ManyRanks(program, (1,), side).run().seconds
        for extents in _grids(most):
            found = ManyRanks(program, extents, side).run()
            click.echo(f"| {name} | {'x'.join(map(str, extents))} | {prod(extents)} | {found.messages} | "
                       f"{found.bytes / 1e6:.4g} | {found.sums} | {1e3 * found.seconds:.3f} | "
                       f"{alone / found.seconds:.3f} |")


def _grids(most: int) -> list[tuple[int, ...]]:
    rows = [(p,) for p in (1, 2, 16, 128, 1024, 10_000, 100_000) if p <= most]
    return [*rows, *((n, n) for n in (2, 4, 32, 100, 316) if n * n <= most)]


def _compare(side: int) -> None:
    comm = importlib.import_module("mpi4py.MPI").COMM_WORLD
    for name, program in PROGRAMS.items():
        many = ManyRanks(program, (comm.size,), side)
        made = sdfgad.grad(program, wrt="u", distribute={"u": many.form}, comm=comm, gather=False)
        counts = made.measure(np.random.default_rng(0).random(many.shape), 0.1, STEPS).messages
        sent = [row for row in counts.rows if row.kind == "send"]
        found = many.run()
        if comm.rank == 0:
            click.echo(f"| {name} | {comm.size} | {sum(r.count for r in sent)} | {found.messages} | "
                       f"{sum(r.bytes for r in sent)} | {found.bytes} | "
                       f"{sum(r.count for r in counts.rows if r.kind == 'allreduce') // comm.size} | {found.sums} |")


if __name__ == "__main__":
    main()
