"""How many messages gradients take, and whether they fit together."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from click.testing import CliRunner

import sdfgad
from sdfgad.cli import group
from tests.mpi.cases import operations
from tests.mpi.programs import SAMPLES
from tests.mpi.rows import parts
from tests.mpi.telling import COMM, error_of, tell
from tests.mpi.watching import faults, watched


def linear(comm, x):
    v = np.zeros(x.shape[0] + 2)
    v[1:-1] = x
    for _ in range(4):
        comm.Sendrecv(v[1:2], (comm.rank - 1) % comm.size, 1, v[-1:], (comm.rank + 1) % comm.size, 1)
        v[1:-1] = v[1:-1] + 0.25 * v[2:]
    if comm.rank == 0:
        comm.Send(v[:2], comm.size - 1, 5)
    if comm.rank == comm.size - 1:
        comm.Recv(v[:2], 0, 5)
    return comm.allreduce(np.sum(v * (comm.rank + 1.0)))


def linear_but_for_one(comm, x):
    """Rank 0 alone needs what comes in."""
    y = np.empty_like(x)
    comm.Sendrecv(x, (comm.rank + 1) % comm.size, 1, y, (comm.rank - 1) % comm.size, 1)
    return np.sum(y * y) if comm.rank == 0 else np.sum(y)


def quiet_for_some(comm, x):
    """Ranks from 2 on have no messages."""
    y = np.zeros_like(x)
    if comm.rank == 0:
        comm.Send(2.0 * x, 1)
    if comm.rank == 1:
        comm.Recv(y, 0, 0)
    return np.sum(3.0 * y + x)


def check_counts() -> None:
    """As many messages, and as many bytes, in both sweeps; they fit together."""
    for name, sample in SAMPLES.items():
        mine = [sample.mine(COMM, n, a) for n, a in sample.arrays().items()]
        made = sdfgad.value_and_grad(sample.program, wrt=tuple(sample.parts))
        counts = made.measure(COMM, *mine).messages
        _, notes = watched(lambda made=made, mine=mine: made(COMM, *mine))
        sent = [one for mine in notes for one in mine if one.kind != "receive"]
        tell(f"counts {name}", forward=counts.forward, reverse=counts.reverse, faults=faults(notes),
             total=[sum(one.sweep == s for one in sent) for s in ("forward", "reverse")])
    for fn, dtype in ((operations, "float32"), (parts, "float64")):  # as they are compiled for other checks
        x = np.random.default_rng(COMM.rank).random(4).astype(dtype)
        _, pullback = sdfgad.vjp(fn, COMM, x)
        _, notes = watched(lambda pullback=pullback: pullback(x))
        size = [sum(one.bytes for mine in notes for one in mine if (one.sweep, one.kind != "receive") == (s, True))
                for s in ("forward", "reverse")]
        tell(f"counts {fn.__name__}", faults=faults(notes), forward=size[:1], reverse=size[1:], total=size[:1])


def check_silence() -> None:
    """A linear program's gradient sends no primal messages, if all ranks can do without."""
    x, d = np.random.default_rng(COMM.rank).random(5), np.random.default_rng(COMM.rank + 7).random(5)
    for fn in (linear, linear_but_for_one, quiet_for_some):
        made = sdfgad.grad(fn, objective="sum")
        counts = made.measure(COMM, x).messages
        g, notes = watched(lambda made=made: made(COMM, x))
        slope = COMM.allreduce((fn(COMM, x + 1e-6 * d) - fn(COMM, x - 1e-6 * d)) / 2e-6)
        tell(f"silence {fn.__name__}", forward=counts.forward, reverse=counts.reverse, faults=faults(notes),
             error=float(abs(COMM.allreduce(float(g @ d)) - slope) / abs(slope)))
    valued = sdfgad.value_and_grad(linear).measure(COMM, x).messages
    tell("silence valued", forward=valued.forward, reverse=valued.reverse)
    _, pullback = sdfgad.vjp(linear, COMM, x)
    _, notes = watched(lambda: pullback(1.0))
    tell("silence pullback", forward=[sum(one.sweep == "forward" for one in notes[COMM.rank]), 0], faults=faults(notes))


def uneven(comm, u):
    v, got = u.copy(), np.zeros(1)
    for _ in range(5):
        comm.Sendrecv(v[:1], (comm.rank + 1) % comm.size, 0, got, (comm.rank - 1) % comm.size, 0)
        v = np.sin(v) * v + got[0]
    return comm.allreduce(np.sum(v))


def example_uneven():
    """For the command line."""
    return COMM, np.ones(100 * (COMM.rank + 1))


def check_plans() -> None:
    """Ranks side by side, in one report."""
    plans = sdfgad.grad(uneven).plan_of_ranks(*example_uneven())
    shown = CliRunner().invoke(group, ["plan", f"{__file__}:uneven"])
    sample = SAMPLES["jacobi"]
    mine = [sample.mine(COMM, n, a) for n, a in sample.arrays().items()]
    made = sdfgad.grad(lambda comm, u, f: sample.program(comm.Dup(), u, f))
    tell("plans", text=str(plans), peaks=[one.peak_bytes for one in plans.figures], shown=shown.output,
         sent=[one.messages for one in plans.figures], alone=error_of(lambda: made.plan(COMM, *mine)))


TRAFFIC: Mapping[str, Callable[[], None]] = MappingProxyType({
    "counts": check_counts, "silence": check_silence, "plans": check_plans})
