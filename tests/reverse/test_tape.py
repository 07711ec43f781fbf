"""Tapes lie in memory as the arrays they keep."""
from __future__ import annotations

import numpy as np

import sdfgad
from sdfgad.arguments import bind
from sdfgad.pipeline import Wish, derive

ROWS, COLUMNS, STEPS = 6, 5, 3


def by_columns(a):
    for _ in range(STEPS):
        for j in range(a.shape[1]):
            a[:, j] = a[:, j] * a[:, j] * a[:, j]
    return np.sum(a)


def test_a_sweep_over_columns_is_kept_row_by_row():
    a = np.random.default_rng(0).uniform(0.5, 1.0, (ROWS, COLUMNS))
    made = derive(by_columns, bind(by_columns, (a,), {}), Wish(("a",)))
    tapes = [array.shape for name, array in made.program.arrays.items() if name.startswith("tape")]
    assert tapes == [(STEPS, ROWS, COLUMNS)]
    np.testing.assert_allclose(sdfgad.grad(by_columns)(a), 27 * a ** 26, rtol=1e-12)
