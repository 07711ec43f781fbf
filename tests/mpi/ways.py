"""Which message meets which: orders of messages of one tag, receives from anybody, several kinds of requests at a time;
and what ranks give that is not alike."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

import sdfgad
from tests.mpi.sizes import errors_of
from tests.mpi.telling import COMM, tell


def at_once_and_in_turn(comm, x):
    """Rank 0 sends two messages of one tag at once, rank 1 takes them one after the other; and the other way round."""
    a, b = np.zeros(3), np.zeros(3)
    if comm.rank == 0:
        MPI.Request.Waitall([comm.Isend(np.sin(x[:3]), 1), comm.Isend(x[:3] * x[3], 1)])
        MPI.Request.Waitall([comm.Irecv(a, 1, 4), comm.Irecv(b, 1, 4)])
    if comm.rank == 1:
        comm.Recv(a, 0)
        comm.Recv(b, 0)
        comm.Send(np.cos(a), 0, 4)
        comm.Send(x[:3] * b, 0, 4)
    return np.sum(a * x[:3]) + np.sum(b ** 2) + np.sum(x)


def from_anybody(comm, x):
    """Both at once, while the others send one after the other."""
    if comm.rank == comm.size - 1:
        comm.Send(np.sin(x[:3]), 0)
        comm.Send(x[:3] * x[3], 0)
    a, b = np.zeros(3), np.zeros(3)
    if comm.rank == 0:
        MPI.Request.Waitall([comm.Irecv(a), comm.Irecv(b)])
    return np.sum(a * x[:3]) + np.sum(b ** 2) + np.sum(x)


def beside_halos(comm, x, alone=MPI.UNDEFINED):
    """A sum and a broadcast are under way beside halos. alone: a rank that waits for the sum before it posts others."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    u, total, scale = np.zeros(6), np.zeros(1), np.array([x[4]])
    u[1:-1] = x[:4]
    for _ in range(2):
        mine, sums = np.array([np.sum(u[1:-1] ** 2)]), []
        if comm.rank == alone:
            comm.Iallreduce(mine, total).Wait()
        halo = [comm.Irecv(u[:1], left, 1), comm.Irecv(u[-1:], right, 2), comm.Isend(u[1:2], left, 2),
                comm.Isend(u[-2:-1], right, 1)]
        if comm.rank != alone:
            sums.append(comm.Iallreduce(mine, total))
        sums.append(comm.Ibcast(scale, root=0))
        inner = np.sin(u[2:-2]) * u[2:-2]
        MPI.Request.Waitall(halo)
        MPI.Request.Waitall(sums)
        u[1:-1] = u[1:-1] + 0.1 * u[2:] * u[:-2] / total[0]
        u[2:-2] += inner * scale[0]
        scale = scale * x[5]
    return np.sum(u ** 2)


def shorter_than_their_places(comm, x):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    status, place = MPI.Status(), np.outer(x[:4], np.ones(2))
    for k in range(2):
        comm.Sendrecv(x[:1 + k + comm.rank] * x[7], right, 0, place, left, 0, status)
        place = place * status.Get_count(MPI.DOUBLE)
    return np.sum(place ** 2) * (status.Get_count() + status.Get_source())


