"""One rank by the reference semantics, whose messages go through mpi4py: nothing is compiled."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from mpi4py import MPI

from sdfgad.calls.arguments import bind
from sdfgad.ir import interpret
from sdfgad.ir.interpret import returned
from sdfgad.ir.messages import (
    ANYBODY,
    EXCHANGE,
    FINISH,
    OP,
    PAIRS,
    PART,
    REVERSE,
    SHORT,
    SLOT,
    START,
    TURNED,
    VECTORS,
    received,
    sent,
    sweep_of,
)
from sdfgad.ir.program import Lib, Program
from sdfgad.plans.request import Request
from sdfgad.ranks import nobody_asked
from sdfgad.verbs import pipeline
from sdfgad.verbs.pipeline import derive
from sdfgad.verbs.pushforwards import _tangent, pushed
from sdfgad.verbs.together import agreed
from tests.support.interpreted import InterpretedProgram
from tests.support.vectors import Whole

HOW = MappingProxyType({"sum": MPI.SUM, "max": MPI.MAX, "min": MPI.MIN})
OF_FLAGS = MappingProxyType({"max": MPI.LOR, "min": MPI.LAND})


def run_here(program: Program, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every array behind a program, of which the other ranks run their own. What is not written holds NaN."""
    memory = {a.name: np.array(given[a.name], a.dtype) if a.name in given else
              np.array(program.constants[a.name], a.dtype) if a.name in program.constants else
              np.full(a.shape, interpret._poison(a.dtype), a.dtype) for a in program.arrays.values()}
    machine = MpiMachine(memory, {n: a.packing for n, a in program.arrays.items() if a.packing}, program.failures)
    machine.under_way = []
    with np.errstate(all="ignore"):
        machine.block(program.body)
    return memory


def by_reference(fn: Callable[..., Any], arguments: Mapping[str, Any], along: Mapping[str, np.ndarray],
                 seed: np.ndarray) -> tuple[Any, Any, list[np.ndarray]]:
    """Value, tangent and cotangents of the arguments in `along`: of the programs as the compiler gets them."""
    with nobody_asked():
        return _run_here(fn, arguments, along, seed, lambda prepare: prepare())


def agreed_by_reference(fn: Callable[..., Any], arguments: Mapping[str, Any], along: Mapping[str, np.ndarray],
                        seed: np.ndarray) -> tuple[Any, Any, list[np.ndarray]]:
    """The same where ranks tell each other before the call what they know."""
    def together(prepare: Callable[[], Any]) -> Any:
        made: list[Any] = []

        def once() -> Any:
            if not made or not made[-1].parsed.surroundings.unchanged():
                made.append(prepare())
            return made[-1]

        return agreed(MPI.COMM_WORLD, once, "sum")

    return _run_here(fn, arguments, along, seed, together)


def _run_here(fn: Callable[..., Any], arguments: Mapping[str, Any], along: Mapping[str, np.ndarray], seed: np.ndarray,
              made_by: Callable[[Callable[[], Any]], Any]) -> tuple[Any, Any, list[np.ndarray]]:
    bound, names = bind(fn, list(arguments.values()), {}), tuple(along)
    made = made_by(lambda: derive(fn, bound, Request(names, None, None, False, True, None, together=True)))
    if all(MPI.COMM_WORLD.allgather(made.silent is not None)):
        made = made.silent
    traced, held = made.parsed.traced, {a: bound.leaves[n] for n, a in made.parsed.traced.items()}
    behind = run_here(made.program, {**held, **dict.fromkeys(made.made.seeds[:1], seed)})
    gradients = [made.made.gradients[traced[n]] for n in names]
    cotangents = [np.zeros_like(a) if g is None else behind[g] for g, a in zip(gradients, along.values(), strict=True)]
    tangent = made_by(lambda: pushed(fn, bound, names))
    whole, returns, places = _tangent(tangent, None).value
    given = {p: along[n] for n in names if (p := places[traced[n]]) is not None}
    behind = run_here(whole, {**held, **given})
    return returned(whole.returns, behind), returned(returns, behind), cotangents


