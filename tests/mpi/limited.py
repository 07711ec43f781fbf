"""Loops that communicate within a memory limit: run again on all ranks alike, with blocks that differ."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from mpi4py import MPI

import sdfgad
from tests.mpi.programs import halos
from tests.mpi.random.machine import not_compiled
from tests.mpi.telling import COMM, error_of, tell
from tests.mpi.watching import unmatched, watched


def heat(comm, u, steps):
    v = np.zeros(u.shape[0] + 2)
    v[1:-1] = u
    for _ in range(steps):
        halos(comm, v)
        v[1:-1] = v[1:-1] + 0.05 * (1 + v[1:-1] ** 2) * (v[2:] - 2 * v[1:-1] + v[:-2])
    return comm.allreduce(np.sum(v[1:-1] ** 3))


def jacobi(comm, u, steps):
    """Requests, and a norm of all ranks in every step."""
    cart = comm.Create_cart(MPI.Compute_dims(comm.size, 1), periods=[False], reorder=False)
    north, south = cart.Shift(0, 1)
    v = np.zeros((u.shape[0] + 2, u.shape[1]))
    v[1:-1] = u
    for _ in range(steps):
        requests = [cart.Irecv(v[0], source=north, tag=0), cart.Irecv(v[-1], source=south, tag=1),
                    cart.Isend(v[1], dest=north, tag=1), cart.Isend(v[-2], dest=south, tag=0)]
        MPI.Request.Waitall(requests)
        norm = cart.allreduce(np.sum(v[1:-1] ** 2))
        w = v.copy()
        w[1:-1, 1:-1] = 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]) + 0.1 * v[1:-1, 1:-1] ** 2
        v = w / np.sqrt(1.0 + norm)
    return comm.allreduce(np.sum(v[1:-1] ** 3))


def burgers(comm, u, steps):
    """Two fields on blocks of rows, upwind in neither direction."""
    a, b = (np.zeros((u.shape[0] + 2, u.shape[1])) for _ in range(2))
    a[1:-1] = u
    b[1:-1] = 0.5 * u
    for _ in range(steps):
        halos(comm, a)
        halos(comm, b)
        new_a, new_b = a.copy(), b.copy()
        for new, old in ((new_a, a), (new_b, b)):
            x = a[1:-1, 1:-1] * (old[2:, 1:-1] - old[:-2, 1:-1]) + b[1:-1, 1:-1] * (old[1:-1, 2:] - old[1:-1, :-2])
            spread = old[2:, 1:-1] + old[:-2, 1:-1] + old[1:-1, 2:] + old[1:-1, :-2] - 4 * old[1:-1, 1:-1]
            new[1:-1, 1:-1] = old[1:-1, 1:-1] - 0.05 * x + 0.1 * spread
        a, b = new_a, new_b
    return comm.allreduce(np.sum(a[1:-1] ** 2 + b[1:-1] ** 2))


def under_way(comm, u, steps):
    """What is sent in one iteration is received in the next one."""
    v, got = u.copy(), np.zeros(1)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.Send(v[:1], right)
    for _ in range(steps):
        comm.Recv(got, left, 0)
        v = v + 0.01 * np.sin(v) * got[0]
        comm.Send(v[:1], right)
    comm.Recv(got, left, 0)
    return comm.allreduce(np.sum(v ** 2) * got[0])


def unlike_loops(comm, u, steps):
    """The root receives in one loop, in any order, what the others send in two."""
    got, total = np.zeros(1), 0.0
    if comm.rank == 0:
        for _ in range(2 * steps * (comm.size - 1)):
            comm.Recv(got, MPI.ANY_SOURCE)
            total = total + got[0] ** 2
        return total * np.sum(u)
    for k in range(steps):
        comm.Send(np.sin(u[k:k + 1]), 0)
    for k in range(steps):
        comm.Send(u[k:k + 1] ** 2, 0)
    return None


PROGRAMS: Mapping[str, tuple[Callable[..., Any], tuple[int, ...]]] = MappingProxyType({
    "heat": (heat, ()), "jacobi": (jacobi, (9,)), "burgers": (burgers, (8,)), "under_way": (under_way, ())})
"""Programs, and the sizes behind that of a block."""


def check_limits(name: str, rows: tuple[int, ...], steps: int, *parts: float) -> None:
    """Limits between the least and the most that the largest rank needs. Each gives the same gradient, on every rank
    within its limit, and messages that fit together."""
    fn, behind = PROGRAMS[name]
    u = np.random.default_rng(COMM.rank).random((rows[COMM.rank], *behind))
    plain = sdfgad.grad(fn)
    free, most = plain(COMM, u, steps), COMM.allreduce(plain.plan(COMM, u, steps).predicted.peak_bytes, op=MPI.MAX)
    for part in parts:
        made = sdfgad.grad(fn, memory_limit=int(part * most))
        found, notes = watched(lambda made=made: made(COMM, u, steps))
        plan = made.plan(COMM, u, steps)
        kinds = sorted((n.partition("@")[0], str(m)) for n, m in plan.modes.items())
        tell(f"limited {name} {part}", error=float(np.abs(found - free).max() / np.abs(free).max()),
             over=made.measure(COMM, u, steps).measured.peak_bytes / int(part * most), faults=unmatched(notes),
             modes=str(kinds))


def check_refused() -> None:
    """Too little for one rank is too little for all, again and again; so is a loop whose messages cross its ends."""
    u = np.ones((40, 90, 60)[COMM.rank])
    small = sdfgad.grad(heat, memory_limit="3kB")
    crossing = sdfgad.grad(under_way, memory_limit="6kB")
    tell("limited too small", error=error_of(lambda: small(COMM, u, 20)), again=error_of(lambda: small(COMM, u, 20)))
    tell("limited crossing", error=error_of(lambda: crossing(COMM, u, 20)))
    tell("limited alone", error=error_of(lambda: sdfgad.grad(heat, memory_limit="9kB").plan(COMM, u, 20)))


def check_shapes() -> None:
    """One rank comes with another block, and then with the first one again."""
    made, plain, worst = sdfgad.grad(heat, memory_limit="9kB"), sdfgad.grad(heat), 0.0
    for rows in (40, 70, 40):
        u = np.random.default_rng(COMM.rank).random(rows if COMM.rank else 60)
        worst = max(worst, float(np.abs(made(COMM, u, 20) - plain(COMM, u, 20)).max()))
    tell("limited shapes", error=worst)


def check_unlike() -> None:
    """Ranks that have other loops agree on a limit that lets all of them record."""
    u = np.random.default_rng(COMM.rank).random(8)
    limited = sdfgad.grad(unlike_loops, memory_limit="1MB")
    error, free = error_of(lambda: limited(COMM, u, 4)), sdfgad.grad(unlike_loops)(COMM, u, 4)
    found = limited(COMM, u, 4) if error[0] == "nothing" else np.inf
    tell("limited unlike", told=error, error=float(np.abs(free - found).max()))


def check_quickly() -> None:
    """What is said of messages is of a program that is compiled."""
    check_limits("heat", (30, 70, 50), 40, 0.4)
    with not_compiled():
        check_refused()
        check_shapes()
    check_unlike()


LIMITED: Mapping[str, Callable[[], None]] = MappingProxyType({
    "limited": check_quickly,
    "limited-paper": partial(check_limits, "heat", (1200, 2800, 2000), 400, 0.33),
    **{f"limited-{n}": partial(check_limits, n, (30, 70, 50), 40, 0.9, 0.7, 0.5, 0.35, 0.25)
       for n in ("heat", "jacobi", "burgers")}})