def in_blocks(comm, x):
    """Blocks at any places, in any order."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    pieces = MPI.DOUBLE.Create_indexed([2, 1], [0, 4]).Commit()
    turned = MPI.DOUBLE.Create_indexed_block(1, [5, 1, 2]).Commit()
    pairs = MPI.DOUBLE.Create_contiguous(2).Create_hindexed([1, 2], [32, 0]).Commit()
    y, z = np.ones(6), np.ones((3, 4))
    comm.Sendrecv([x[:6], 1, pieces], right, 0, [y, 1, turned], left, 0)
    asked = [comm.Irecv([z, 1, pairs], left, 1), comm.Isend([np.outer(y, x[:2]), 1, pairs], right, 1)]
    MPI.Request.Waitall(asked)
    comm.Bcast([z, 2, turned], root=0)
    return np.sum(y ** 2 * np.arange(1.0, 7.0)) + np.sum(z ** 3 * np.arange(1.0, 13.0).reshape(3, 4))


def nothing_to_do(comm, x):
    """A rank without items gives 0 of Python, the others floats, arrays of them, in loops and outside."""
    total, parts = 0, 0
    for k in range(comm.rank, comm.size - 1):
        total, parts = total + x[k] ** 2, parts + np.outer(x[:2], x[k:k + 3])
    s = comm.allreduce(total) * comm.allreduce(parts)
    for _ in range(2):
        error = 0
        if comm.rank:
            error = np.sum(s) * x[0]
        s = 0.1 * s + comm.allreduce(error)
    every, first = comm.allgather(0 if comm.rank == 0 else x[0]), comm.gather(1 if comm.rank else x[1], root=0)
    most = comm.reduce(total, op=MPI.MAX, root=0)
    t = comm.scan(1 if comm.rank == 0 else x[2]) * np.sum(s) + every[-1] ** 2 * every[0]
    return t + first[0] * first[-1] * most if comm.rank == 0 else t


def other_patterns(comm, x):
    """What others than the root give to a broadcast counts for nothing."""
    step, rows = 0, np.zeros(2)
    if comm.rank == 0:
        step = 0.1 * np.max(x)
    step = comm.bcast(step, root=0)
    if comm.rank == comm.size - 1:
        rows = np.outer(x[:3], x[:2])
    rows = comm.bcast(rows, root=comm.size - 1)
    for _ in range(2):
        scale = 1
        if comm.rank == 0:
            scale = step * x[0]
        rows = rows * comm.bcast(scale, root=0)
    return np.sum(rows * step) * x[1]


def infinite_for_some(comm, x):
    """Ranks without points have no minimum."""
    low = comm.allreduce(np.min(x) * x[1] if comm.rank else np.inf, op=MPI.MIN)
    high = comm.allreduce(np.max(x) if comm.rank == 0 else -np.inf, op=MPI.MAX)
    v, least = np.full(2, np.inf), np.zeros(2)
    if comm.rank == 0:
        v = x[:2] * 1.0
    comm.Allreduce(v, least, op=MPI.MIN)
    return low * high * np.sum(least ** 2)


def who_has_most(comm, x):
    most, rank = comm.allreduce((np.max(x) * x[0], comm.rank), op=MPI.MAXLOC)
    least, tied = comm.allreduce((comm.bcast(x[1]), comm.rank + 3), op=MPI.MINLOC)
    found = comm.reduce((x[2], comm.rank), op=MPI.MAXLOC, root=0)
    own = found[0] * (found[1] + 2) if comm.rank == 0 else 0.0
    return most * (rank + 1) + least * tied + own


def in_tuples(comm, x):
    """Results of workers, in whatever order they come; then around a ring."""
    out = np.zeros((2, comm.size, 3))
    if comm.rank:
        for t in range(2):
            comm.send((t, comm.rank, x[t:t + 3] * x[7], "done"), dest=0)
    else:
        for _ in range(2 * (comm.size - 1)):
            t, rank, part, word = comm.recv(source=MPI.ANY_SOURCE, tag=0)
            out[t, rank] = part * len(word)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    u, s = {"v": x[:2], "more": [x[2], 3, True]}, 0.0
    for _ in range(2):
        u = comm.sendrecv(u, dest=right, source=left, sendtag=5, recvtag=5)
        s = s + np.sum(u["v"] ** 2) * u["more"][0] * u["more"][1]
        u = {"v": u["v"] * x[:2], "more": u["more"]}
    asked = comm.irecv(source=left, tag=4)
    sent = comm.isend([x[:2], x[3] + 1j * x[4], x[:2].astype(np.float32)], dest=right, tag=4)
    a, b, c = asked.wait()
    sent.wait()
    return np.sum(out ** 2 * x[:3]) + s + np.sum(a) * np.abs(b) ** 2 + 1e-9 * np.sum(c)


PROGRAMS: tuple[Callable[..., Any], ...] = (
    at_once_and_in_turn, from_anybody, beside_halos, shorter_than_their_places, in_blocks, nothing_to_do,
    other_patterns, infinite_for_some, who_has_most, in_tuples)


def check_ways() -> None:
    """Value, tangent and gradient by the reference semantics against differences of the sum over the ranks."""
    for fn in PROGRAMS:
        tell(f"ways {fn.__name__}", **errors_of(fn))


def early(comm, x):
    """The last rank is in its reverse sweep while rank 0 waits for whoever sends first, which is to be rank 1."""
    y = np.zeros(3)
    if comm.rank == 0:
        comm.Send(x * x, 1)
        comm.Send(x * x, 2)
        comm.Recv(y)
        return np.sum(y * y)
    comm.Recv(y, 0)
    if comm.rank == 1:
        for _ in range(100_000):
            y = np.sin(y) + 0.5
        comm.Send(y * x, 0)
        return None
    return np.sum(y * x)


def check_early() -> None:
    """Compiled, as the race is one of sweeps: no cotangents are taken for a message of the function. Rank 1 forgets
    what it gets, on its way to a fixed point."""
    first, x, last = (np.array([0.1, 0.2, 0.3]) * (r + 1) for r in (0, COMM.rank, 2))
    gradient, fixed = sdfgad.grad(early, objective="sum"), 1.4973003890958923
    found = [gradient(COMM, x) for _ in range(2)][1]
    expected = (2 * first * last, 2 * fixed ** 2 * x, first ** 2)[COMM.rank]
    tell("early", error=float(np.abs(found - expected).max()))
    x, alike = np.random.default_rng(COMM.rank).random(8), sdfgad.grad(beside_halos, wrt="x", objective="sum")
    tell("orders of waits", error=float(np.abs(alike(COMM, x, 1) - alike(COMM, x)).max()))


CHECKS_OF_WAYS = {"ways": check_ways, "early": check_early}
