"""Columns that a mask of several dimensions selects, `f[:, solid]`: the populations of a lattice in walls."""
from __future__ import annotations

import re

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

F = np.sin(np.arange(60.0) ** 2).reshape(3, 4, 5)
SOLID = np.cos(np.arange(20.0) ** 2).reshape(4, 5) > 0.3
W = np.array([0.5, 0.3, 0.2])


def bounced(f):
    """What arrives at walls goes back."""
    back = f[:, SOLID][[1, 2, 0], :]
    f = f + 0.7 * (f.sum(axis=0) - f)
    f[:, SOLID] = back
    f[:, ~SOLID] += f[:, ~SOLID] ** 2
    return f


def of_data(f):
    """A mask that data decide."""
    high = f[0] > 0.2
    f[1:, high] = f[:1, high] - f[1:, high]
    return f


def filled(f):
    """One column, or one row, for all places."""
    f[:, SOLID] = W[:, None]
    g = f * 1.0
    g[:, SOLID] = f[1, SOLID]
    f[:, ~SOLID] = W[:, None] * f[2, ~SOLID]
    h = f[0] * g[1]
    h[:, h[0] > -2.0] = h[::-1, :1]  # which it reads itself
    return f + 2.0 * g + h


def summed(f):
    """Sums along both directions, shapes, and rows again."""
    on = f[:, SOLID]
    rho = on.sum(axis=0)
    return [np.sum(rho**2 * on[1]), on.sum(axis=1), on.mean(), on.max(axis=1), on.T[:, 2].sum(), len(on), on.size,
            on.shape[1], np.sum(on / rho)]


def crowded(f):
    """One mask behind two dimensions."""
    f[:, :, SOLID[0]] *= 2.0
    return f


def centred(f):
    """Where the weight of what is selected lies."""
    rows, columns = np.nonzero(f[0] > 0.2)
    weights = f[1] ** 2
    return np.average(rows, weights=weights[rows, columns]) + f[2, 0, 0] * np.average(columns)


PAIRS = np.arange(6.0).reshape(2, 3)


def in_a_row(on):
    """What NumPy may make a view of."""
    row = on.ravel()
    row += 1.0
    return np.sum(on)


def multiplied(f):
    """Moments of populations, and populations of moments."""
    f[:, SOLID] = PAIRS.T @ (PAIRS @ f[:, SOLID]) + (f[:, SOLID].T @ PAIRS[0]) * W[:, None]
    return f * np.sum((W @ f[:, SOLID]) * f[0, SOLID])


def measured(f):
    """Norms, and all numbers in a row."""
    lengths = np.linalg.norm(f[:, SOLID], axis=0) * np.linalg.norm(f[:, SOLID], 1, 0)
    row = f[:, SOLID].ravel()
    return (f * np.sum(lengths) * np.linalg.norm(f[:, SOLID]) + row @ (f * f)[:, SOLID].flatten() * row[3]
            + np.linalg.norm(f[:, SOLID], axis=1)[:, None, None])


def copied(f):
    """Copies, and other names of the same numbers."""
    on, row = f[:, SOLID], f[0, SOLID]
    for same in (np.asarray(on), on.real, np.asarray(row), row.real, row.astype(float, copy=False)):
        same += 0.5
    for copy in (on.copy(), np.copy(on), np.array(on), on.flatten(), row.copy(), np.array(row), row.flatten()):
        copy -= on[0, 0]
        f = f + np.sum(copy**2)
    f[:, SOLID] = on[::-1] ** 2
    return f + np.sum(row)


FUNCTIONS = [multiplied, measured, copied, bounced, of_data, filled, summed, crowded]


@pytest.mark.parametrize("fn", [*FUNCTIONS, centred])
def test_columns_are_those_of_numpy(fn):
    check(fn, F)


@pytest.mark.parametrize("fn", FUNCTIONS[:6])
def test_derivatives_of_columns(fn):
    check_both_modes(lambda f: np.sum(fn(f * 1.0) * F[::-1]), (F,))


def test_derivatives_of_a_centre():
    check_both_modes(centred, (F,))


def test_columns_of_a_known_mask():
    check(lambda f: f[:, :, SOLID[0]] + 1.0, F)


@pytest.mark.parametrize("fn", [
    lambda f: f[:, SOLID] * f[0, ~SOLID], lambda f: f[:, :, f[0, 0] > 0] + 1.0, lambda f: in_a_row(f[:, SOLID])])
def test_what_columns_are_not_good_for_is_refused(fn):
    with pytest.raises(UnsupportedError, match=re.escape("[SG105]")):
        parse(fn, (F,))
