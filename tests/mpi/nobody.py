"""Messages from and to `PROC_NULL` that only the run knows, what statuses say of them, and statuses of any messages."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

import sdfgad
from tests.mpi.sizes import errors_of
from tests.mpi.telling import COMM, tell
from tests.mpi.watching import faults, watched


def partner(comm, phase):
    """Of an odd-even transposition: ranks at the ends have one in every other phase."""
    other = comm.rank + 1 if (phase + comm.rank) % 2 == 0 else comm.rank - 1
    return other if 0 <= other < comm.size else MPI.PROC_NULL


def in_phases(comm, x):
    a, b, told, s = x[:3] * 1.0, x[3:6] * x[6], MPI.Status(), 0.0
    for phase in range(3):
        other = partner(comm, phase)
        comm.Sendrecv(np.sin(a), other, 1, b, other, 1)
        comm.Sendrecv_replace(a, other, 2, other, 2)
        comm.Sendrecv(x[2:5] * b, other, 3, a, other, 3, told)
        s = s + np.sum(a * b) * (told.Get_source() + 4) * (told.Get_count(MPI.DOUBLE) + 1)
    return s + np.sum(b ** 2)


def in_requests(comm, x):
    u = np.outer(x[5:8], x[:4])
    for phase in range(3):
        one, other = partner(comm, phase), partner(comm, phase + 1)
        MPI.Request.Waitall([comm.Irecv(u[0], one, 1), comm.Irecv(u[2], other, 2), comm.Isend(u[1], one, 1),
                             comm.Isend(u[1], other, 2)])
        u[1] = np.sin(u[1]) + x[4] * u[0] + u[2] * u[0]
    return np.sum(u ** 2)


def of_an_array(comm, x):
    ends = np.array([comm.rank - 1, comm.rank + 1])
    ends = np.where((ends < 0) | (ends >= comm.size), MPI.PROC_NULL, ends)
    u = np.zeros(6)
    u[1:-1] = x[:4]
    for side in range(2):
        comm.Sendrecv(u[1:2] if side == 0 else u[-2:-1], ends[side], side, u[-1:] if side == 0 else u[:1],
                      ends[1 - side], side)
    return np.sum((u[2:] - u[:-2]) ** 2)


def known_before(comm, x):
    """A status that has said something of another message before; the one of a request."""
    up = comm.rank - 1 if comm.rank else MPI.PROC_NULL
    down = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
    told, a, b = [MPI.Status() for _ in range(5)], np.ones(2), np.ones(2)
    comm.Sendrecv(x[:2], (comm.rank + 1) % comm.size, 0, a, (comm.rank - 1) % comm.size, 0, told[0])
    s = np.sum(a) * told[0].Get_count(MPI.DOUBLE)
    comm.Sendrecv(x[2:4], down, 1, a, up, 1, told[0])
    asked = [comm.Irecv(a, up), comm.Irecv(b, down), comm.Isend(x[:2], up), comm.Isend(x[2:4], down)]
    MPI.Request.Waitall(asked, told[1:])
    found = comm.sendrecv(x[4:6], dest=down, source=up, status=told[4])
    s = s + (0.0 if found is None else np.sum(found ** 2))
    sources = [(k + 1) * one.Get_source() for k, one in enumerate(told[:3] + told[4:])]
    return s + np.sum(a * b * x[:2]) * (sum(sources) + 20) + told[0].Get_count(MPI.DOUBLE) * x[0] + 0.1 * told[2].tag


def from_anybody(comm, x):
    """Requests of which only their statuses say whom they are of."""
    if comm.rank:
        comm.Send(x[:3] * comm.rank, 0, 6 + comm.rank)
        return None
    rooms, out = [np.zeros(3) for _ in range(comm.size - 1)], np.zeros((comm.size, 3))
    asked, told = [comm.Irecv(room) for room in rooms], [MPI.Status() for _ in rooms]
    MPI.Request.Waitall(asked, told)
    for room, one in zip(rooms, told):
        out[one.Get_source()] = room * one.Get_tag()
    return np.sum(out ** 2 * np.arange(1.0, comm.size + 1)[:, None])


PROGRAMS: tuple[Callable[..., Any], ...] = (in_phases, in_requests, of_an_array, known_before, from_anybody)


def check_nobody() -> None:
    """By the reference semantics against differences; one of them compiled as well."""
    for fn in PROGRAMS:
        tell(f"nobody {fn.__name__}", **errors_of(fn))
    rng = np.random.default_rng(COMM.rank)
    x, dx, seed = 0.3 + rng.random(8), rng.random(8), 1.0 + COMM.rank
    value, pullback = sdfgad.vjp(in_phases, COMM, x)
    found, notes = watched(lambda: pullback(seed))
    sent = [sum((one.sweep, one.kind) == (sweep, "send") for mine in notes for one in mine)
            for sweep in ("forward", "reverse")]
    _, pushed = sdfgad.jvp(in_phases, (COMM, x), {"x": dx})
    one, other = (COMM.allreduce(float(n)) for n in (seed * pushed, np.vdot(found, dx)))
    slope = (in_phases(COMM, x + 1e-6 * dx) - in_phases(COMM, x - 1e-6 * dx)) / 2e-6
    tell("nobody compiled", value=float(abs(value - in_phases(COMM, x)) / abs(value)),
         slope=float(abs(pushed - slope) / abs(slope)), dot=abs(one - other) / abs(one), sent=sent,
         faults=faults(notes))


CHECKS_OF_NOBODY = {"nobody": check_nobody}
