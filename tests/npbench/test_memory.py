"""Bytes of the programs' gradients: what is measured is what the code's footprint says, and what was predicted."""
from __future__ import annotations

from typing import Any

import pytest

import sdfgad
from npbench_suite.kernel import Kernel, load
from sdfgad.caches import LINE
from sdfgad.calls.arguments import Bound, bind
from sdfgad.codegen.cpu.footprint import footprint
from sdfgad.ir.walk import all_writes
from sdfgad.verbs.pipeline import Derivative, Request, derive
from tests.npbench.calls import DIFFERENTIABLE, sample

QUICK = {"adi", "cholesky2", "channel_flow", "softmax", "stockham_fft"}
THREADS = 2
CASES = [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in DIFFERENTIABLE]


def derived(kernel: Kernel, arguments: dict[str, Any]) -> tuple[Derivative, Bound]:
    bound = bind(kernel.program, tuple(arguments.values()), {})
    return derive(kernel.program, bound, Request(tuple(kernel.wrt), kernel.output, "sum")), bound


@pytest.mark.parametrize("name", CASES)
def test_a_call_holds_what_was_predicted(name):
    kernel = load(name)
    with sdfgad.config(num_threads=THREADS):
        made, bound = derived(kernel, sample(kernel, 0))
        used = made.measured(bound)
    predicted = made.plan.predicted
    tapes = used.program - footprint(made.program, made.keep).bytes(THREADS)
    assert tapes == 0 if not predicted.unbounded else tapes >= made.compiled().tape_peak
    assert used.peak_bytes - tapes == predicted.peak_bytes


@pytest.mark.parametrize("name", CASES)
def test_a_plan_counts_every_array(name):
    kernel = load(name)
    with sdfgad.config(num_threads=THREADS):
        made, _ = derived(kernel, kernel.initialize(**kernel.sizes("S")))
    program, found = made.program, footprint(made.program, made.keep)
    passed = {*program.arguments, *made.keep, *program.constants}
    copied = [n for n in program.arguments if n in all_writes(program.body)]
    held = sum(program.arrays[n].bytes for n in (*passed, *copied)) + found.bytes(THREADS)
    assert made.plan.predicted.peak_bytes == held
    # What shares memory takes no more than all of it one by one, but for lines that are filled up.
    assert found.arena.bytes <= sum(found.sizes.values()) + LINE * len(found.sizes)
