"""Messages in lower case: numbers and arrays whose shape only those who send them know."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

import sdfgad
from tests.mpi.random.machine import not_compiled
from tests.mpi.sizes import errors_of
from tests.mpi.telling import COMM, error_of, tell


def chain(comm, x):
    s = 0.0
    if comm.rank > 0:
        s = comm.recv(source=comm.rank - 1, tag=3)
    s = s * 0.5 + np.sum(np.sin(x))
    if comm.rank < comm.size - 1:
        comm.send(s, dest=comm.rank + 1, tag=3)
        return None
    return s * s


def parts_to_the_root(comm, x):
    """Each of another shape."""
    if comm.rank:
        comm.send(np.outer(x[:comm.rank], x[:2]), dest=0, tag=comm.rank)
        return None
    total = np.sum(x)
    for r in range(1, comm.size):
        part = comm.recv(source=r, tag=r)
        total = total + np.sum(part ** 2) * part.shape[0]
    return total


def shifted(comm, x):
    """Nobody can know what it receives before it has sent something."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    u = x.copy()
    for k in range(3):
        request = comm.irecv(source=left, tag=k)
        out = comm.isend(u[-1], dest=right, tag=k)
        got = request.wait()
        out.wait()
        u = np.concatenate((u[1:], [got * 1.1]))
    return np.sum(u ** 2)


def edges(comm, x):
    up = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    down = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    u = x.copy()
    for _ in range(4):
        low = comm.sendrecv(u[-1], dest=up, source=down)
        high = comm.sendrecv(u[0], dest=down, source=up)
        full = np.concatenate(([0.0 if low is None else low], u, [0.0 if high is None else high]))
        u = u + 0.1 * (full[2:] - 2 * full[1:-1] + full[:-2])
    return np.sum(u ** 2)


def from_anybody(comm, x):
    if comm.rank:
        comm.send(np.sum(x) * comm.rank, dest=0)
        return None
    total = np.sum(x)
    for _ in range(1, comm.size):
        status = MPI.Status()
        v = comm.recv(source=MPI.ANY_SOURCE, status=status)
        total = total + v * v * status.Get_source()
    return total


def parameters(comm, x):
    """The root knows; the others give None."""
    theta = np.outer(x[:2], x[:3]) if comm.rank == 0 else None
    theta = comm.bcast(theta, root=0)
    last = comm.size - 1
    for _ in range(2):
        if comm.rank == last:
            dt = 0.1 * np.max(x) if np.sum(x) > 1.0 else 0.2 * np.sum(x)
        else:
            dt = None
        dt = comm.bcast(dt, root=last)
        x = x + dt * np.sin(x)
    return np.sum(theta) * np.sum(x)


def from_all(comm, x):
    others = [r for r in range(comm.size) if r != comm.rank]
    requests = [comm.irecv(source=r, tag=7) for r in others]
    requests += [comm.isend(x[:2] * (comm.rank + 1), dest=r, tag=7) for r in others]
    total = 0.0
    for part in MPI.Request.waitall(requests)[:comm.size - 1]:
        total = total + np.sum(part ** 2 * x[:2])
    return total


def lists(comm, x):
    """Each rank gets an item of the root's list; then one of everybody's."""
    ranks = range(comm.size)
    part = comm.scatter([x[:3] * (k + 1) for k in ranks] if comm.rank == comm.size - 1 else None, root=comm.size - 1)
    number = comm.scatter([x[k] for k in ranks] if comm.rank == 0 else None)
    total = number * np.sum(part ** 2)
    for k, got in enumerate(comm.alltoall([np.sin(x[:2] * k) for k in ranks])):
        total = total + np.sum(got * x[1:3]) * (k + 1)
    return total


def sizes(comm, x):
    """Lengths that ranks tell each other; in a loop they are read, and so are those that a rank has to compute."""
    mine = x[comm.rank:]
    n, first = comm.allreduce(len(mine)), comm.exscan(len(mine)) or 0
    root = comm.bcast(n - 1 if comm.rank == comm.size - 1 else None, root=comm.size - 1)
    counts, most = comm.gather(len(mine), root=0), comm.allreduce(len(mine), op=MPI.MAX)
    whole = np.zeros(n)
    whole[first:first + len(mine)] = np.sin(mine)
    comm.Allreduce(MPI.IN_PLACE, whole)
    rows = np.zeros((comm.size, most))
    comm.Allgather(np.concatenate((mine * mine, np.ones(most - len(mine)))), rows)
    total = np.sum(whole[:root] * whole[1:]) * comm.scan(len(mine), op=MPI.PROD) + np.sum(rows[0] * rows[-1])
    for k in range(2):
        total = total * comm.allreduce(k + comm.rank + 1)
    given = comm.allgather(len(mine) if comm.rank else int(np.sum(x * 0.0)) + 2)
    if comm.rank == 0:
        every = np.zeros(sum(counts))
        comm.Gatherv(mine * total, [every, counts], root=0)
        total = total + np.sum(every) * given[0]
    else:
        comm.Gatherv(mine * total, None, root=0)
    return 1e-3 * total * given[-1]


