"""Measured bytes: what is counted, against the plan, against the process, and over many calls."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.calls.buffers import LEAST_BYTES, room
from sdfgad.calls.measure import Usage, check_peak, promised_bytes
from sdfgad.checkpoint.decided import Predicted
from sdfgad.errors import MemoryLimitError, PeakWarning
from sdfgad.verbs.pipeline import Derivative, Request, derive
from tests.data import memory_programs as programs

ROOT = Path(__file__).parent.parent
N = 40_000
STEPS = 5


def derived(fn, *args, wrt, limit=None) -> tuple[Derivative, Usage]:
    bound = bind(fn, args, {})
    made = derive(fn, bound, Request(wrt, reduce="sum", limit=limit))
    return made, made.measured(bound)


def test_everything_that_a_call_holds_is_counted():
    made, used = derived(programs.steps, np.ones(N), STEPS, wrt=("u",))
    assert (used.arguments, used.copies, used.results) == (8 * N, 8 * N, 8 * N)
    assert used.program >= STEPS * 8 * (N - 2)
    assert used.peak_bytes == used.arguments + used.copies + used.results + used.constants + used.program
    assert used.peak_bytes <= promised_bytes(made.plan.predicted, None)


def test_a_donated_argument_is_not_copied():
    bound = bind(programs.steps, (np.ones(N), STEPS), {})
    made = derive(programs.steps, bound, Request(("u",), reduce="sum"))
    assert made.measured(bound, frozenset("u")).copies == 0


def squares(x):
    return np.sum(x * x)


@pytest.mark.parametrize("turn", [lambda u: u.T, lambda u: u[:, ::2], lambda u: u])
def test_copies_of_arguments_in_another_order_are_predicted(turn):
    u = turn(np.ones((300, 400)))
    made, used = derived(squares, u, wrt=("x",))
    assert used.copies == (0 if u.flags.c_contiguous else u.nbytes)
    assert used.peak_bytes == made.plan.predicted.peak_bytes
    with pytest.raises(MemoryLimitError):
        derived(squares, u, wrt=("x",), limit=used.peak_bytes - 1)


def test_a_growable_tape_is_counted():
    small, large = np.full(N, 40.0), np.full(N, 1.0)
    made, used = derived(programs.doubled, large, wrt=("x",))
    entries = made.compiled().tape_peak
    assert made.plan.predicted.unbounded and promised_bytes(made.plan.predicted, None) is None
    assert entries >= 5 * 8 * N
    tape = used.peak_bytes - made.plan.predicted.peak_bytes
    assert 0.99 * entries <= tape <= 1.01 * entries + 10**6
    # What lies on the pages that it filled in the next call is what that one needs.
    again = made.measured(bind(programs.doubled, (small,), {}))
    assert again.peak_bytes < used.peak_bytes and made.compiled().tape_peak < entries
    assert made.measured(bind(programs.doubled, (large,), {})).peak_bytes == used.peak_bytes


def test_a_growable_tape_keeps_the_limit():
    x = np.full(N, 1.0)
    made, _ = derived(programs.doubled, x, wrt=("x",))
    enough = made.plan.predicted.peak_bytes + made.compiled().tape_peak
    assert derived(programs.doubled, x, wrt=("x",), limit=enough)[1].peak_bytes <= enough
    with pytest.raises(MemoryLimitError, match="tape"):
        derived(programs.doubled, x, wrt=("x",), limit=enough - 8 * N)


USED = Usage(arguments=0, copies=0, results=0, constants=0, program=5 * 10**6)


def test_too_high_a_peak_is_what_the_setting_makes_of_it():
    too_little = Predicted(10**6, 10**6, False)
    check_peak(USED, too_little, None)
    with sdfgad.config(check="warn"), pytest.warns(PeakWarning, match=r"SG303.*5 MB.*1 MB"):
        check_peak(USED, too_little, None)
    with sdfgad.config(check="error"):
        with pytest.raises(MemoryLimitError, match="program 5 MB") as caught:
            check_peak(USED, too_little, 10**6)
        assert (caught.value.code, caught.value.minimum_bytes) == ("SG303", 5 * 10**6)
        check_peak(USED, Predicted(4 * 10**6, 0, False), None)
        check_peak(USED, Predicted(1, 0, True), None)


def test_calls_under_a_limit_are_checked(monkeypatch):
    gradient = sdfgad.grad(programs.steps, wrt="u", memory_limit="1GB")
    with sdfgad.config(check="error"):
        gradient(np.ones(N), STEPS)
        monkeypatch.setattr("sdfgad.calls.measure.promised_bytes", lambda *_: 0)
        with pytest.raises(MemoryLimitError, match="SG303"):
            gradient(np.ones(N), STEPS)


def test_a_limit_leaves_no_free_buffers_beside_the_call():
    room().empty((LEAST_BYTES * 3,), np.dtype(np.uint8))
    assert room().free_bytes >= 3 * LEAST_BYTES
    u = np.ones(LEAST_BYTES // 8)
    sdfgad.grad(programs.steps, wrt="u", memory_limit="1GB")(u, STEPS)
    assert room().free_bytes <= 2 * u.nbytes


@pytest.mark.parametrize(("fn", "args"), [(programs.steps, (np.ones(2 * LEAST_BYTES // 8), STEPS)),
                                          (programs.doubled, (np.ones(2 * LEAST_BYTES // 8),))],
                         ids=["steps", "doubled"])
def test_memory_is_flat_over_a_hundred_calls(fn, args):
    bound = bind(fn, args, {})
    made = derive(fn, bound, Request((next(iter(bound.leaves)),), reduce="sum"))
    made.run(bound, frozenset())
    first, resident = made.measured(bound), _resident()
    for _ in range(100):
        made.run(bound, frozenset())
    assert made.measured(bound) == first
    assert _resident() - resident < 0.01 * resident + 2 * 10**6


def _resident() -> int:
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
@pytest.mark.optimised
@pytest.mark.parametrize("name", ["steps", "doubled", "layers"])
def test_the_process_agrees(name):
    """The compiled program comes from the cache, so that the process that is looked at runs nothing large but the
    gradient."""
    programs.compiled(name)
    done = subprocess.run([sys.executable, "-m", "tests.data.memory_programs", name], cwd=ROOT, check=True,
                          capture_output=True, text=True, timeout=300)
    seen = json.loads(done.stdout)
    assert not seen["generated"] and seen["measured"] > 60 * 10**6
    # Beside the arrays: stacks, the allocator's margins, the buffers the BLAS library packs operands into.
    assert 0.95 * seen["measured"] - 4 * 10**6 < seen["resident"] < 1.02 * seen["measured"] + 24 * 10**6
