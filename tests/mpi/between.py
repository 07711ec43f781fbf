"""Collectives between messages that are posted and the wait for them: neither may wait for the other."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from mpi4py import MPI

import sdfgad
from tests.mpi.random.machine import by_reference
from tests.mpi.telling import COMM, tell
from tests.mpi.watching import faults, watched

WIDTH, STEPS = 6, 2


def halos_around(comm, u, k):
    """Ghost rows are asked for, a residual of all ranks is taken, and used, then the rows are read."""
    up = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    down = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    v, total = np.zeros((WIDTH + 2, 2)), 0.0
    v[1:-1] = u
    for _ in range(STEPS):
        asked = [comm.Irecv(v[:1], up, 1), comm.Irecv(v[-1:], down, 2), comm.Isend(v[1:2], up, 2),
                 comm.Isend(v[-2:-1], down, 1)]
        size = comm.allreduce(np.sum(v[1:-1] ** 2))
        w = v[1:-1] * size
        top = comm.allreduce(np.max(w), op=MPI.MAX)
        MPI.Request.Waitall(asked)
        v[1:-1] = v[1:-1] + k * (v[2:] * v[:-2] + np.sin(w) / top)
        total = total + size
    return np.sum(v * v) * total


def on_either_side(comm, u, k):
    """The even ranks ask before a collective and send behind it, the odd ones the other way round; then one rank that
    blocks behind the collective, and one that has asked before."""
    even, other = comm.rank % 2 == 0, comm.rank ^ 1
    there = other < comm.size
    y, z = np.zeros_like(u), np.zeros_like(u)
    asked = [comm.Irecv(y, other, 5)] if even and there else [comm.Isend(u * k, other, 5)] if there else []
    s = comm.allreduce(np.sum(u * u))
    asked += [comm.Isend(u * s, other, 5)] if even and there else [comm.Irecv(y, other, 5)] if there else []
    MPI.Request.Waitall(asked)
    if even and there:
        one = comm.Irecv(z, other, 6)
        t = comm.allreduce(np.sum(u * s))
        one.Wait()
    else:
        t = comm.allreduce(np.sum(u * s))
        if there:
            comm.Send(y * u, other, 6)
    return np.sum(y * y) * t + np.sum(z * u) * s


def in_columns(comm, u, k):
    """Columns that are not in one piece, two messages of one tag on either side, and a sum that does not block."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    v, part, whole, before = np.outer(np.ones(4), u[0]), np.sum(u, axis=0), np.zeros(2), np.zeros(2)
    column = MPI.DOUBLE.Create_vector(4, 1, 2).Commit()
    square = part * part
    asked = [comm.Irecv([v, 1, column], left, 3), comm.Isend(u[:4, 1] * k, right, 3), comm.Iallreduce(square, whole)]
    comm.Scan(part, before)
    asked += [comm.Isend(u[:4, 0] * before[0], right, 3), comm.Irecv([v.reshape(-1)[1:], 1, column], left, 3)]
    MPI.Request.Waitall(asked)
    w = np.zeros((4, 2))
    asked = [comm.Irecv([w, 1, column], left, 4), comm.Isend(v[:, 1] * v[:, 0], right, 4), comm.Iallreduce(whole, part)]
    MPI.Request.Waitall(asked)
    return np.sum(v[:, 0] * before[1]) * np.sum(whole * part) + np.sum(w ** 3)


