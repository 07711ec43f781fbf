"""Loops that end when they have converged: their records lie on tapes that grow, or in small boxes."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.ir.program import Pop, Push
from sdfgad.ir.walk import statements
from sdfgad.testing import check_grads
from sdfgad.verbs.pipeline import Request, derive
from tests.data import early_programs as programs
from tests.frontend.checking import check_both_modes
from tests.reverse.test_loop_modes import derived, gradients, offered, ready
from tests.support.thresholds import change

ENDINGS = {"converged": (1e-3, 12), "at once": (1e9, 12), "never": (-1.0, 3), "not begun": (1e-3, 0)}
FEW_PLANS = 6
ALL_BOXES, NO_BOXES = 1 << 60, 0
every_program = pytest.mark.parametrize("fn", (*programs.SYSTEMS, *programs.VECTORS), ids=lambda f: f.__name__)


@pytest.fixture
def tapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No box is small enough."""
    change(monkeypatch, boxed_record=NO_BOXES)


def given(fn, ending: str) -> tuple:
    return *programs.arguments(fn, 5), *ENDINGS[ending]


@every_program
@pytest.mark.parametrize("ending", ENDINGS)
def test_tapes_and_boxes_give_the_same_gradient(fn, ending, monkeypatch):
    args, found = given(fn, ending), []
    for small in (ALL_BOXES, 300, NO_BOXES):
        change(monkeypatch, boxed_record=small)
        made, wrt = derived(fn, args)
        found += [gradients(made, wrt, args, tidied) for tidied in (False, True)]
    for one in found[1:]:
        for a, b in zip(one, found[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@every_program
def test_snapshots_give_the_same_gradient(fn, tapes):
    args = given(fn, "converged")
    known = ready(fn, args)
    made, wrt = known.derived(), known.wrt
    expected = gradients(made, wrt, args, True)
    plans = list(itertools.product(*offered(made)))
    assert len(plans) > 4
    for k in np.random.default_rng(5).choice(len(plans), min(len(plans), FEW_PLANS), replace=False):
        modes = {name: mode for name, mode in plans[k] if mode is not None}
        for one, other in zip(gradients(known.derived(modes), wrt, args, True), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14, err_msg=str(modes))


@every_program
def test_gradients_agree_with_the_function(fn, tapes):
    """Finite differences, and forward mode."""
    names = fn.__code__.co_varnames[:2]
    assert check_grads(fn, *given(fn, "converged"), wrt=names, raise_on_fail=False).ok


@pytest.mark.parametrize("fn", [programs.picard, programs.two_levels], ids=lambda f: f.__name__)
def test_parallel_kernels_fill_tapes(fn):
    args = (*programs.arguments(fn, 40_000), 1e-6, 9)
    found = []
    for count in (1, 2):
        with sdfgad.config(num_threads=count):
            found.append(sdfgad.grad(fn, wrt=fn.__code__.co_varnames[:2])(*args))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def roles(fn, args) -> set[str]:
    """Of what holds the old values of x."""
    made = derive(fn, bind(fn, args, {}), Request(("x",)))
    return {made.program.arrays[k.tape].role for k in made.made.kept if k.array == "x" and not k.again}


def settled(x, most):
    for _ in range(most):
        x[1:] = x[1:] * x[:-1]
        if x[1] < 1e-3:
            break
    return np.sum(x)


def never_settled(x, most):
    for _ in range(most):
        x[1:] = x[1:] * x[:-1]
    return np.sum(x)


@every_program
def test_what_nobody_takes_back_is_not_kept(fn, tapes):
    """How a comparison turned out decides nothing in the reverse sweep once what it chose has versions."""
    program = derived(fn, given(fn, "converged"))[0].program
    pushed, popped = ({s.tape for s in statements(program.body) if isinstance(s, kind)} for kind in (Push, Pop))
    assert pushed == popped


@pytest.mark.parametrize(("n", "most", "role"), [(9, 1024, "transient"), (9, 1025, "tape"), (1025, 8, "transient"),
                                                 (2000, 8, "tape"), (5, 10**15, "tape")])
def test_small_boxes_stay_boxes(n, most, role):
    assert roles(settled, (np.full(n, 0.5), most)) == {role}


def test_loops_that_run_to_their_end_have_boxes():
    assert roles(never_settled, (np.full(9, 0.5), 100_000)) == {"transient"}


def test_a_tape_is_as_long_as_the_loop_that_ran():
    bound = bind(settled, (np.full(2000, 0.5), 100_000), {})
    made = derive(settled, bound, Request(("x",)))
    assert made.measured(bound).peak_bytes < 20 * 8 * 2000
    assert made.plan.predicted.unbounded


def falling(x, most):
    """A triangle of records in each iteration, of which half a box is used."""
    for _ in range(most):
        for i in range(1, x.size):
            x[:i] = x[:i] * x[i]
        if x[0] < 1e-3:
            break
    return np.sum(x)


def test_entries_are_no_longer_than_what_is_overwritten(tapes):
    n, most = 300, 2
    bound = bind(falling, (np.full(n, 0.999), most), {})
    made = derive(falling, bound, Request(("x",)))
    made.measured(bound)
    assert made.compiled().tape_peak == most * 8 * n * (n - 1) // 2


def largest_so_far(x, y, k):
    """The largest values of an iteration are found in an array of its own, one on a tape for each of them."""
    n = 0
    while n < 3:
        n += 1
        for t in range(5):
            if y[t] > 0.8:
                break
            q = k[::-1].copy()
            np.maximum.at(x, q, 0.5 * y)
            y[4] = np.sin(x[t])
            if x[t] > 0.9:
                break
    return np.sum(x * x) + np.sum(y * x)


def test_a_version_on_a_tape_that_is_recorded_whole():
    x, y = np.array([0.33, -0.35, 0.62, 0.4, -0.3]), np.array([0.1, 0.2, -0.5, 0.35, 0.6])
    check_both_modes(largest_so_far, (x, y, np.array([0, 3, 3, 1, 0])))
