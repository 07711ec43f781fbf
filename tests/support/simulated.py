"""Ranks in threads: what a program does on several of them, by the reference semantics, without MPI."""
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import Queue
from typing import Any

import numpy as np

from sdfgad.calls.arguments import bind
from sdfgad.calls.asked import resolve_wrt
from sdfgad.ir import interpret
from sdfgad.ir.messages import EXCHANGE, OP, received, sent
from sdfgad.ir.program import Lib, Program
from sdfgad.plans.recipe import arrays_of, distributed, kept_arrays
from sdfgad.plans.request import Request
from sdfgad.transform.cutting.blocks import Distribution, RankGrid, staggered
from sdfgad.transform.stages import TRIM
from sdfgad.verbs.pipeline import derive
from tests.support.vectors import Whole, run

PATIENCE = 20
"""Seconds that a rank waits for another one."""
_HOW = {"sum": np.sum, "max": np.max, "min": np.min}


@dataclass
class World:
    """What lies between the ranks. messages, bytes, sums: so many went through, all ranks together."""

    size: int
    mail: dict[tuple[int, int], Queue[np.ndarray]] = field(default_factory=dict)
    messages: int = 0
    bytes: int = 0
    sums: int = 0

    def __post_init__(self) -> None:
        self.mail = {(a, b): Queue() for a in range(self.size) for b in range(self.size)}
        self.barrier = threading.Barrier(self.size, timeout=PATIENCE)
        self.table: list[Any] = [None] * self.size


class RankMachine(Whole):
    """One rank."""

    def __init__(self, world: World, rank: int, *given: Any) -> None:
        super().__init__(*given)
        self.world, self.rank = world, rank

    def block(self, block: Any) -> None:
        for stmt in block:
            if isinstance(stmt, Lib) and stmt.op == OP:
                (self.exchange if stmt.attrs["kind"] == EXCHANGE else self.add_up)(stmt)
            else:
                super().block((stmt,))

    def exchange(self, stmt: Lib) -> None:
        to, came = (self.memory[v.array] for v in stmt.ins[-3:-1])
        for k, view in enumerate(sent(stmt)):
            self.world.mail[self.rank, int(to[1 + 2 * k])].put(value := self.read(view))
            self.world.messages += 1
            self.world.bytes += value.nbytes
        for k, view in enumerate(received(stmt)):
            value = self.world.mail[int(came[1 + 2 * k]), self.rank].get(timeout=PATIENCE)
            assert value.shape == tuple(self.index(n) for n in view.shape) and value.dtype == view.dtype
            self.write(view, value)

    def add_up(self, stmt: Lib) -> None:
        part = self.memory[stmt.ins[0].array].size
        scattered = stmt.attrs["kind"] == "reduce_scatterv"
        counts = self.memory[stmt.ins[-2].array][2:] if scattered else np.array([part])
        assert stmt.attrs["kind"] in ("allreduce", "reduce_scatterv") and sum(counts) == part
        assert stmt.attrs["count"] == counts[self.rank * scattered]
        self.world.table[self.rank] = self.read(stmt.ins[0])
        self.world.barrier.wait()
        total = _HOW[stmt.attrs["how"]](self.world.table, axis=0)
        self.world.barrier.wait()
        self.world.sums += 1
        first = sum(counts[:self.rank * scattered])
        own = np.ravel(total)[first:first + stmt.attrs["count"]]
        self.write(stmt.outs[0], own.reshape([self.index(n) for n in stmt.outs[0].shape]))


