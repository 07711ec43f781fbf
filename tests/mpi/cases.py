"""Small programs and what is checked of them, on every rank."""
from __future__ import annotations

import contextlib
import io
import os
import runpy
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
from mpi4py import MPI

import sdfgad
from sdfgad.calls.communicators import communicator_of
from sdfgad.commands import doctor
from tests.mpi.objectives import CHECKS_OF_OBJECTIVES, until_small
from tests.mpi.programs import halos
from tests.mpi.random.machine import by_reference
from tests.mpi.telling import COMM, error_of, tell

# every operation in one program: forward against reverse mode, with seeds of its own on each rank

def operations(comm, x):
    rank, size = comm.Get_rank(), comm.Get_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    a = np.sin(x)
    comm.Sendrecv_replace(a, right, source=left)
    b = a * x
    if rank == 0 and size > 1:  # a rank that sends to itself would wait for its own receive
        comm.Send(b, dest=size - 1, tag=7)
    if rank == size - 1 and size > 1:
        got = np.zeros_like(b)
        comm.Recv(got, source=0, tag=7)
        b = b + got * x
    c = np.empty((size, x.shape[0]), dtype=x.dtype)
    comm.Allgather(b, c)
    d = np.empty_like(x)
    comm.Reduce_scatter_block(np.cos(c) * c, d)
    e = np.empty_like(c)
    comm.Alltoall(c * d, e)
    f = np.empty_like(x)
    comm.Scatter(e, f, root=size - 1)
    g = np.empty_like(c)
    comm.Gather(f * b, g, root=0)
    if rank == 0:
        f = f + np.sum(g * g, axis=0)
    comm.Bcast(f, root=0)
    h = comm.allreduce(f * x)
    comm.Allreduce(MPI.IN_PLACE, h[1:])
    k = np.zeros(2, dtype=x.dtype)
    comm.Reduce(h[:2] * x[:2], k, root=size - 1)
    r = comm.reduce(np.sum(k * k), root=0)
    if rank == 0:
        h = h * r
    comm.Barrier()
    requests = [comm.Isend(h[1:], right, tag=1), comm.Irecv(f[1:], left, tag=1)]
    d = d * h
    for one in requests:
        one.Wait()
    s = comm.bcast(f[1] * 2, root=size - 1)
    edge = MPI.PROC_NULL if rank == 0 else rank - 1
    up = rank + 1 if rank + 1 < size else MPI.PROC_NULL
    if size > 1:  # to itself, a rank would copy what overlaps
        comm.Sendrecv(h[1:3], right, 4, h[2:], left, 4)
    for _ in range(3):
        comm.Sendrecv(h[:1] * s, edge, 3, f[:1], up, 3)
        h = h + f * x
    return h * s


def check_operations(dtype: str, native: bool = True) -> None:
    check_both_modes(f"operations {dtype}", operations, dtype, native)


def check_both_modes(name: str, fn: Callable[..., Any], dtype: str, native: bool = True) -> None:
    """A function of the communicator and four numbers on each rank. native: compiled, or by the reference semantics."""
    rng, eps = np.random.default_rng(COMM.rank + 5), np.finfo(dtype).eps

    def draw() -> np.ndarray:
        return (0.4 * (rng.random(4) + (1j * rng.random(4) if dtype.startswith("c") else 0.0))).astype(dtype)

    x, along, seed = draw(), draw(), draw()
    expected = fn(COMM, x.copy())
    if native:
        out, pullback = sdfgad.vjp(fn, COMM, x)
        _, pushed = sdfgad.jvp(fn, (COMM, x), {"x": along})
        back = pullback(seed)
    else:
        out, pushed, (back,) = by_reference(fn, {"comm": COMM, "x": x}, {"x": along}, seed)
    one, other = (COMM.allreduce(float(np.vdot(a, b).real)) for a, b in ((seed, pushed), (back, along)))
    found = {"value": float(np.abs(out - expected).max() / np.abs(expected).max() / eps),
             "dot": float(abs(one - other) / abs(one) / eps), "dtypes": str(back.dtype) + str(pushed.dtype)}
    if dtype in ("float64", "complex128"):
        slope = (fn(COMM, x + 1e-6 * along) - fn(COMM, x - 1e-6 * along)) / 2e-6
        found["slope"] = float(np.abs(slope - pushed).max() / np.abs(slope).max())
    tell(name, **found)


