"""One rank by the reference semantics, whose messages go through mpi4py: nothing is compiled."""
from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from mpi4py import MPI

from sdfgad.ir import interpret
from sdfgad.ir.messages import ANYBODY, EXCHANGE, OP, received, sent
from sdfgad.ir.program import Lib, Program
from tests.support.vectors import Whole

HOW = MappingProxyType({"sum": MPI.SUM, "max": MPI.MAX, "min": MPI.MIN})


def run_here(program: Program, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every array behind a program, of which the other ranks run their own. What is not written holds NaN."""
    memory = {a.name: np.array(given[a.name], a.dtype) if a.name in given else
              np.array(program.constants[a.name], a.dtype) if a.name in program.constants else
              np.full(a.shape, interpret._poison(a.dtype), a.dtype) for a in program.arrays.values()}
    machine = MpiMachine(memory, {n: a.packing for n, a in program.arrays.items() if a.packing}, program.failures)
    with np.errstate(all="ignore"):
        machine.block(program.body)
    return memory


class MpiMachine(Whole):
    """One rank."""

    def block(self, block: Any) -> None:
        for stmt in block:
            if isinstance(stmt, Lib) and stmt.op == OP:
                (self.exchange if stmt.attrs["kind"] == EXCHANGE else self.collective)(stmt)
            else:
                super().block((stmt,))

    def numbers(self, stmt: Lib, at: int) -> tuple[Any, list[int]]:
        """The communicator and what else the numbers say."""
        handle, *rest = (int(n) for n in self.read(stmt.ins[at]))
        return MPI.Comm.fromhandle(handle & (2 ** (8 * MPI._sizeof(MPI.COMM_WORLD)) - 1)), rest

    def exchange(self, stmt: Lib) -> None:
        (_, to), (comm, came) = self.numbers(stmt, -3), self.numbers(stmt, -2)
        places = [np.empty(self.read(v).shape, v.dtype) for v in received(stmt)]
        wild = {ANYBODY: MPI.ANY_SOURCE}
        asked = [comm.Irecv(place, wild.get(came[2 * k], came[2 * k]), MPI.ANY_TAG if came[2 * k + 1] == ANYBODY else
                            came[2 * k + 1]) for k, place in enumerate(places)]
        values = [np.ascontiguousarray(self.read(v)) for v in sent(stmt)]
        asked += [comm.Isend(v, to[2 * k], to[2 * k + 1]) for k, v in enumerate(values)]
        told = [MPI.Status() for _ in asked]
        MPI.Request.Waitall(asked, told)
        for view, place, status in zip(received(stmt), places, told, strict=False):
            assert status.Get_count(MPI.BYTE) == place.nbytes
            self.write(view, place)
        if stmt.attrs.get("record"):
            pairs = [n for s in told[:len(places)] for n in (s.Get_source(), s.Get_tag())]
            self.write(stmt.outs[-2], np.array([self.read(stmt.ins[-2])[0], *pairs]))

    def collective(self, stmt: Lib) -> None:
        kind, (comm, (root, *_)) = stmt.attrs["kind"], self.numbers(stmt, -2)
        given = next((np.ascontiguousarray(self.read(v)) for v in sent(stmt)), None)
        taken = next((np.empty(self.read(v).shape, v.dtype) for v in received(stmt)), None)
        how = HOW[stmt.attrs.get("how", "sum")]
        if kind == "barrier":
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
        for view in received(stmt):
            self.write(view, taken.reshape(self.read(view).shape))