def run_all(programs: Sequence[Program], given: Sequence[Mapping[str, np.ndarray]]) -> tuple[list[Any], World]:
    """The arrays of every rank behind its program, and what went between them. Nothing is left under way."""
    world, errors = World(len(programs)), []
    memories: list[Any] = [None] * len(programs)

    def go(rank: int) -> None:
        program = programs[rank]
        memory = {a.name: np.array(given[rank][a.name]) if a.name in given[rank] else
                  np.array(program.constants[a.name]) if a.name in program.constants else
                  np.full(a.shape, interpret._poison(a.dtype), a.dtype) for a in program.arrays.values()}
        try:
            with np.errstate(all="ignore"):
                RankMachine(world, rank, memory, {}, program.failures).block(program.body)
            memories[rank] = memory
        except Exception as error:  # noqa: BLE001 - it is raised below, where the test sees it
            errors.append(error)
            world.barrier.abort()

    threads = [threading.Thread(target=go, args=(rank,)) for rank in range(len(programs))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if errors:
        raise min(errors, key=lambda e: isinstance(e, threading.BrokenBarrierError))
    assert all(queue.empty() for queue in world.mail.values())
    return memories, world


@dataclass(frozen=True)
class SerialGradient:
    """A serial gradient program, as it is before it is cut. held: the arguments by the names of arrays."""

    program: Program
    held: Mapping[str, np.ndarray]
    traced: Mapping[str, str]
    gradients: Mapping[str, str]

    @property
    def results(self) -> tuple[str, ...]:
        return (*self.gradients, *arrays_of(self.program.returns))

    def cut(self, wanted: Distribution) -> Program:
        return distributed(self.program, wanted, self.traced, self.gradients)

    def distribution(self, axes: Mapping[str, tuple[int | None, ...]], grid: tuple[int, ...], rank: int = 0,
                     gather: bool = True) -> Distribution:
        """As a call would have it."""
        shapes = {n: self.held[self.traced[n]].shape for n in axes}
        return Distribution(RankGrid(grid), rank, axes, gather=gather, beside=staggered(axes, shapes))


def serial_gradient(fn: Callable[..., Any], args: Sequence[Any], wrt: Any = None, output: Any = None,
                    reduce: str | None = None) -> SerialGradient:
    """Value and gradient of a function, planned but for what a machine wants."""
    bound = bind(fn, list(args), {})
    found = derive(fn, bound, Request(resolve_wrt(fn, bound, wrt), output, reduce, True))
    made, traced = found.made, found.parsed.traced
    program = TRIM(made.program.but(live_out=frozenset(kept_arrays(made, made.program))))
    gradients = {g: traced[n] for n in found.request.wrt if (g := made.gradients[traced[n]]) is not None}
    held = {a: np.array(bound.leaves[n]) for n, a in traced.items() if a in program.arrays}
    return SerialGradient(program, held, traced, gradients)


def own_alone(value: np.ndarray, own: tuple[slice, ...]) -> np.ndarray:
    """An array of which a rank knows its block: the rest is NaN, or a number that is no index."""
    known = np.full(value.shape, np.nan if value.dtype.kind in "fc" else 0, value.dtype)
    known[own] = value[own]
    return known


@dataclass(frozen=True)
class CutRun:
    """What came of a cut program: how far it is off the serial one, of the largest number, and what was sent."""

    error: float
    world: World
    programs: tuple[Program, ...]


def cut_and_run(serial: SerialGradient, axes: Mapping[str, tuple[int | None, ...]], grid: tuple[int, ...],
                change: Callable[[Program], Program] = lambda p: p) -> CutRun:
    """Run a program serially and on the ranks of a grid; each rank is given its blocks alone. change: of programs."""
    wanted = serial.distribution(axes, grid)
    ranks = [replace(wanted, rank=r) for r in range(wanted.grid.size)]
    programs = tuple(change(serial.cut(w)) for w in ranks)
    given = [{a: _windowed(p, a, own_alone(v, w.own(n, v.shape)) if (n := names.get(a)) in axes else v)
              for a, v in serial.held.items()} for p, w in zip(programs, ranks)
             for names in [{a: n for n, a in serial.traced.items()}]]
    expected, (found, world) = run(serial.program, serial.held), run_all(programs, given)
    scale = max((float(np.max(np.abs(expected[n]), initial=0)) for n in serial.results), default=0.0) or 1.0
    off = [np.max(np.abs(memory[n] - expected[n]), initial=0) / scale for memory in found for n in serial.results]
    return CutRun(float(np.max(off)), world, programs)  # of numbers and NaN that is NaN


def _windowed(program: Program, name: str, value: np.ndarray) -> np.ndarray:
    array = program.arrays.get(name)
    return value if array is None or array.window is None else value[tuple(slice(*side) for side in array.window)]
