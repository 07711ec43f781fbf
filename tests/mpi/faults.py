"""Errors of one rank, and what is refused on all."""
from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

import sdfgad
from tests.mpi import refused
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
    limit = {"memory_limit": 10} if COMM.rank == 1 else {}
    tell("agreed limit", error=error_of(lambda: sdfgad.grad(total_of_all, wrt="x", **limit)(COMM, x, x)))
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
        "check": lambda: sdfgad.check_grads(by_global, x), "graph": lambda: sdfgad.to_sdfg(by_global, x),
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
    if s > 5.0:
        raise ValueError("the sum of this block is too large")
    return comm.allreduce(s)


def too_short(comm, x):
    y = np.zeros(3)
    if comm.rank == 0:
        comm.Recv(y, source=1)
    elif comm.rank == 1:
        comm.Send(x[:2], dest=0)
    return comm.allreduce(np.sum(y * x[:3]))


def end_inside() -> None:
    sdfgad.grad(raised_inside)(COMM, np.ones(4) * (1 + COMM.rank))


def end_short() -> None:
    sdfgad.grad(too_short)(COMM, np.ones(4))


FAULTS = MappingProxyType({"agreement": check_agreement, "refusals": check_refusals, "end-inside": end_inside,
                           "end-short": end_short})
