"""What the objective of a program that communicates is: one number of all ranks, numbers of each, or a question."""
from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
from mpi4py import MPI

import sdfgad
from tests.mpi.telling import COMM, error_of, tell

# numbers that all ranks have, and some that they do not

def total_of_all(comm, x, k):
    return comm.allreduce(np.sum(x * x))


def in_place(comm, x, k):
    t = np.empty(1)
    t[0] = np.sum(x * x)
    comm.Allreduce(MPI.IN_PLACE, t)
    return t[0]


def broadcast(comm, x, k):
    w = np.empty(2)
    if comm.rank == 0:
        w[:] = k[:2]
    comm.Bcast(w)
    return w[0] * w[1]


def summed_in_loop(comm, x, k):
    t = 0.0
    for _ in range(3):
        x = x + 0.1
        t = t + comm.allreduce(np.sum(x ** 3))
    return np.sqrt(t)


def until_small(comm, x, k):
    s = comm.allreduce(np.sum(x * x))
    while s > 0.4:
        x = x * 0.9
        s = comm.allreduce(np.sum(x * x))
    return s * 3


def largest(comm, x, k):
    m = comm.allreduce(np.max(x), op=MPI.MAX)
    low = np.zeros(3)
    comm.Allreduce(np.minimum(x[:3], 0.5), low, op=MPI.MIN)
    return m * m + np.sum(low * low)


def used_again(comm, x, k):
    s = comm.allreduce(np.sum(x * x))
    return comm.allreduce(np.sum(x * (comm.rank + 2.0) * s))


def turning(comm, x, k):
    """Whom to send to depends on the loop, and how often on the data."""
    y = np.empty_like(x)
    for step in range(25):
        comm.Sendrecv(x, (comm.rank + step) % comm.size, step, y, (comm.rank - step) % comm.size, step)
        x = x + 0.02 * np.sin(y) * k[0]
    s = comm.allreduce(np.sum(x * x))
    while s > 1.0:
        comm.Sendrecv(x * x, (comm.rank + 1) % comm.size, 0, y, (comm.rank - 1) % comm.size)
        x = 0.7 * x + 0.1 * y
        s = comm.allreduce(np.sum(x * x))
    return s


def settled(comm, x, k):
    """A loop with many temporaries, which hands on few."""
    size, change, v, every = 0.0, 1.0, x, np.empty(4 * comm.size)
    while change > 1e-8:
        comm.Allgather(v, every)
        w = x * np.sum(every) + np.cumsum(v)
        norm = np.sqrt(comm.allreduce(np.dot(w, w)))
        v = w / norm
        change, size = abs(norm - size), norm
    return size


def up_to_here(comm, x, k):
    """Numbers of each rank's own."""
    return comm.scan(np.sum(x * x)) * np.sum(x)


def parts_of_most(comm, x, k):
    """Of an extremum, too, the part that a rank gets is its own, and so is what the root gets alone."""
    part, low = np.empty(2), np.zeros(2)
    comm.Reduce_scatter_block(np.outer(np.arange(1.0, comm.size + 1.0), x[:2] * x[1:3]), part, op=MPI.MAX)
    comm.Reduce(x[:2], low, op=MPI.MIN)
    return np.sum(part * x[:2] + low * k[:2])


OBJECTIVES = (in_place, broadcast, summed_in_loop, until_small, largest, used_again, turning, settled, up_to_here,
              parts_of_most)


def check_objectives() -> None:
    rng = np.random.default_rng(COMM.rank)
    x, k, dx = rng.random(4), np.arange(1.0, 4.0), rng.random(4)
    dk = np.array([0.3, -0.2, 0.7])

    for fn in OBJECTIVES:
        def objective(step: float, fn: Callable[..., Any] = fn) -> float:
            every = [v for v in COMM.allgather(fn(COMM, x + step * dx, k + step * dk)) if v is not None]
            return every[0] if len(set(every)) == 1 else sum(every)

        value, grads = sdfgad.value_and_grad(fn, wrt=("x", "k"))(COMM, x, k)
        slope = (objective(1e-6) - objective(-1e-6)) / 2e-6
        found = COMM.allreduce(float(np.vdot(grads.x, dx) + np.vdot(grads.k, dk)))
        plain = fn(COMM, x, k)
        tell(f"objective {fn.__name__}", slope=float(abs(found - slope) / abs(slope)),
             value=float(0 if plain is None and value is None else abs(value - plain)))


def scaled(comm, x, k):
    return comm.allreduce(np.sum(x * x)) * k[0]


def unlike(comm, x, k):
    return comm.allreduce(np.sum(x * x)) / (comm.rank + 1)


def late(comm, x, k):
    """What all ranks have comes too late: the loop ends with a number of each rank's own."""
    s, t, n = np.sum(x), 0.0, 0
    while n < 1:
        t, n = s, n + 1
        s = comm.allreduce(np.sum(x * x))
    return t


def check_question() -> None:
    x, k = np.arange(3.0) + COMM.rank, np.array([2.0])
    for fn in (scaled, unlike, late):
        tell(f"question {fn.__name__}", error=error_of(lambda fn=fn: sdfgad.grad(fn, wrt="x")(COMM, x, k)))
    same = sdfgad.grad(scaled, wrt="x", objective="same")(COMM, x, k)
    summed = sdfgad.grad(scaled, wrt="x", objective="sum")(COMM, x, k)
    tell("question answered", same=float(np.abs(same - 4 * x).max()),
         sum=float(np.abs(summed - 4 * COMM.size * x).max()),
         error=error_of(lambda: sdfgad.grad(scaled, objective="x")))


CHECKS_OF_OBJECTIVES = MappingProxyType({"objectives": check_objectives, "question": check_question})
