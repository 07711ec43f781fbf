"""Functions that choose between formulas: where these meet, first and second derivatives are those of the function."""
from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import sdfgad


def _mean(x, y):
    return np.sum(np.logaddexp(x, y)) + np.sum(np.logaddexp2(x, y))


def _sinc(x):
    return np.sum(np.sinc(x))


def _exprel(x):
    return np.sum(special.exprel(x))


def _entropy(x, y):
    return np.sum(special.xlogy(x, y) + special.xlog1py(x, y))


def _boxcox(x, exponent):
    return np.sum(special.boxcox(x, exponent))


def _second(fn, arguments, directions):
    return sdfgad.hvp(fn, arguments, directions)


def test_a_sum_of_exponentials_at_a_tie():
    x = np.array([0.0, 1.0, -700.0])
    found = sdfgad.grad(_mean)(x, x.copy())
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-14)
    np.testing.assert_allclose(found.y, 1.0, rtol=1e-14)
    bent = _second(_mean, (x, x.copy()), (np.ones(3), np.zeros(3)))
    np.testing.assert_allclose(np.asarray(bent[0]), 0.25 * (1 + np.log(2)), rtol=1e-13)


def test_infinities_that_are_equal():
    x = np.array([-np.inf, np.inf, -np.inf, 2.0])
    y = np.array([-np.inf, np.inf, 1.0, np.nan])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(sdfgad.forward(lambda x, y: np.logaddexp(x, y))(x, y), np.logaddexp(x, y))


@pytest.mark.parametrize(("fn", "first", "second"), [(_sinc, 0.0, -np.pi**2 / 3), (_exprel, 0.5, 1 / 3)])
def test_a_quotient_of_zeros(fn, first, second):
    x = np.array([0.0, 1e-9, -1e-9])
    np.testing.assert_allclose(sdfgad.grad(fn)(x), first, atol=1e-8)
    np.testing.assert_allclose(_second(fn, (x,), (np.ones(3),)), second, rtol=1e-8)


def test_the_values_are_those_of_scipy():
    x = np.concatenate([np.linspace(-3, 3, 97), [0.0, 0.5, -0.5, 1e-300, np.inf]])
    np.testing.assert_allclose(sdfgad.forward(lambda x: special.exprel(x))(x), special.exprel(x), rtol=4e-16)
    np.testing.assert_allclose(sdfgad.forward(lambda x: np.sinc(x))(x[:-1]), np.sinc(x[:-1]), rtol=1e-15, atol=1e-16)


def test_a_logarithm_times_zero():
    found = sdfgad.grad(_entropy)(np.array([0.0, 0.0]), np.array([3.0, 0.0]))
    np.testing.assert_allclose(found.x, [np.log(3.0) + np.log(4.0), 0.0], rtol=1e-14)
    np.testing.assert_array_equal(found.y, 0.0)


def test_an_exponent_of_zero():
    x = np.array([0.5, 2.0, 3.0])
    power = sdfgad.value_and_grad(_boxcox, wrt="exponent")
    value, slope = power(x, 0.0)
    np.testing.assert_allclose(value, np.sum(np.log(x)), rtol=1e-14)
    np.testing.assert_allclose(slope, np.sum(np.log(x) ** 2) / 2, rtol=1e-14)
    for exponent in (0.3, -2.0, 1e-12):
        np.testing.assert_allclose(power(x, exponent)[0], np.sum(special.boxcox(x, exponent)), rtol=1e-14)
