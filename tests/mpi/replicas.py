"""Arguments that every rank holds alike."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

import sdfgad
from tests.mpi.programs import heat, heat_serial
from tests.mpi.telling import COMM, error_of, tell


def weighted(comm, x, k):
    return comm.allreduce(np.sum(np.sin(x * k["w"]) * k["b"]))


def check_replicated() -> None:
    """The gradient is the serial one, equal in every bit on all ranks, for arrays, numbers and arrays in a dict."""
    rng = np.random.default_rng(4)
    u, k = rng.random(11), rng.random(3)
    mine = u[11 * COMM.rank // COMM.size:11 * (COMM.rank + 1) // COMM.size].copy()
    value, grads = sdfgad.value_and_grad(heat, wrt=("u", "k"), replicated="k")(COMM, mine, k)
    serial = sdfgad.grad(heat_serial, wrt="k")(u, k)
    every = COMM.allgather(grads.k.tobytes())
    tell("replicated heat", error=float(np.abs(grads.k - serial).max() / np.abs(serial).max()),
         equal=len(set(every)), value=float(abs(value - heat_serial(u, k))))
    x, tree = rng.random(5) + COMM.rank, {"w": 1.3, "b": np.linspace(0.1, 0.9, 5)}
    alone = sdfgad.grad(weighted, wrt="k")(COMM, x, tree)
    whole = sdfgad.grad(weighted, wrt="k", replicated="k")(COMM, x, tree)
    found = [np.asarray(g) for g in whole.values()]
    parts = [COMM.allreduce(np.asarray(g)) for g in alone.values()]
    tell("replicated tree", equal=len(set(COMM.allgather(b"".join(g.tobytes() for g in found)))),
         error=float(max(np.abs(a - b).max() for a, b in zip(found, parts, strict=True))))
    off = k + (COMM.rank == COMM.size - 1) * 1e-16 * 4
    made = sdfgad.grad(heat, wrt=("u", "k"), replicated="k")
    tell("replicated other", error=error_of(lambda: made(COMM, mine, off)))
    tell("replicated unnamed", error=error_of(lambda: sdfgad.grad(heat, wrt="u", replicated="k")(COMM, mine, k)))
    tell("replicated alone", error=error_of(lambda: sdfgad.grad(heat_serial, replicated="k")(u, k)))


REPLICAS: Mapping[str, Callable[[], None]] = MappingProxyType({"replicated": check_replicated})
