"""Messages under way while something else is computed: the programs, and that nothing else changes."""
from __future__ import annotations

from types import MappingProxyType

import numpy as np
from mpi4py import MPI

import sdfgad
from tests.mpi.random.machine import MpiMachine, by_reference
from tests.mpi.telling import COMM, tell
from tests.mpi.watching import faults, watched

ROWS, WIDTH, STEPS = 12, 16, 3


def inside_first(comm, u, k):
    """Requests are posted, the inside is computed, then the rows at the ends."""
    up = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    down = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    v = np.zeros((ROWS + 2, WIDTH))
    v[1:-1] = u
    for _ in range(STEPS):
        asked = [comm.Irecv(v[:1], up, 1), comm.Irecv(v[-1:], down, 2), comm.Isend(v[1:2], up, 2),
                 comm.Isend(v[-2:-1], down, 1)]
        w = v.copy()
        w[2:-2, 1:-1] += k * np.sin(v[3:-1, 1:-1] + v[1:-3, 1:-1] - 2 * v[2:-2, 2:])
        MPI.Request.Waitall(asked)
        w[1:2, 1:-1] += k * (v[2:3, 1:-1] * v[:1, 1:-1] - 2 * v[1:2, 1:-1])
        w[-2:-1, 1:-1] += k * (v[-1:, 1:-1] * v[-3:-2, 1:-1] - 2 * v[-2:-1, 1:-1])
        v = w
    return np.sum(v[1:-1] ** 2)


def parts_in_turn(comm, u, k):
    """A ring, with a local product that needs nothing of it."""
    y, got = u @ u.T, np.zeros((ROWS, WIDTH))
    one = comm.Irecv(got, (comm.rank - 1) % comm.size, 3)
    two = comm.Isend(u * k, (comm.rank + 1) % comm.size, 3)
    z = np.tanh(y) * k
    two.Wait()
    one.Wait()
    return np.sum(z) + np.sum(got * got * u)


def bound_anew(comm, u, k):
    """A name stands for another array while something is to come into the one it stood for."""
    total, b = 0.0, np.zeros((ROWS, WIDTH))
    for step in range(STEPS):
        one = comm.Irecv(b, (comm.rank - 1) % comm.size, 5)
        two = comm.Isend(u * (step + 1.0), (comm.rank + 1) % comm.size, 5)
        b = np.sin(u)
        MPI.Request.Waitall([one, two])
        b = b * k
        total = total + np.sum(b * u)
    return total


def posted_sums(comm, u, k):
    """Collectives that do not block: what is sent is what there was when they were posted."""
    total, every, a = np.zeros(WIDTH), np.zeros((comm.size, WIDTH)), np.sin(u[0])
    for step in range(STEPS):
        b = a * (step + 1.0)  # with a name: Open MPI does not see a temporary array that is gone before the wait
        asked = [comm.Iallreduce(b, total), comm.Iallgather(a, every)]
        a = a * k + u[step]
        MPI.Request.Waitall(asked)
        a = a + 0.1 * total * every[0]
    root = np.zeros(WIDTH)
    one = comm.Ireduce(a, root, root=0)
    one.Wait()
    two = comm.Ibcast(root, root=0)
    two.Wait()
    return np.sum(root * a)


def sums_beside(comm, u, k):
    """A sum of all ranks is under way beside a product, as in pipelined conjugate gradients; then a gather."""
    mine, total, every = np.array([np.sum(u * u)]), np.zeros(1), np.zeros((comm.size, ROWS, ROWS))
    for step in range(STEPS):
        asked = comm.Iallreduce(mine, total)
        w = np.sin(u @ u.T * (step + 1.0)) * k
        asked.Wait()
        mine = 0.5 * mine + 0.01 * total * np.sum(w)
    asked = comm.Igather(w, every, root=0)
    z = np.cos(u @ u.T)
    asked.Wait()
    return np.sum(mine) + np.sum(z) + np.sum(every * every)


PROGRAMS = (inside_first, parts_in_turn, bound_anew, posted_sums, sums_beside)


def overlap() -> None:
    """By the reference semantics of what the compiler gets, which look whether buffers under way are touched."""
    for program in PROGRAMS:
        rng = np.random.default_rng(COMM.rank)
        given, along = ({"u": rng.random((ROWS, WIDTH)), "k": np.array(rng.random())} for _ in range(2))
        seed = np.array(rng.random())
        MpiMachine.halves.clear()
        value, pushed, back = by_reference(program, {"comm": COMM, **given}, along, seed)
        sides = np.array([seed * pushed, sum(np.vdot(g, along[n]) for n, g in zip(along, back, strict=True))])
        one, other = COMM.allreduce(sides)
        plain = program(COMM, **given)
        tell(f"overlap {program.__name__}", value=float(abs(value - plain) / abs(plain)), dot=float(abs(one - other)),
             halves=dict(MpiMachine.halves))


def overlap_native() -> None:
    """Compiled: gradients as from the reference target, and what the validator says of both sweeps."""
    for program in PROGRAMS:
        rng = np.random.default_rng(COMM.rank)
        u, k = rng.random((ROWS, WIDTH)), np.array(rng.random())
        made = sdfgad.value_and_grad(program, wrt=("u", "k"), objective="sum")
        (value, g), notes = watched(lambda made=made, u=u, k=k: made(COMM, u, k))
        _, slope = sdfgad.jvp(program, (COMM, u, k), {"u": u, "k": k})
        sides = COMM.allreduce(np.array([slope, np.vdot(g.u, u) + g.k * k]))
        plain = program(COMM, u, k)
        tell(f"overlap native {program.__name__}", value=float(abs(value - plain) / abs(plain)),
             dot=float(abs(sides[0] - sides[1]) / abs(sides[0])), faults=faults(notes))


CHECKS_OF_OVERLAP = MappingProxyType({"overlap": overlap, "overlap-native": overlap_native})
