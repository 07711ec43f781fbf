"""What the tests of programs that communicate run on each rank: `mpiexec -n P python -m tests.mpi.in_ranks CHECK...`.

Rank 0 prints one line of JSON for each.
"""
from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

import sdfgad
from sdfgad.codegen import program
from sdfgad.codegen.compiling import build
from sdfgad.codegen.mpi.watch import SAID
from tests.conftest import FLAGS, linked_quickly
from tests.mpi.between import CHECKS_OF_BETWEEN
from tests.mpi.cases import CHECKS
from tests.mpi.checking import CHECKED
from tests.mpi.distributed import DISTRIBUTED
from tests.mpi.faults import FAULTS
from tests.mpi.limited import LIMITED
from tests.mpi.nobody import CHECKS_OF_NOBODY
from tests.mpi.objects import CHECKS_OF_OBJECTS
from tests.mpi.orders import CHECKS_OF_ORDERS
from tests.mpi.overlap import CHECKS_OF_OVERLAP
from tests.mpi.programs import SAMPLES, Sample, rows
from tests.mpi.random.check import check_random
from tests.mpi.random.machine import not_compiled
from tests.mpi.replicas import REPLICAS
from tests.mpi.rows import CHECKS_OF_ROWS
from tests.mpi.sizes import CHECKS_OF_SIZES
from tests.mpi.telling import COMM, tell
from tests.mpi.traffic import TRAFFIC
from tests.mpi.ways import CHECKS_OF_WAYS

LEAST = tuple("-O0" if flag == "-O3" else flag for flag in FLAGS)
"""What g++ needs least time for: a program is called once or twice."""
INTERPRETED = frozenset(("objectives", "question", "places", "lists", "limits", "agreement", "refusals", "tutorial",
                         "replicated"))
"""Checks of what ranks agree on, plan and refuse: what they find is the same without a compiler."""


def samples(*names: str) -> None:
    """Value and gradient against the serial program, by complex steps."""
    for name in names or SAMPLES:
        if COMM.size in SAMPLES[name].only:
            tell(name, **_against_serial(SAMPLES[name]))


def _against_serial(sample: Sample) -> dict[str, Any]:
    arrays = sample.arrays()
    names = tuple(sample.parts)
    mine = [sample.mine(COMM, n, a) for n, a in arrays.items()]
    before = [None if a is None else a.copy() for a in mine]
    made = sdfgad.value_and_grad(sample.program, wrt=names)
    value, grads = made(COMM, *mine)
    again, others = made(COMM, *mine)
    steady = all(np.array_equal(grads[n], others[n]) for n in names if grads[n] is not None) and value == again
    kept = all(a is None or np.array_equal(a, b) for a, b in zip(mine, before))
    error = max(_difference(sample, n, grads[n], _complex_step(sample, arrays, n)) for n in names)
    total = COMM.allreduce(0.0 if value is None else value)
    given = COMM.allreduce(0 if value is None else 1)
    serial = sample.serial(**arrays)
    off = min(abs(total - serial), abs(total / given - serial)) / abs(serial)
    return {"gradient": float(error), "value": float(off), "steady": bool(steady), "kept": bool(kept)}


def _complex_step(sample: Sample, arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    found = np.zeros(arrays[name].shape)
    for at in np.ndindex(*found.shape):
        moved = {n: a.astype(complex) for n, a in arrays.items()}
        moved[name][at] += 1e-30j
        found[at] = sample.serial(**moved).imag / 1e-30
    return found


def _difference(sample: Sample, name: str, grad: Any, serial: np.ndarray) -> float:
    kind = sample.parts[name]
    if kind == "root" and COMM.rank:
        return 0.0 if grad is None else 1.0
    if kind == "rows":
        serial_part = serial[rows(serial.shape[0], COMM)]
        return np.abs(grad - serial_part).max() / np.abs(serial).max()
    whole = COMM.allreduce(np.asarray(grad)) if kind == "all" else grad
    return np.abs(whole - serial).max() / np.abs(serial).max()


def main(names: list[str]) -> None:
    build.FLAGS = program.FLAGS = LEAST
    build.link_flags = linked_quickly
    checks: dict[str, Callable[[], None]] = {
        "samples": samples, **CHECKS, **FAULTS, **DISTRIBUTED, **TRAFFIC, **REPLICAS, **CHECKS_OF_ROWS, **LIMITED,
        **CHECKS_OF_ORDERS, **CHECKS_OF_OVERLAP, **CHECKS_OF_OBJECTS, **CHECKS_OF_SIZES, **CHECKS_OF_WAYS, **CHECKED,
        **CHECKS_OF_NOBODY, **CHECKS_OF_BETWEEN,
        **{f"sample-{n}": partial(samples, n) for n in SAMPLES}}
    for name in names:
        if name.startswith("random:"):  # random:FIRST:COUNT or random:FIRST:COUNT:native
            first, count, *how = name.split(":")[1:]
            check_random(int(first), int(count), "native" in how, "shown" in how)
            continue
        with not_compiled() if name in INTERPRETED else nullcontext():
            checks[name]()


class EndsAll:
    """An error on one rank ends all of them, as the others wait for it."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, form: Any, error: Any, trace: Any) -> None:
        if error is not None:
            traceback.print_exception(error)
            sys.stderr.flush()
            time.sleep(SAID)
            COMM.Abort(1)


if __name__ == "__main__":
    with EndsAll():
        main(sys.argv[1:])
