"""Errors of one rank, and what is refused on all."""
from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from mpi4py import MPI

import sdfgad
from tests.mpi import refused
from tests.mpi.nobody import partner
from tests.mpi.telling import COMM, error_of, tell


def total_of_all(comm, x, k):
    return comm.allreduce(np.sum(x * x))


def by_global(x):
    return COMM.allreduce(np.sum(x ** 3))


# errors of one rank, before anything is sent

def refused_on_one(comm, x):
    if comm.rank == 1:
        x = np.linalg.matrix_rank(x) * x
    return comm.allreduce(np.sum(x))


def raised_on_one(comm, x):
    if comm.rank == 1:
        raise KeyError("the block of rank 1 is empty")
    return comm.allreduce(np.sum(x))


def made_on_one(comm, x):
    if comm.rank == 1:
        comm.Split(0, 7)
    return comm.allreduce(np.sum(x))


def check_agreement() -> None:
    x = np.ones(4)
    for fn in (refused_on_one, raised_on_one, made_on_one):
        tell(f"agreed {fn.__name__}", error=error_of(lambda fn=fn: sdfgad.grad(fn)(COMM, x)))
    gradient = sdfgad.grad(total_of_all, wrt="x")
    tell("agreed arguments", error=error_of(lambda: gradient(COMM, x, *((x,) if COMM.rank else ()))))
    limit = {"memory_limit": 10 if COMM.rank == 1 else "1GB"}
    tell("agreed limit", error=error_of(lambda: sdfgad.grad(total_of_all, wrt="x", **limit)(COMM, x, x)))
    some = {"memory_limit": "1GB"} if COMM.rank == 1 else {}
    tell("agreed some_limit", error=error_of(lambda: sdfgad.grad(total_of_all, wrt="x", **some)(COMM, x, x)))
    first = gradient(COMM, x, x)
    other = gradient(COMM, np.ones(4 + COMM.rank), x)  # some ranks derive, others are ready
    tell("agreed shapes", error=float(abs(first - 2).max() + abs(other - 2).max()))


def check_refusals() -> None:
    """With the line, on every rank."""
    x = np.ones(4)
    for fn in refused.ALL:
        tell(f"refused {fn.__name__}", error=error_of(lambda fn=fn: sdfgad.grad(fn)(COMM, x)))
    with sdfgad.config(target="reference"):
        tell("refused target", error=error_of(lambda: sdfgad.grad(by_global)(x)))
    together: dict[str, Callable[[], Any]] = {
        "hvp": lambda: sdfgad.hvp(by_global, (x,), (x,)), "jacobian": lambda: sdfgad.jacobian(by_global)(x),
        "graph": lambda: sdfgad.to_sdfg(by_global, x),
        "export": lambda: sdfgad.export(by_global, x, folder="never made"),
        "second": lambda: sdfgad.grad(sdfgad.grad(by_global), reduce="sum")(x),
        "tangents": lambda: sdfgad.jvp(by_global, (x,), (np.ones((2, 4)),), batched=True),
        "seeds": lambda: sdfgad.vjp(by_global, x)[1](np.ones(2), batched=True),
        "batch": lambda: sdfgad.vmap(sdfgad.grad(by_global))(np.ones((2, 4)))}
    for name, run in together.items():
        tell(f"refused {name}", error=error_of(run))


# errors in the middle, which end all ranks

def raised_inside(comm, x):
    s = np.sum(x)
    told = "the sum of this block is too large"
    if s > 5.0:
        raise ValueError(told)
    return comm.allreduce(s)


def too_short(comm, x):
    y = np.zeros(3)
    if comm.rank == 0:
        comm.Recv(y, source=1)
    elif comm.rank == 1:
        comm.Send(x[:2], dest=0)
    return comm.allreduce(np.sum(y * x[:3]))


def tags_apart(comm, x):
    y = np.zeros(4)
    if comm.rank == 0:
        comm.Send(np.sin(x), dest=1, tag=4)
    elif comm.rank == 1:
        comm.Recv(y, source=0, tag=5)
    return np.sum(y * x)


def sent_twice(comm, x):
    """Who receives once answers once."""
    y = np.zeros(4)
    if comm.rank == 0:
        comm.Send(np.sin(x), dest=1)
        comm.Send(np.cos(x), dest=1)
    elif comm.rank == 1:
        comm.Recv(y, source=0)
    return np.sum(y * x)


def beside(comm, x):
    y = np.zeros(4)
    if comm.rank == 0:
        return comm.allreduce(np.sum(x))
    comm.Recv(y, source=MPI.ANY_SOURCE)
    return np.sum(y)


