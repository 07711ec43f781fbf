"""Distributed NumPy programs as people write them, each with the same computation on one rank."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpi4py import MPI


@dataclass(frozen=True)
class Sample:
    """program(comm, **parts) does on all ranks what serial(**arrays) does on one.

    parts: name of an argument -> "rows" (each rank has its block of the first dimension), "all" (each rank has it) or
    "root" (rank 0 has it, the others None). only: numbers of ranks that it runs on.
    """

    program: Callable[..., Any]
    serial: Callable[..., Any]
    shapes: dict[str, tuple[int, ...]]
    parts: dict[str, str]
    only: tuple[int, ...] = (1, 2, 3, 4)

    def arrays(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(3)
        return {name: rng.random(shape) for name, shape in self.shapes.items()}

    def mine(self, comm: Any, name: str, array: np.ndarray) -> Any:
        kind = self.parts[name]
        if kind == "rows":
            return array[rows(array.shape[0], comm)].copy()
        return array.copy() if kind == "all" or comm.rank == 0 else None


def rows(count: int, comm: Any) -> slice:
    return slice(count * comm.rank // comm.size, count * (comm.rank + 1) // comm.size)


# heat on a line, nonlinear: ghost cells by two Sendrecv per step, uneven blocks

def halos(comm, v):
    left = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    right = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    comm.Sendrecv(v[1:2], dest=left, sendtag=1, recvbuf=v[-1:], source=right, recvtag=1)
    comm.Sendrecv(v[-2:-1], dest=right, sendtag=2, recvbuf=v[:1], source=left, recvtag=2)


def heat_step(v, k):
    flux = (k[0] + k[1] * v * v)
    v[1:-1] += 0.1 * (flux[2:] * (v[2:] - v[1:-1]) - flux[:-2] * (v[1:-1] - v[:-2])) + 0.02 * k[2]


def heat(comm, u, k):
    v = np.zeros(u.shape[0] + 2, dtype=u.dtype)
    v[1:-1] = u
    for _ in range(6):
        halos(comm, v)
        heat_step(v, k)
    return comm.allreduce(np.sum(v[1:-1] ** 3), op=MPI.SUM)


def heat_serial(u, k):
    v = np.zeros(u.shape[0] + 2, dtype=u.dtype)
    v[1:-1] = u
    for _ in range(6):
        heat_step(v, k)
    return np.sum(v[1:-1] ** 3)


# conjugate gradients: results of allreduce go back into what belongs to a rank

def conjugate(comm, k, b):
    def dot(x, y):
        return comm.allreduce(np.dot(x, y))

    def apply(x):
        w = np.zeros(x.shape[0] + 2, dtype=x.dtype)
        w[1:-1] = x
        halos(comm, w)
        return k * (2.5 * w[1:-1] - w[:-2] - w[2:])

    x = np.zeros_like(b)
    r = b - apply(x)
    p = r.copy()
    old = dot(r, r)
    for _ in range(4):
        q = apply(p)
        alpha = old / dot(p, q)
        x = x + alpha * p
        r = r - alpha * q
        now = dot(r, r)
        p = r + (now / old) * p
        old = now
    return comm.allreduce(np.sum(x * x * x))


class Alone:
    """A communicator of one rank, without MPI."""

    rank, size = 0, 1

    def allreduce(self, x, op=None):
        return x

    def Sendrecv(self, *args, **keywords):
        pass


def conjugate_serial(k, b):
    return conjugate(Alone(), k, b)


# Jacobi on a grid of processes: Isend and Irecv, Waitall, Reduce to the root

def jacobi(comm, u, f):
    cart = comm.Create_cart(MPI.Compute_dims(comm.size, 1), periods=[False], reorder=False)
    north, south = cart.Shift(0, 1)
    v = np.zeros((u.shape[0] + 2, u.shape[1]), dtype=u.dtype)
    v[1:-1] = u
    for _ in range(4):
        requests = [cart.Irecv(v[0], source=north, tag=0), cart.Irecv(v[-1], source=south, tag=1),
                    cart.Isend(v[1], dest=north, tag=1), cart.Isend(v[-2], dest=south, tag=0)]
        MPI.Request.Waitall(requests)
        v = jacobi_step(v, f)
    total = np.empty(1, dtype=u.dtype)
    cart.Reduce(np.sum(v[1:-1] ** 2).reshape(1), total, op=MPI.SUM, root=0)
    return total[0] if comm.rank == 0 else None


def jacobi_step(v, f):
    out = v.copy()
    out[1:-1, 1:-1] = 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]) + f[:, 1:-1] * v[1:-1, 1:-1] ** 2
    return out


def jacobi_serial(u, f):
    v = np.zeros((u.shape[0] + 2, u.shape[1]), dtype=u.dtype)
    v[1:-1] = u
    for _ in range(4):
        v = jacobi_step(v, f)
    return np.sum(v[1:-1] ** 2)


# training: weights from the root, samples scattered, the loss reduced to the root

def training(comm, w, x, scale):
    weights = np.empty((3, 2), dtype=scale.dtype)
    if comm.rank == 0:
        weights[:] = w
    comm.Bcast(weights, root=0)
    part = np.empty((12 // comm.size, 3), dtype=scale.dtype)
    comm.Scatter(x, part, root=0)
    hidden = np.tanh(scale[0] * (part @ weights))
    loss = comm.reduce(np.sum(np.sum(hidden, axis=1) ** 2), op=MPI.SUM, root=0)
    if comm.rank == 0:
        return loss / 12 + scale[1] * np.sum(weights * weights)
    return None


def training_serial(w, x, scale):
    return np.sum(np.sum(np.tanh(scale[0] * (x @ w)), axis=1) ** 2) / 12 + scale[1] * np.sum(w * w)


# power iteration: Allgather, Allreduce in place, Reduce_scatter_block

def power(comm, a, x):
    whole, norm, x = np.empty(a.shape[1], dtype=a.dtype), np.empty(1, dtype=a.dtype), x.copy()
    for _ in range(3):
        comm.Allgather(x, whole)
        y = a @ whole
        norm[0] = np.sum(y * y)
        comm.Allreduce(MPI.IN_PLACE, norm, op=MPI.SUM)
        y = y / np.sqrt(norm[0])
        comm.Reduce_scatter_block(a.T @ y, x, op=MPI.SUM)
    return comm.allreduce(np.sum(x * x * x))


def power_serial(a, x):
    for _ in range(3):
        y = a @ x
        y = y / np.sqrt(np.sum(y * y))
        x = a.T @ y
    return np.sum(x * x * x)


# C = A B with blocks of B that travel round a ring, tags by default; the value is a sum of parts

def ring(comm, a, b):
    rank, size = comm.Get_rank(), comm.Get_size()
    m = b.shape[0]
    c = np.zeros((m, b.shape[1]), dtype=a.dtype)
    block, other = b.copy(), np.empty_like(b)
    for step in range(size):
        owner = (rank + step) % size
        c += a[:, owner * m:(owner + 1) * m] @ block
        if step + 1 < size:
            comm.Sendrecv(block, dest=(rank - 1) % size, recvbuf=other, source=(rank + 1) % size)
            block, other = other, block
    return np.sum(np.sin(c) * c)


def ring_serial(a, b):
    c = a @ b
    return np.sum(np.sin(c) * c)


# the transpose of a distributed matrix by Alltoall

def turned(comm, x, f):
    size, m = comm.Get_size(), x.shape[0]
    send = np.ascontiguousarray((x * x).reshape(m, size, m).transpose(1, 2, 0))
    receive = np.empty_like(send)
    comm.Alltoall(send, receive)
    rows_of_transpose = receive.transpose(1, 0, 2).reshape(m, size * m)
    return comm.allreduce(np.sum(np.exp(rows_of_transpose * f)), op=MPI.SUM) / 12


def turned_serial(x, f):
    return np.sum(np.exp((x * x).T * f)) / 12


# a farm: the root takes results in the order in which they come

def farm(comm, p):
    rank, size = comm.rank, comm.size
    values = np.zeros(7, dtype=p.dtype)
    if size == 1:
        for i in range(7):
            values[i] = np.sum(np.sin(p * (i + 1.0)) * p)
    elif rank == 0:
        value, status = np.empty(1, dtype=p.dtype), MPI.Status()
        for _ in range(7):
            comm.Recv(value, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
            values[status.Get_tag()] = value[0]
    else:
        value = np.empty(1, dtype=p.dtype)
        for i in range(rank - 1, 7, size - 1):
            value[0] = np.sum(np.sin(p * (i + 1.0)) * p)
            comm.Send(value, dest=0, tag=i)
    if rank == 0:
        return np.sum(np.arange(1.0, 8.0) * values ** 2)
    return None


def farm_serial(p):
    return sum((i + 1.0) * np.sum(np.sin(p * (i + 1.0)) * p) ** 2 for i in range(7))


SAMPLES = {
    "heat": Sample(heat, heat_serial, {"u": (17,), "k": (3,)}, {"u": "rows", "k": "all"}),
    "conjugate": Sample(conjugate, conjugate_serial, {"k": (14,), "b": (14,)}, {"k": "rows", "b": "rows"}),
    "jacobi": Sample(jacobi, jacobi_serial, {"u": (10, 5), "f": (10, 5)}, {"u": "rows", "f": "rows"}),
    "training": Sample(training, training_serial, {"w": (3, 2), "x": (12, 3), "scale": (2,)},
                       {"w": "root", "x": "root", "scale": "all"}),
    "power": Sample(power, power_serial, {"a": (6, 6), "x": (6,)}, {"a": "rows", "x": "rows"}, (1, 2, 3)),
    "ring": Sample(ring, ring_serial, {"a": (6, 6), "b": (6, 3)}, {"a": "rows", "b": "rows"}, (1, 2, 3)),
    "turned": Sample(turned, turned_serial, {"x": (6, 6), "f": (6, 6)}, {"x": "rows", "f": "rows"}, (1, 2, 3)),
    "farm": Sample(farm, farm_serial, {"p": (4,)}, {"p": "all"}),
}