class InterpretedRank(InterpretedProgram):
    """One rank's program, in the place of what is compiled."""

    def computed(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return run_here(self.program, given)


@contextmanager
def not_compiled() -> Iterator[None]:
    """Within, the public functions derive, plan and agree as ever, and each rank interprets its program. Messages are
    not written down for the validator, and nobody waits between the sweeps of programs that receive from anybody."""
    with patch.object(pipeline, "compile_program", InterpretedRank):
        yield


class MpiMachine(Whole):
    """One rank. under_way: what the buffers of a message in two halves held when it began. halves: how many there
    have been in all, by sweep."""

    under_way: list[tuple[list[np.ndarray], Callable[[Lib], None]]]
    halves: ClassVar[Counter[str]] = Counter()

    def block(self, block: Any) -> None:
        for stmt in block:
            if isinstance(stmt, Lib) and stmt.op == OP:
                if stmt.attrs.get(PART) == START:
                    self.start(stmt)
                    continue
                if stmt.attrs.get(PART) == FINISH:
                    self.finish(stmt)
                else:
                    self.posted(stmt)(stmt)
            else:
                super().block((stmt,))

    def numbers(self, stmt: Lib, at: int) -> tuple[Any, list[int]]:
        """The communicator and what else the numbers say."""
        handle, *rest = (int(n) for n in self.read(stmt.ins[at]))
        return MPI.Comm.fromhandle(handle & (2 ** (8 * MPI._sizeof(MPI.COMM_WORLD)) - 1)), rest

    def posted(self, stmt: Lib) -> Callable[[Lib], None]:
        """What the wait for a message does. A collective is done at once, also where it blocks on no rank."""
        return (self.exchange if stmt.attrs["kind"] == EXCHANGE else self.collective)(stmt)

    def start(self, stmt: Lib) -> None:
        """What is under way is marked, to find who touches it."""
        wait = self.posted(stmt)
        for view in received(stmt):
            self.write(view, np.full(self.read(view).shape, interpret._poison(view.dtype), view.dtype))
        self.under_way.append(([self.read(v).copy() for v in (*received(stmt), *sent(stmt))], wait))

    def finish(self, stmt: Lib) -> None:
        """The wait, if nobody has touched what was under way."""
        before, wait = self.under_way.pop(stmt.attrs.get(SLOT, 0))
        now = [self.read(v) for v in (*received(stmt), *sent(stmt)[len(received(stmt)):])]
        kept = [np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(now, before, strict=True)]
        assert all(kept), "a buffer was touched while its message was under way"
        self.halves[sweep_of(stmt)] += 1
        wait(replace(stmt, ins=stmt.ins[len(received(stmt)):]))

    def exchange(self, stmt: Lib) -> Callable[[Lib], None]:
        (_, to), (comm, came) = self.numbers(stmt, -3), self.numbers(stmt, -2)
        places = [np.empty(self.read(v).shape, v.dtype) for v in received(stmt)]
        wild = {ANYBODY: MPI.ANY_SOURCE}
        turned = -1 if stmt.attrs.get(TURNED) else 1  # the order in which messages are posted
        ends = [(wild.get(came[k], came[k]), MPI.ANY_TAG if came[k + 1] == ANYBODY else came[k + 1])
                for k in range(0, 2 * len(places), 2)]
        asked = [comm.Irecv(places[k], *ends[k]) for k in range(len(places))[::turned]][::turned]
        values = [np.ascontiguousarray(self.read(v)) for v in sent(stmt)]
        if stmt.attrs.get(SHORT) and sweep_of(stmt) == REVERSE:
            values = [v.ravel()[:to[2]] for v in values]
        to[1::2] = [0 if peer == MPI.PROC_NULL else tag for peer, tag in zip(to[::2], to[1::2], strict=False)]
        asked += [comm.Isend(values[k], to[2 * k], to[2 * k + 1]) for k in range(len(values))[::turned]]
        return lambda whole: self.arrived(whole, asked, places, values)

    def arrived(self, stmt: Lib, asked: list[Any], places: list[np.ndarray], values: list[np.ndarray]) -> None:
        """values: of what is sent, which has to stay until it is."""
        told = [MPI.Status() for _ in asked]
        MPI.Request.Waitall(asked, told)
        values.clear()
        for view, place, status in zip(received(stmt), places, told, strict=False):
            come = status.Get_count(MPI.BYTE) // place.itemsize
            if status.Get_source() == MPI.PROC_NULL:
                place[...] = 0
            else:
                assert come == place.size or stmt.attrs.get(SHORT) and come < place.size
            self.write(view, place)
        if stmt.attrs.get("record"):
            pairs = [n for s in told[:len(places)] for n in (s.Get_source(), s.Get_tag())]
            if stmt.attrs.get(SHORT):
                pairs.append(come // (2 if stmt.attrs.get(PAIRS) else 1))
            self.write(stmt.outs[-2], np.array([self.read(stmt.ins[-2])[0], *pairs]))

    def collective(self, stmt: Lib) -> Callable[[Lib], None]:
        kind, (comm, (root, *_)) = stmt.attrs["kind"], self.numbers(stmt, -2)
        given = next((np.ascontiguousarray(self.read(v)) for v in sent(stmt)), None)
        taken = next((np.empty(self.read(v).shape, v.dtype) for v in received(stmt)), None)
        how = (OF_FLAGS if stmt.attrs["dtype"].kind == "b" else HOW)[stmt.attrs.get("how", "sum")]
        if kind in VECTORS:
            taken = self.vectors(kind, comm, root, self.read(stmt.ins[-2])[2:], given, taken)
        elif kind == "barrier":
            comm.Barrier()
        elif kind == "bcast":
            buffer = taken if given is None else given
            comm.Bcast(buffer, root)
            taken = buffer
        elif kind == "reduce":
            size, dtype = stmt.attrs["count"], stmt.attrs["dtype"]
            comm.Reduce(np.zeros(size, dtype) if given is None else given, taken, how, root)
        elif kind in ("scatter", "gather"):
            getattr(comm, kind.title())(given, taken, root)
        elif kind in ("allreduce", "reduce_scatter"):
            {"allreduce": comm.Allreduce, "reduce_scatter": comm.Reduce_scatter_block}[kind](given, taken, op=how)
        else:
            getattr(comm, kind.title())(given, taken)
        return lambda whole: [self.write(v, taken.reshape(self.read(v).shape)) for v in received(whole)] and None

    def vectors(self, kind: str, comm: Any, root: int, counts: Any, given: Any, taken: Any) -> Any:
        """Parts that differ in size."""
        counts = [int(n) for n in counts]
        there, back = counts[:comm.size], counts[comm.size:]
        if kind == "scatterv":
            comm.Scatterv(None if given is None else [given, there], taken, root)
        elif kind == "gatherv":
            comm.Gatherv(given, None if taken is None else [taken, there], root)
        elif kind == "allgatherv":
            comm.Allgatherv(given, [taken, there])
        elif kind == "reduce_scatterv":
            comm.Reduce_scatter(given, taken, there)
        else:
            there, back = (back, there) if kind == "alltoallv_back" else (there, back)
            comm.Alltoallv([given, there], [taken, back])
        return taken
