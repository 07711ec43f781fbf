"""Bytes of the programs' gradients: what is measured is what the code's footprint says, and no more than predicted."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import sdfgad
from npbench_suite.kernel import Kernel, load
from sdfgad.arguments import Bound, bind
from sdfgad.codegen.footprint import footprint
from sdfgad.ir.walk import all_writes
from sdfgad.measure import promised_bytes
from sdfgad.pipeline import Derivative, Wish, derive
from tests.npbench.calls import DIFFERENTIABLE, sample

# Its arrays shrink with the data.
REFUSED = "mandelbrot2"
QUICK = {"adi", "cholesky2", "channel_flow", "softmax", "stockham_fft"}
THREADS = 2
CASES = [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in DIFFERENTIABLE if n != REFUSED]


def derived(kernel: Kernel, arguments: dict[str, Any]) -> tuple[Derivative, Bound]:
    bound = bind(kernel.program, tuple(arguments.values()), {})
    return derive(kernel.program, bound, Wish(tuple(kernel.wrt), kernel.output, "sum")), bound


@pytest.mark.parametrize("name", CASES)
def test_a_call_holds_what_its_footprint_says(name):
    kernel = load(name)
    made, bound = derived(kernel, sample(kernel, 0))
    with sdfgad.config(num_threads=THREADS):
        used = made.measured(bound)
    predicted = made.plan.predicted
    tapes = used.program - footprint(made.program, made.keep).bytes(THREADS)
    assert tapes == 0 if not predicted.unbounded else tapes >= made.compiled().tape_peak
    promised = promised_bytes(predicted, None)
    assert promised is None or used.peak_bytes <= promised
    # Nothing that the code does not hold: its scalars live in registers.
    assert predicted.peak_bytes <= 1.05 * used.peak_bytes + 4096


@pytest.mark.parametrize("name", CASES)
def test_the_footprint_covers_what_a_plan_leaves_out(name):
    kernel = load(name)
    made, _ = derived(kernel, kernel.initialize(**kernel.sizes("S")))
    program, found = made.program, footprint(made.program, made.keep)
    passed = {*program.arguments, *made.keep, *program.constants}
    copied = [n for n in program.arguments if n in all_writes(program.body)]
    held = sum(program.arrays[n].bytes for n in (*passed, *copied)) + found.bytes(THREADS)
    whole = sum(a.bytes for a in program.arrays.values()) + sum(program.arrays[n].bytes for n in copied)
    assert held <= whole + sum(found.beyond(program, THREADS).values())
    predicted = made.plan.predicted.peak_bytes
    # Packed operands of library calls are the code's own.
    promised = promised_bytes(replace(made.plan.predicted, unbounded=False), None)
    assert promised is not None and held - sum(found.beyond(program, THREADS).values()) <= promised
    assert predicted <= 1.05 * held + 4096
