"""`ufunc.at` at places that a mask selects, and dtypes that it takes."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes, weighted

A = np.cos(np.arange(25.0) ** 2).reshape(5, 5)
V = np.sin(np.arange(1.0, 6.0))


def densities(x, h):
    d = x[:, None] - x[None]
    r = np.sqrt((d ** 2).sum(-1) + 1e-12)
    i, j = np.nonzero((r < 2 * h) & (r > 1e-3))
    q = r[i, j] / h
    k = (2 - q) ** 3
    rho = np.zeros(len(x))
    np.add.at(rho, i, k)
    return np.sum(rho * np.arange(len(x))) + k.sum()


def forces(x, v):
    i, j = np.nonzero(x > 0.2)
    out = np.zeros((5, 3))
    np.add.at(out, i, v[j, None] * np.arange(3.0)[j % 3, None])
    np.subtract.at(out, j, 2.0 * v[i][:, None] * np.ones(3))
    np.add.at(out, (i % 2, slice(None)), np.arange(3.0))
    return out


def extrema(x, v):
    i, j = np.nonzero(x > 0.2)
    high, low = np.full(5, -1.0), np.full(5, 9.0)
    np.maximum.at(high, i, v[j] * x[i, j])
    np.minimum.at(low, j, v[i] * 2)
    return high + 3 * low


def products(x, v):
    i = np.nonzero(x[0] > 0.2)
    out = np.ones((2, 5))
    np.multiply.at(out, (1, i[0] // 2), v[i] + 3)
    np.divide.at(out, (0, *i), 2.0 + v[i])
    return out


def masks(x, v):
    m = x[0] > 0.2
    out, pairs = v * 2, np.zeros((5, 5))
    np.add.at(out, m, x[1][m])
    np.add.at(out, m, 1.0)
    np.add.at(pairs, np.nonzero(x > 0), x[x > 0])
    return out[:, None] * pairs


def counted(x, v):
    i, j = np.nonzero(x > 0.0)
    a, b = np.bincount(i, weights=v[j], minlength=5), np.bincount(j, minlength=6)
    return a + b[1:] * np.bincount(i, x[i, j] ** 2, 5)


@pytest.mark.parametrize("program", [forces, extrema, products, masks, counted])
def test_places_that_a_mask_selects(program):
    check(program, A, V)
    check_both_modes(lambda x: weighted(lambda y: program(y, V))(x), (A,))


def test_neighbours_of_particles():
    check_both_modes(densities, (np.abs(A[:, :2]), 0.3))


@pytest.mark.parametrize("add", [np.add.at, np.subtract.at, np.multiply.at, np.maximum.at])
def test_sums_that_numpy_cuts_one_by_one(add):
    """A number of floating point is not cut before it is added: `1 + 0.5 - 0.5` is 1 there, and not 0."""
    def program(x):
        counts = np.array([1, 2, 3])
        add(counts, [0, 0, 1], x[:3])
        return x[0] * counts

    with pytest.raises(UnsupportedError) as caught:
        parse(program, (V,))
    assert "added, one by one, to an array of dtype int64" in caught.value.what


@pytest.mark.parametrize("target", [np.int8, np.uint8, np.float32])
def test_integers_of_other_sizes(target):
    def program(x):
        out = np.zeros(4, target)
        np.add.at(out, np.flatnonzero(x > 0) % 4, np.flatnonzero(x > 0) * 100)
        np.maximum.at(out, np.flatnonzero(x > 0) % 2, np.flatnonzero(x > 0).astype(target))
        return x[0] * out

    check(program, V)


def test_counts_with_a_place_that_is_too_large():
    with pytest.raises(UnsupportedError):
        parse(lambda x: np.bincount(np.flatnonzero(x > 0)), (V,))
