"""Arguments that NumPy's functions take and few programs give, and slopes at points where a formula hides them."""
from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import linalg, signal, special, stats

import sdfgad
from tests.frontend.checking import check, check_both_modes
from tests.support.interpreted import interpreted

X = np.array([0.9, -0.35, 0.62, 1.4])
A = np.sin(np.arange(12.0)).reshape(3, 4) + 0.1
C = np.cos(np.arange(24.0)).reshape(2, 3, 4)
SKEWED = np.array([[4.0, 1.0, 0.5], [0.7, 3.0, 0.2], [-0.3, 0.6, 2.0]])
STACK = np.stack((SKEWED, SKEWED.T + np.eye(3)))
TURNED = SKEWED + 1j * np.array([[0.3, 0.1, 0.2], [0.4, 0.0, -0.5], [0.6, -0.1, 0.2]])
PLACES = np.array([0, 1, 5, -1])


def put_with_mode(a, x, mode):
    y = a.copy()
    np.put(y, [1, 14, -3], x[:3], mode=mode)
    return y


def put_in_turn(a, x):
    y = a * 1.0
    np.place(y, y > -0.5, [x[0], x[1], a[0, 0]])
    np.place(y, a < -0.5, x[2])
    return y


def begun_again(a, x):
    y = np.zeros((9, 3)) + a[0, :3]
    np.fill_diagonal(y, x[0], wrap=True)
    np.fill_diagonal(y[:, :2], a[0, 0], True)
    return y


