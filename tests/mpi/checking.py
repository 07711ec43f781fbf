"""`check_grads` of functions that several ranks call together."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import MappingProxyType

import numpy as np
from click.testing import CliRunner

import sdfgad
from sdfgad.cli import group
from tests.mpi.programs import farm, heat
from tests.mpi.random.machine import not_compiled
from tests.mpi.telling import COMM, error_of, tell


def given_by_some(comm, x, w):
    """The root has weights and the result, in two parts; the rule beside it is the right one."""
    w = w.copy() if comm.rank == 0 else np.empty(3)
    comm.Bcast(w)
    total = comm.reduce(np.sum(np.sin(x)) * np.sum(w ** 2) * (comm.rank + 1))
    return (total, w * w) if comm.rank == 0 else None


@sdfgad.custom_vjp
def doubled(x):
    return 2.0 * x


doubled.defvjp(lambda x: (2.0 * x, x), lambda x, g: (2.0 * g if COMM.rank < COMM.size - 1 else 3.0 * g,))


def wrong_on_one(comm, x):
    """The last rank has a rule of its own that is wrong."""
    y = np.zeros_like(x)
    comm.Allreduce(np.sin(x), y)
    return np.sum(doubled(y) * y)


def as_often_as_told(comm, x, k):
    """`k` decides how often ranks send: it has to be moved alike on all of them."""
    s = comm.allreduce(np.sum(x * x))
    while s > 0.4 * k[0]:
        x = x * 0.9 * k[1]
        s = comm.allreduce(np.sum(x * x))
    return s * 3 * k[0]


def stopping(comm, x):
    return comm.allreduce(np.linalg.matrix_rank(x) * np.sum(x) if comm.rank == 1 else np.sum(x))


def example_stopping():
    return COMM, np.ones(3)


def example_given_by_some():
    """For the command line."""
    rng = np.random.default_rng(COMM.rank)
    return COMM, rng.random(4 + COMM.rank), rng.random(3) if COMM.rank == 0 else None


def check_checks() -> None:
    rng = np.random.default_rng(COMM.rank + 3)
    k = np.linspace(0.9, 0.95, 2)
    right: Mapping[str, Callable[[], sdfgad.testing.CheckReport]] = {
        "heat": lambda: sdfgad.check_grads(heat, COMM, rng.random(5 + COMM.rank), np.array([0.1, 0.2, 0.3])),
        "farm": lambda: sdfgad.check_grads(farm, COMM, np.linspace(0.1, 0.4, 4), method="differences"),
        "some": lambda: sdfgad.check_grads(given_by_some, *example_given_by_some(), wrt=("x", "w")),
        "alike": lambda: sdfgad.check_grads(as_often_as_told, COMM, rng.random(4), k, replicated="k"),
        "wrong": lambda: sdfgad.check_grads(wrong_on_one, COMM, rng.random(4), raise_on_fail=False)}
    for name, run in right.items():
        with nullcontext() if name == "farm" else not_compiled():  # the root waits for anybody: sweeps are kept apart
            report = run()
        every = COMM.allgather(report.to_json())
        tell(f"check {name}", ok=report.ok, text=str(report), reports=len(set(every)))
    with not_compiled():
        check_errors(rng, k)


def check_errors(rng: np.random.Generator, k: np.ndarray) -> None:
    tell("check raised", error=error_of(lambda: sdfgad.check_grads(wrong_on_one, COMM, rng.random(4))))
    tell("check refused", error=error_of(lambda: sdfgad.check_grads(stopping, *example_stopping())))
    tell("check argument", error=error_of(lambda: sdfgad.check_grads(stopping, COMM, None if COMM.rank else 1)))
    tell("check unmoved", error=error_of(lambda: sdfgad.check_grads(
        as_often_as_told, COMM, rng.random(4), k, wrt="x", replicated="k")))
    shown = CliRunner().invoke(group, ["check", f"{__file__}:given_by_some"])
    tell("check shown", text=shown.output, status=shown.exit_code)


CHECKED: Mapping[str, Callable[[], None]] = MappingProxyType({"checks": check_checks})