# messages that are constants to the rank that sends them, of nothing, or of no interest to the one that receives them

def idle(comm, x):
    y, z, nothing = np.ones(2), np.empty(2), np.empty(0)
    comm.Sendrecv(x[:0], (comm.rank + 1) % comm.size, 2, nothing, (comm.rank - 1) % comm.size, 2)
    if comm.rank == 0:
        comm.Send(y, 1)
        comm.Recv(z, 1)
        return np.sum(x)
    if comm.rank == 1:
        comm.Recv(y, 0)
        comm.Send(x[:2] * y, 0)
        y = 2.0 * y
    return np.sum(x * x * y[0])


def check_idle() -> None:
    x = np.arange(1.0, 4.0)
    expected = [np.ones(3), 4 * x, 2 * x][min(COMM.rank, 2)]
    tell("idle", error=float(np.abs(sdfgad.grad(idle, objective="sum")(COMM, x) - expected).max()),
         pushed=float(abs(sdfgad.jvp(idle, (COMM, x), {"x": x})[1] - expected @ x)))


# what comes as a list, flags, clocks

def listed(comm, x):
    began = MPI.Wtime()
    parts = comm.allgather(np.sum(x * x))
    rows = comm.gather(x[:2] * 2.0, root=0)
    busy = comm.allreduce(bool(comm.rank == 0), op=MPI.LOR)
    late = MPI.Wtime() - began
    print("this took", late)
    s = parts[0] * parts[-1] if busy else 0.0 * parts[0]
    if comm.rank == 0:
        return s + np.sum(rows[0] * rows[comm.size - 1])
    return None