def end_waiting(fn: Callable[..., Any]) -> None:
    sdfgad.grad(fn, objective="sum")(COMM, np.ones(4))


def end_raised() -> None:
    gradient, x = sdfgad.grad(raised_inside), np.ones(4) * (1 + COMM.rank % 2)
    gradient._ready((COMM, x), {}, False)
    _say_when()
    gradient(COMM, x)


def end_refused() -> None:
    _say_when()
    sdfgad.grad(refused_on_one)(COMM, np.ones(4))


def told_too_few(comm, x):
    every = np.zeros(4 * comm.size)
    comm.Allgatherv(x, [every, comm.allgather(4 - comm.rank + int(np.sum(0.0 * x)))])
    return comm.allreduce(np.sum(every))


def told_apart(comm, x):
    every = np.zeros(4 * comm.size)
    first = 4 * np.arange(comm.size) + comm.allreduce(1 + int(np.sum(0.0 * x)))
    comm.Allgatherv(x, [every, (comm.allgather(4), first)])
    return comm.allreduce(np.sum(every))


def nothing_in_lower_case(comm, x):
    s = 0.0
    for phase in range(2):
        found = comm.sendrecv(x, dest=partner(comm, phase), source=partner(comm, phase))
        s = s + np.sum(found ** 2)
    return s


def end_nothing() -> None:
    sdfgad.grad(nothing_in_lower_case, objective="sum")(COMM, np.ones(4))


def end_places() -> None:
    sdfgad.grad(told_apart)(COMM, np.ones(4))


def end_counts() -> None:
    sdfgad.grad(told_too_few)(COMM, np.ones(4))


def end_inside() -> None:
    sdfgad.grad(raised_inside)(COMM, np.ones(4) * (1 + COMM.rank))


def end_short() -> None:
    sdfgad.grad(too_short)(COMM, np.ones(4))


def recorded(comm, x):
    """What the reverse sweep reads takes a hundred times the room of the argument."""
    v = x.copy()
    for _ in range(100):
        v = np.sin(v) * v + 0.1
        v[0] = comm.allreduce(v[0])
    return comm.allreduce(np.sum(v * v))


def grown(comm, x):
    v, s = x.copy(), 1.0
    while s < 1e6:
        v = np.sin(v) * v + 0.1
        s = s + comm.allreduce(1.0)
    return comm.allreduce(np.sum(v * v))


def all_of_one_size(comm, x):
    total = np.empty_like(x)
    comm.Allreduce(x * x, total)
    return np.sum(total)


ROOM = 60_000_000
"""Bytes that are left to rank 1, less than its records take."""


def _end_without_room(fn: Callable[..., Any]) -> None:
    """Rank 1 has no more memory when the program is ready."""
    gradient, x = sdfgad.grad(fn), np.ones(250_000)
    gradient._ready((COMM, x), {}, False)
    if COMM.rank == 1:
        size = next(int(line.split()[1]) * 1024 for line in Path("/proc/self/status").read_text().splitlines()
                    if line.startswith("VmSize"))
        resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    _say_when()
    gradient(COMM, x)


def end_memory() -> None:
    _end_without_room(recorded)


def end_tape() -> None:
    _end_without_room(grown)


def end_shape() -> None:
    gradient = sdfgad.grad(all_of_one_size, objective="sum")
    gradient(COMM, np.ones(4))
    _say_when()
    gradient(COMM, np.ones(5 if COMM.rank == 1 else 4))


def end_killed() -> None:
    """Rank 1 is killed in the middle of its native code."""
    gradient = sdfgad.grad(grown)
    gradient._ready((COMM, np.ones(10)), {}, False)
    COMM.Barrier()
    if COMM.rank == 1:
        threading.Timer(0.5, lambda: (_say_when(), os.kill(os.getpid(), signal.SIGKILL))).start()
    gradient(COMM, np.ones(10))


def _say_when() -> None:
    if COMM.rank == 1:
        print(f"fault at {time.time()}", file=sys.stderr, flush=True)


FAULTS = MappingProxyType({
    "agreement": check_agreement, "refusals": check_refusals, "end-inside": end_inside, "end-counts": end_counts,
    "end-places": end_places, "end-nothing": end_nothing,
    "end-raised": end_raised, "end-refused": end_refused, "end-short": end_short,
    "end-memory": end_memory,
    "end-tape": end_tape, "end-shape": end_shape, "end-killed": end_killed,
    **{f"end-{fn.__name__}": partial(end_waiting, fn) for fn in (tags_apart, sent_twice, beside)}})