def from_anybody(comm, u, k):
    """Whom a message is of is known at the wait; what comes in lower case, too."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    y = np.zeros_like(u)
    one, two = comm.Irecv(y, MPI.ANY_SOURCE, 8), comm.Isend(u * k, right, 8)
    rows = comm.allgather(np.sum(u))
    one.Wait()
    two.Wait()
    asked = [comm.isend(y[:2] * rows[0], dest=left, tag=9), comm.irecv(source=right, tag=9)]
    comm.Bcast(y, root=0)
    got = MPI.Request.waitall(asked)[1]
    return np.sum(got ** 2) * np.sum(y)


def received_first(comm, u, k):
    """What has come is used, and added up over all ranks, before what was sent is waited for: in two rounds, as of
    rows and columns of a grid, whose sends are waited for together. Then one rank receives behind the sum alone."""
    up, down = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    v, c, d = np.zeros((WIDTH + 2, 2)), np.zeros(WIDTH + 2), np.zeros(WIDTH + 2)
    v[1:-1] = u
    recvs = [comm.Irecv(v[:1], up, 1), comm.Irecv(v[-1:], down, 2)]
    sends = [comm.Isend(v[1:2], up, 2), comm.Isend(v[-2:-1], down, 1)]
    MPI.Request.Waitall(recvs)
    s = comm.allreduce(np.sum(v ** 3))
    a, b = v[:, 0] * s, v[:, 1] * v[:, 1]
    recvs = [comm.Irecv(c, up, 1), comm.Irecv(d, down, 2)]
    sends += [comm.Isend(a, up, 2), comm.Isend(b, down, 1)]
    MPI.Request.Waitall(recvs)
    t = comm.allreduce(np.sum(c * d) * k)
    MPI.Request.Waitall(sends)
    even, other = comm.rank % 2 == 0, comm.rank ^ 1
    y = np.zeros_like(u)
    if even and other < comm.size:
        come, gone = comm.Irecv(y, other, 6), comm.Isend(u * k, other, 5)
        come.Wait()
        t = t * comm.allreduce(np.sum(y * u))
        gone.Wait()
    elif even:
        t = t * comm.allreduce(np.sum(u))
    else:
        comm.Send(u * u, other, 6)
        t = t * comm.allreduce(np.sum(u * k))
        comm.Recv(y, other, 5)
    return np.sum(v[1:] * v[:-1]) * s + np.sum(c) * t + np.sum(y ** 3)


PROGRAMS = (halos_around, on_either_side, in_columns, received_first, from_anybody)


def between() -> None:
    """By the reference semantics of what the compiler gets, with messages that are under way as they say."""
    for program in PROGRAMS[:-1]:
        given, along, seed = _drawn()
        value, pushed, back = by_reference(program, {"comm": COMM, **given}, along, seed)
        sides = np.array([seed * pushed, sum(np.vdot(g, along[n]) for n, g in zip(along, back, strict=True))])
        _told(f"between {program.__name__}", program, given, along, value, pushed, sides)


def between_native() -> None:
    for program in PROGRAMS:
        given, along, seed = _drawn()
        value, pullback = sdfgad.vjp(program, COMM, *given.values(), wrt=("u", "k"))
        _, pushed = sdfgad.jvp(program, (COMM, *given.values()), along)
        back, notes = watched(lambda pullback=pullback, seed=seed: pullback(seed))
        sides = np.array([seed * pushed, sum(np.vdot(back[n], along[n]) for n in along)])
        _told(f"between native {program.__name__}", program, given, along, value, pushed, sides, faults(notes))


def _drawn() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(COMM.rank)
    given, along = ({"u": rng.random((WIDTH, 2)), "k": np.array(rng.random())} for _ in range(2))
    return given, along, np.array(rng.random())


def _told(name: str, program: Callable[..., Any], given: Mapping[str, np.ndarray], along: Mapping[str, np.ndarray],
          value: Any, pushed: Any, sides: np.ndarray, found: Sequence[str] = ()) -> None:
    plain = program(COMM, **given)
    step = {n: 1e-6 * a for n, a in along.items()}
    slope = (program(COMM, **{n: a + step[n] for n, a in given.items()})
             - program(COMM, **{n: a - step[n] for n, a in given.items()})) / 2e-6
    one, other = COMM.allreduce(sides)
    value, slope = (float(abs(a - b) / max(abs(a), 1e-9)) for a, b in ((plain, value), (slope, pushed)))
    tell(name, value=value, slope=slope, dot=float(abs(one - other) / abs(one)), faults=list(found))


CHECKS_OF_BETWEEN = MappingProxyType({"between": between, "between-native": between_native})