def check_lists() -> None:
    x, d = np.arange(1.0, 4.0) + COMM.rank, np.array([0.3, -0.1, 0.2]) * (COMM.rank + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is printed is left out
        found = sdfgad.grad(listed)(COMM, x)

    def total(step: float) -> float:
        with contextlib.redirect_stdout(io.StringIO()):
            return COMM.allreduce(listed(COMM, x + step * d) or 0.0)

    slope = (total(1e-6) - total(-1e-6)) / 2e-6
    tell("lists", error=float(abs(COMM.allreduce(float(found @ d)) - slope) / abs(slope)))
    launched = [doctor._mpi()]
    os.environ["PMI_SIZE"], before = "64", os.environ.get("PMI_SIZE", "")
    launched.append(doctor._mpi())
    os.environ["PMI_SIZE"] = before
    tell("doctor", told=launched)


# where the communicator is found, and communicators made in the program

class Solver:
    def __init__(self, comm: Any) -> None:
        self.comm = comm

    def energy(self, x):
        return self.comm.allreduce(np.sum(x ** 3))

    def __call__(self, x):
        return self.energy(x)


def by_global(x):
    return COMM.allreduce(np.sum(x ** 3))


def by_module(x):
    return MPI.COMM_WORLD.allreduce(np.sum(x ** 3))


def by_default(x, comm=COMM):
    return comm.allreduce(np.sum(x ** 3))


def in_halves(comm, x):
    half = comm.Split(comm.rank % 2, comm.rank)
    y = np.empty_like(x)
    half.Allreduce(x * x, y)
    s = comm.allreduce(np.sum(y * x))
    half.Free()
    return s


def in_turns(comm, x):
    s = 0.0
    for step in range(3):
        sub = comm.Dup()
        s = s + sub.allreduce(np.sum(x ** (step + 1)))
    return s


def check_places() -> None:
    x = np.random.default_rng(COMM.rank).random(3)
    inner = COMM

    def by_closure(x):
        return inner.allreduce(np.sum(x ** 3))

    def given(comm, x):
        return comm["all"].allreduce(np.sum(x ** 3))

    for name, fn in {"attribute": Solver(COMM).energy, "global": by_global, "module": by_module,
                     "closure": by_closure, "default": by_default, "partial": partial(given, {"all": COMM}),
                     "object": Solver(COMM)}.items():
        tell(f"place {name}", error=float(communicator_of(fn, (x,), {}) is not COMM))
    for fn in (Solver(COMM), by_default):
        tell(f"place of {type(fn).__name__}", error=float(np.abs(sdfgad.grad(fn)(x) - 3 * x * x).max()))
    gradient = sdfgad.grad(in_halves)
    found = [gradient(COMM, x) for _ in range(2)][1]
    d = np.random.default_rng(COMM.rank + 9).random(3)
    slope = (in_halves(COMM, x + 1e-6 * d) - in_halves(COMM, x - 1e-6 * d)) / 2e-6
    turns = sdfgad.grad(in_turns)(COMM, x)
    tell("place turns", error=float(np.abs(turns - (1 + 2 * x + 3 * x * x)).max()))
    tell("place split", error=float(abs(COMM.allreduce(float(found @ d)) - slope) / abs(slope)))


def check_tutorial() -> None:
    """The first program of the page."""
    text = (Path(__file__).parents[2] / "docs" / "distributed.md").read_text()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "tutorial.py"
        file.write_text(text.split("```python\n")[1].split("```")[0])
        made = runpy.run_path(str(file))
    alone = made["energy"](COMM, np.zeros(5), np.array([0.1]))
    tell("tutorial", shapes=str((made["g"].u.shape, made["g"].k.shape)), error=float(abs(alone)))


def round_and_round(comm, x):
    y = np.empty_like(x)
    for _ in range(3):
        comm.Sendrecv(x, (comm.rank + 1) % comm.size, 1, y, (comm.rank - 1) % comm.size, 1)
        x = x + 0.1 * y * y
    return np.sum(x)


def check_code() -> None:
    """Ranks that differ in their neighbours alone share a compiled program."""
    gradient = sdfgad.grad(round_and_round)
    gradient(COMM, np.ones(3))
    (found,), = gradient._known.values()
    tell("code", folder=found.compiled().folder.name)


# limits: loops without messages run again as each rank likes

def local_then_shared(comm, u):
    w = u.copy()
    for _ in range(100):
        w = w + 0.01 * np.sin(w) * np.roll(w, 1)
    v = np.zeros(u.shape[0] + 2)
    v[1:-1] = w
    for _ in range(5):
        halos(comm, v)
        v[1:-1] = v[1:-1] - 0.01 * v[1:-1] * (v[2:] - v[:-2])
    return comm.allreduce(np.sum(v[1:-1] ** 2))


def check_limits() -> None:
    u = np.random.default_rng(COMM.rank).random((300, 700, 500)[COMM.rank])
    free = sdfgad.grad(local_then_shared)(COMM, u)
    limited = sdfgad.grad(local_then_shared, memory_limit="200kB")
    found = limited(COMM, u)
    plan = limited.plan(COMM, u)
    small = sdfgad.grad(local_then_shared, memory_limit="50kB")
    tell("limit", error=float(np.abs(found - free).max()), peak=float(plan.predicted.peak_bytes),
         modes=len(plan.modes), message=error_of(lambda: small(COMM, u)))
    growing = sdfgad.grad(until_small, wrt="x", memory_limit="1MB")
    tell("limit of a while", message=error_of(lambda: growing(COMM, u, u)))


CHECKS = MappingProxyType({
    **{f"operations-{d}": lambda d=d: check_operations(d) for d in ("float32", "complex128")},
    "operations-float64": lambda: check_operations("float64", native=False),
    "operations-complex": lambda: check_operations("complex128", native=False),
    **CHECKS_OF_OBJECTIVES, "places": check_places, "lists": check_lists,
    "idle": check_idle, "limits": check_limits, "tutorial": check_tutorial, "code": check_code})