FLAGS = np.array([False, True, True, False])
PROGRAMS = {
    "sign of a sum": lambda a, x: np.prod(
        special.logsumexp(a, 1, np.array([1.0, -3.0, 1.0, 0.5]), True, True), axis=0),
    "sign of all": lambda a, x: (
        np.multiply(*special.logsumexp(x, return_sign=True)) * special.logsumexp(a, axis=(0, 1))),
    "exponent of data": lambda a, x: special.inv_boxcox(x, a[1, 1]) + special.inv_boxcox1p(x, x / 3),
    "exponents of data": lambda a, x: special.boxcox(x * x, x) + special.boxcox1p(x, x - 1),
    "some eigenvalues": lambda a, x: linalg.eigvalsh(SKEWED * x[0] + a[:, :3], subset_by_index=[1, 2]),
    "place in turn": put_in_turn,
    "another diagonal": begun_again,
    "triangles of a vector": lambda a, x: np.tril(x, 1) + np.triu(x * x, 1),
    "insert at a slice": lambda a, x: (
        np.insert(a, slice(None, None, 2), a[1:] * x, axis=0)[0] + np.insert(x, slice(0, 3, 2), x[1:3])[2]),
    "delete by flags": lambda a, x: (
        np.delete(a, [True, False, True], axis=0)[0] * np.delete(x, [False, False, True, False])[2]),
    "delete by a tuple and an array of flags": lambda a, x: (
        np.delete(x, (True, False, True, False))[0] * np.sum(np.delete(x, FLAGS)) + np.delete(x, np.int64(-1))[2]
        + np.sum(np.delete(x, x > 0.3) ** 2)),
    "convolve along an axis": lambda a, x: signal.fftconvolve(a, a[:2] * x[0], axes=0) * x[1],
    "of the same size": lambda a, x: signal.fftconvolve(a, x[None, :3], "same", axes=-1),
    "mean between limits": lambda a, x: stats.tmean(a, (-0.5, None)) + stats.tmean(a, (-0.9, 0.9), (False, 1), 0) * x,
    "describe": lambda a, x: sum(stats.describe(a, bias=False)[2:], x) + np.add(*stats.describe(a, axis=None).minmax),
    "quantile of data": lambda a, x: np.quantile(a, np.abs(x) / 2, axis=0),
    "one quantile of data": lambda a, x: np.quantile(a, x[0], axis=(0, 1), keepdims=True),
    "quantiles partly of data": lambda a, x: np.quantile(a, [0.25, x[0]], axis=1),
    "quantiles in an array": lambda a, x: np.percentile(a, np.array([[25.0, 50.0], [0.0, 100.0]]), axis=1),
    "quantiles of one value": lambda a, x: np.quantile(x[:1], np.abs(x) / 2),
    "hazen": lambda a, x: np.percentile(a, [2, 40, 99], axis=1, method="hazen"),
    "weibull": lambda a, x: np.quantile(x, 0.4, method="weibull"),
    "median unbiased": lambda a, x: np.quantile(x, 0.6, method="median_unbiased"),
    "normal unbiased": lambda a, x: np.quantile(x, 0.6, method="normal_unbiased"),
    "interpolated": lambda a, x: np.quantile(x, 0.6, method="interpolated_inverted_cdf"),
    "repeat by an array": lambda a, x: np.repeat(x, np.array([1, 0, 3, 2])) + np.sum(np.repeat(a, np.array([2]), 0)),
    "kron": lambda a, x: np.kron(C, a) + np.sum(np.kron(x, C) * C[0, 0, 0]) + np.sum(np.kron(a, x)),
    "weights along axes": lambda a, x: np.average(C * x, axis=(2, 1), weights=a.T),
    "plane and space": lambda a, x: np.cross(a[:, :2], C[:, :, 1:]) + np.cross(x[:3], x[2:]),
    "choose": lambda a, x: np.choose(PLACES, [x, x * x], mode="clip") * np.choose(PLACES, [x, a[0]], mode="wrap"),
    "put": lambda a, x: put_with_mode(a, x, "clip") + put_with_mode(a, x, "wrap"),
    "pad by axis": lambda a, x: np.pad(a, {1: (1, 2)}) + np.sum(np.pad(a, {-2: 1}, mode="edge")),
    "constants of integrals": lambda a, x: np.polyint(x, 2, k=[x[0], 2.0]) + np.sum(np.polyint(x, k=x[1])),
    "dtype of einsum": lambda a, x: np.einsum("ij,j", a, x, dtype=np.float64, casting="same_kind"),
    "dtype of trace": lambda a, x: np.trace(a, dtype=np.float64) * x,
    "casting": lambda a, x: np.concatenate((x, a[0]), dtype=np.float64, casting="same_kind"),
    "right sides for all": lambda a, x: np.linalg.solve(STACK, x[:3]) + np.linalg.solve(STACK + a[0, 0], a[:, 1]),
    "upper factor": lambda a, x: np.linalg.cholesky(SKEWED + a[0, 0] * x[0], upper=True),
    "upper factors": lambda a, x: np.linalg.cholesky(STACK + a[0, 0] * x[0], upper=True),
    "lower half": lambda a, x: np.linalg.pinv(SKEWED + a[:, 1:], hermitian=True),
    "lower halves": lambda a, x: np.linalg.pinv(STACK * x[0], hermitian=True),
    "complex half": lambda a, x: np.abs(np.linalg.pinv(TURNED * x[3], hermitian=True)),
    "values of a half": lambda a, x: np.linalg.svd(SKEWED + a[:, :3], compute_uv=False, hermitian=True),
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_rarer_arguments(name):
    program = PROGRAMS[name]

    def weighted(a, x):
        found = program(a, x)
        return np.sum(found * np.cos(np.arange(found.size).reshape(found.shape)))

    check(lambda a, x: program(a, x), A, X, rtol=1e-10)
    check_both_modes(weighted, (A, X))
    check_both_modes(lambda x, a: weighted(a, x), (X, A))


@pytest.mark.parametrize("q", [1.5, np.nan])
def test_quantiles_beside_their_range(q):
    with interpreted(), pytest.raises(ArithmeticError, match="from 0 to 1"):
        sdfgad.forward(lambda x, q: np.quantile(x, q))(X, q)


def test_a_rest_has_slope_one_at_multiples():
    points = np.array([0.0, -0.0, 2.0, -4.0, 0.5, -0.5])
    check(lambda x: np.copysign(1.0, np.fmod(x, 2.0)), points)
    with interpreted():
        slopes = sdfgad.vjp(lambda x, y: (np.fmod(x, y), np.fmod(x, -y)), points, np.full(6, 2.0))[1]
        by_x, by_y = slopes((np.ones(6), np.zeros(6)))
        np.testing.assert_array_equal(by_x, np.ones(6))
        np.testing.assert_array_equal(by_y, -np.trunc(points / 2))
        np.testing.assert_array_equal(slopes((np.zeros(6), np.ones(6)))[1], -np.trunc(points / 2))


def test_the_slope_of_a_rest_counts_what_was_taken_away():
    """1.0 / 0.1 is 10 by rounding, and 0.1 goes into 1.0 nine times."""
    with interpreted():
        assert sdfgad.grad(lambda y, x: x % y)(0.1, 1.0).y == -9.0


@pytest.mark.parametrize("size", [1e200, 1e-200, 1.0])
def test_lengths_whose_squares_leave_the_range(size):
    check(lambda x: (math.hypot(x[0], x[1]), math.hypot(x[0], x[1], x[2]), math.hypot(x[3]), math.hypot(),
                     math.dist(x[:3], x[1:])), X * size)
    with interpreted():
        found = sdfgad.grad(lambda x: math.hypot(x[0], x[1], x[2], x[3]))(X * size)
        np.testing.assert_allclose(found, X / np.linalg.norm(X))


def test_the_reciprocal_of_the_gamma_function():
    points = np.array([0.3, 0.5, 1e-300, -0.0, 0.0, -1.0, -2.0, -3.0, -3.5, -49.25, -0.7, 20.5, 171.2, 175.5, 400.0])
    check(lambda x: special.rgamma(x), points, rtol=1e-13)
    check(lambda x: np.log(np.abs(special.rgamma(x))), np.array([-49.25, -120.5, -169.3, 20.5, 130.0]), rtol=1e-13)
    with interpreted():
        slopes = sdfgad.vjp(lambda x: special.rgamma(x), points)[1](np.ones(len(points)))
        poles = np.array([0.0, -1.0, -2.0, -3.0, -8.0])
        at_poles = sdfgad.vjp(lambda x: special.rgamma(x), poles)[1](np.ones(5))
    away = np.abs(points - np.rint(points)) > 0.1
    np.testing.assert_allclose(slopes[away], (-special.digamma(points) * special.rgamma(points))[away], rtol=1e-11,
                               atol=1e-300)
    np.testing.assert_allclose(slopes[[2, 3, 4, 14]], [1.0, 1.0, 1.0, 0.0], atol=1e-300)
    np.testing.assert_allclose(at_poles, [1.0, -1.0, 2.0, -6.0, 40320.0], rtol=1e-12)


def test_binomial_coefficients_outside_of_their_triangle():
    n, k = np.full(7, 5.0), np.array([-1.0, -2.0, 6.0, 10.0, 50.0, 7.5, 2.0])
    check(lambda n, k: special.binom(n, k), n, k, rtol=1e-12)
    with interpreted():
        by_k = sdfgad.vjp(lambda n, k: special.binom(n, k), n, k)[1](np.ones(7))[1]
    h = 1e-5
    np.testing.assert_allclose(by_k, (special.binom(n, k + h) - special.binom(n, k - h)) / (2 * h), rtol=1e-6)


def test_the_slopes_of_powers_and_losses_at_zero():
    zero = np.zeros(1)
    with interpreted():
        for exponent, slope in ((0.5, np.inf), (1.0, 1.0), (2.0, 0.0)):
            assert sdfgad.vjp(lambda x, p=exponent: special.boxcox(x, p), zero)[1](np.ones(1)) == slope
        by_width = sdfgad.vjp(lambda d: special.pseudo_huber(d, np.array([-2.0])), zero)[1](np.ones(1))
        np.testing.assert_array_equal(by_width, [2.0])


def test_exponents_near_zero():
    y = np.array([0.0, -1.0, 1.0, 0.5, 1e-9, 3.0, 1e-3, -0.02, 0.03])
    for exponent in (0.0, 1e-12, 1e-3, 0.3, -0.7):
        check(lambda y, p: (special.inv_boxcox(y, p), special.inv_boxcox1p(y, p)), y, exponent)
    check_both_modes(lambda p: np.sum(special.inv_boxcox(y[2:], p)), (0.0,))


def test_powers_less_one_of_nothing():
    check(lambda x: (special.boxcox1p(x, 0.5), special.boxcox1p(x, -0.5)), np.array([-1.0, 0.0, 1e-9, np.inf, -2.0]))


def test_infinite_slopes_of_elliptic_integrals():
    with interpreted():
        assert sdfgad.grad(lambda m: special.ellipk(m))(1.0) == np.inf
        assert sdfgad.grad(lambda p: special.ellipkm1(p))(0.0) == -np.inf
        assert sdfgad.grad(lambda m: special.ellipe(m))(1.0) == -np.inf


def test_a_rest_of_the_nearest_quotient():
    for x in (5.3, -5.3, 3.0, -3.0, 5.0, 0.0, 7.5, np.nan):
        for y in (2.0, -2.0, np.inf, 0.1):
            check(lambda x, y: math.remainder(x, y), x, y)
    check(lambda x: math.copysign(1.0, math.remainder(x, 2.0)), -4.0)
    check_both_modes(lambda x: math.remainder(x[0], x[1]), (np.array([5.3, -2.0]),))
    check_both_modes(lambda x: math.remainder(x[0], x[1]), (np.array([-4.0, 2.6]),))


def test_the_sign_of_no_fraction():
    check(lambda x: (np.modf(x), np.signbit(np.modf(x)[0])), np.array([-1.0, -0.0, 0.0, 1.5, -1.5, np.inf, -np.inf]))
    check(lambda x: math.copysign(1.0, math.modf(x)[0]), -3.0)
    check_both_modes(lambda x: np.sum(np.modf(x)[0]), (np.array([-1.3, 1.5]),))


@pytest.mark.parametrize("length", [
    lambda x: math.hypot(x[0] - 0.9, x[1]), lambda x: math.hypot(x[0] - 0.9, x[1], x[2]),
    lambda x: math.dist([x[0], 0.9, x[2]], [0.9, x[0], 1.0])], ids=["two", "three", "distance"])
def test_lengths_along_an_axis_have_slopes(length):
    check_both_modes(length, (X,))


@pytest.mark.parametrize("method", ["lower", "higher", "nearest", "linear", "midpoint", "hazen", "weibull"])
def test_ranks_are_rounded_as_in_numpy(method):
    """0.8 (56 - 1) is 44, and 56 * 0.8 - 0.8 is not."""
    values = np.cos(np.arange(56.0))
    check(lambda x: [np.quantile(x, q, method=method) for q in (0.8, 0.2, 0.6, 1 / 7)], values, rtol=1e-15)
