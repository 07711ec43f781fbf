"""Updates of the real and imaginary parts of arrays, which NumPy shows where they are."""
from __future__ import annotations

import re

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

Z = np.exp(1j * np.arange(5.0)) * np.arange(1.0, 6.0)
X = np.cos(np.arange(5.0))


def parts(z, x):
    z.real[2:] = x[2:]
    z.imag[1:] += z.real[:-1]
    z.real *= x
    z.imag[0] = 3.0
    z[1:].real[0] = x[0]
    z.imag = z.imag * x
    return z


def by_data(z, x):
    w = np.outer(z, x)
    w.real[[0, 1, 1], 2:4] = x[:2]
    w.imag[w.real > 0.1] += 1.0
    w[1:3].real = 2 * x
    w.T.imag[0] = w.real[:, 1]
    w.imag[x > 0.0, 1] *= 2.0
    return w


def in_loops(z, x):
    for k in range(1, 5):
        z.real[k] += z.imag[k - 1] * x[k]
        if z.real[k] > 0.0:
            z.imag[k] *= 2.0
            z.real[:k] -= 0.1
    return z


def value_changes_it(z, x):
    def turned(z):
        z *= 1j
        return z.real[1:]

    z.imag[1:] -= turned(z)
    return z


def single(z, x):
    w = z.astype(np.complex64)
    w.real[1] = x[0]
    w.imag **= 2
    w[2:3].real += x[2]
    return w


@pytest.mark.parametrize("fn", [parts, by_data, in_loops, value_changes_it, single])
def test_halves_are_updated_where_they_are(fn):
    check(fn, Z, X)


@pytest.mark.parametrize("fn", [parts, by_data, in_loops])
def test_derivatives_of_updates_of_halves(fn):
    def weighed(z, x):
        return np.sum(np.abs(fn(z * 1.0, x)) ** 2)

    check_both_modes(weighed, (Z, X))


def stale(z, x):
    r = z.real
    z.real[1] = x[0]
    return r + z.real


def of_an_item(z, x):
    z[0].real = x[0]
    return z


def of_an_expression(z, x):
    (z * 2).real[0] = x[0]
    return z


def too_wide(z, x):
    z.real[:] = z
    return z


@pytest.mark.parametrize("fn, text", [
    (stale, "which shares memory with another array, after one of them was updated"),
    (of_an_item, "an assignment to the attribute 'real'"), (of_an_expression, "an assignment into an array"),
    (too_wide, "complex")])
def test_what_is_no_update_of_a_half_is_refused(fn, text):
    with pytest.raises(UnsupportedError, match=re.escape(text)):
        parse(fn, (Z, X))
