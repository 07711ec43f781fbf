"""Tapes lie in memory as the arrays they keep, and are empty in the end."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.frontend import parse
from sdfgad.transform.passes import leaving_out
from sdfgad.verbs.pipeline import Request, derive
from tests.support.oracle import numerical_gradient, program_gradient

ROWS, COLUMNS, STEPS = 6, 5, 3


def by_columns(a):
    for _ in range(STEPS):
        for j in range(a.shape[1]):
            a[:, j] = a[:, j] * a[:, j] * a[:, j]
    return np.sum(a)


def test_a_sweep_over_columns_is_kept_row_by_row():
    a = np.random.default_rng(0).uniform(0.5, 1.0, (ROWS, COLUMNS))
    with leaving_out("preaccumulate"):  # which would keep nothing of it
        made = derive(by_columns, bind(by_columns, (a,), {}), Request(("a",)))
    tapes = [array.shape for name, array in made.program.arrays.items() if name.startswith("tape")]
    assert tapes == [(STEPS, ROWS, COLUMNS)]
    np.testing.assert_allclose(sdfgad.grad(by_columns)(a), 27 * a ** 26, rtol=1e-12)


def added_up(a, y):
    s = np.sum(y * y)
    for i in range(ROWS):
        for j in range(i + 1):
            y[j] += a[i, j]
    return s + np.sum(y ** 3)


def in_blocks(a, y):
    for b in range(ROWS // 2):
        y[2 * b:2 * b + 2] *= a[b, 0]
    return np.sum(y ** 3)


def beside_idle_rows(a, y):
    s = np.sum(y * y)
    for i in range(ROWS):
        for j in range(3 * i, i + 4):
            y[j] += a[i, 0]
    return s + np.sum(y ** 3)


@pytest.mark.parametrize("f", [added_up, in_blocks, beside_idle_rows])
def test_a_tape_of_rows_whose_bounds_move_does_not_ask_which_row_it_is(f):
    rng = np.random.default_rng(0)
    a, y = rng.uniform(0.5, 1.0, (ROWS, ROWS)), rng.uniform(0.5, 1.0, ROWS)
    grads = sdfgad.grad(f, wrt=("a", "y"))(a.copy(), y.copy())
    for k, name in enumerate(("a", "y")):
        np.testing.assert_allclose(grads[name], numerical_gradient(f, (a, y), k), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("f", [added_up, beside_idle_rows])
def test_a_tape_of_rows_whose_bounds_move_has_room_for_what_they_reach(f):
    tapes = [(a.role, a.shape) for n, a in _program(f).arrays.items() if n.startswith("tape")]
    assert tapes == [("transient", (ROWS,))]


def _program(f):
    a, y = np.ones((ROWS, ROWS)), np.ones(ROWS)
    return derive(f, bind(f, (a, y), {}), Request(("a", "y"))).program


def test_what_nobody_looks_at_comes_off_again():
    """A branch without a derivative, in a loop of unknown length: its condition is pushed, and has to come off."""
    def copied(x, c):
        if x[-1] > 0.1:
            n = 0
            while np.sqrt(x[2] * x[2] + 0.3) < 0.95 and n < 2:
                n += 1
                if c <= 0.5:
                    x = x.copy()
        else:
            x[2] *= x[1]
        return np.sum(x * x) + c

    arguments = np.array([0.1, 0.2, 0.3, 0.4]), 0.3
    parsed = parse(copied, arguments)
    data = {k: np.asarray(v) for k, v in parsed.collect(arguments, {}).items()}
    _, found = program_gradient(parsed.program, data, ["x", "c"], [])
    assert np.array_equal(found["x"], 2 * arguments[0]) and found["c"] == 1