def mean(comm, x):
    return comm.allreduce(np.sum(x)) / comm.allreduce(len(x))


def cut(comm, x):
    """Their number is another one in a later call, of one rank alone."""
    w = np.zeros(comm.allreduce(x.shape[0]))
    comm.Allgatherv(x * x, [w, comm.allgather(x.shape[0])])
    return np.sum(w[::-1] * w)


def of_two_forms(comm, x):
    right = (comm.rank + 1) % comm.size
    comm.send(x[:2], dest=right)
    comm.send(x[:1], dest=right)
    return np.sum(comm.recv(source=(comm.rank - 1) % comm.size))


def from_nobody(comm, x):
    return np.sum(x) + comm.recv(source=0, tag=99)


def turned(comm, x, y):
    """The root decides on a shape."""
    w = y if comm.rank == 0 else None
    w = comm.bcast(w)
    return np.sum(w[0] * x[0])


PROGRAMS = (chain, parts_to_the_root, shifted, edges, from_anybody, parameters, from_all, lists, sizes)


COMPILED = (shifted, from_anybody)


def check_objects(compiled: Sequence[Callable[..., Any]] = COMPILED) -> None:
    """Gradients and tangents against differences, of compiled programs or by the reference semantics; refusals; another
    shape on the root alone."""
    for fn in PROGRAMS:
        tell(f"objects {fn.__name__}", **(_against_differences if fn in compiled else errors_of)(fn))
    for fn in (of_two_forms, from_nobody):
        tell(f"objects {fn.__name__}", error=error_of(lambda fn=fn: sdfgad.grad(fn, wrt="x")(COMM, np.ones(3))))
    with not_compiled():
        check_other_shapes()


def check_other_shapes() -> None:
    gradient, x = sdfgad.grad(turned, wrt="x", objective="sum"), np.ones(2)
    given = [np.arange(6.0).reshape(shape) if COMM.rank == 0 else None for shape in ((2, 3), (3, 2))]
    found = [gradient(COMM, x, y)[0] for y in (*given, given[0])]
    tell("objects turned", error=float(np.max(np.abs(np.array(found) - [3.0, 1.0, 3.0]))))

    every, part = np.arange(2.0, 2.0 + 3 * COMM.size), sdfgad.grad(cut)
    for fewer in (0, 1, 0):
        ends = np.arange(0, every.size, 3)[COMM.rank], 3 * COMM.rank + 3 - (fewer if COMM.rank == COMM.size - 1 else 0)
        held = every[:every.size - fewer]
        expected = 4 * held * held[::-1] ** 2
        off = float(np.max(np.abs(part(COMM, every[slice(*ends)]) - expected[slice(*ends)])))
        tell(f"objects cut {fewer}", error=off / float(np.max(expected)))
    tell("objects plan", error=error_of(lambda: sdfgad.grad(mean).plan(COMM, every)))


def _against_differences(fn: Any) -> dict[str, float]:
    rng = np.random.default_rng(COMM.rank)
    x, dx = rng.random(5), rng.random(5)

    def total(step: float) -> float:
        value = fn(COMM, x + step * dx)
        return COMM.allreduce(0.0 if value is None else float(value))

    value, gradient = sdfgad.value_and_grad(fn, objective="sum")(COMM, x)
    _, pushed = sdfgad.jvp(fn, (COMM, x), {"x": dx})
    there, along, back = COMM.allreduce(np.array([value or 0.0, pushed or 0.0, np.vdot(gradient, dx)]))
    slope = (total(1e-6) - total(-1e-6)) / 2e-6
    return {"value": abs(there - total(0.0)), "slope": abs(back - slope) / abs(slope), "dot": abs(along - back)}


CHECKS_OF_OBJECTS = {"objects": check_objects, "objects-native": lambda: check_objects(PROGRAMS)}
