"""Functions of integers, booleans and single precision: dtypes and values as NumPy and SciPy have them."""
from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.support.interpreted import interpreted

I = np.array([3, -1, 4, 1, -5, 9])  # noqa: E741
J = np.array([2, 7, 1, 8, 2, 8], np.int32)
F = np.linspace(0.1, 2.0, 6, dtype=np.float32)
N = np.array([np.nan, 1.0, -np.inf, np.inf, -0.0, 2.0])
B = np.array([True, False, True, True, False, False])



def counted():
    n = 0
    while n < 3:
        n += 1
    return n


PROGRAMS = {
    "integers": lambda i, j, f, n, b: (np.fmod(i, j), np.fmod(i, -2), np.fmod(b, i), np.nanmax(i), np.nanmin(j, axis=0),
                                       np.round(i), np.round(j, 1), np.nanmax(n), np.add.reduceat(i, [0, 2])),
    "means": lambda i, j, f, n, b: (np.nanmean(f), np.nanstd(f), np.nanmean(n), np.nanmean(i), np.nanstd(j)),
    "near": lambda i, j, f, n, b: (np.isclose(n, n), np.isclose(n, n[::-1]), np.isclose(n, n, equal_nan=True),
                                   np.isclose(f, n), np.allclose(i, i), np.allclose(n, n, equal_nan=True)),
    "equal": lambda i, j, f, n, b: (np.array_equal(n, n, equal_nan=True), np.array_equal(i, j),
                                    np.array_equal(i, i[:3])),
    "products": lambda i, j, f, n, b: (np.dot(f, 2), np.inner(f, 2), np.outer(f, 2), np.dot(b, b), np.vdot(b, b),
                                       np.inner(b, b), np.dot(b, i), np.correlate(b, b), np.vdot(f, f)),
    "bins": lambda i, j, f, n, b: np.histogram(f, bins=4),
    "in double": lambda i, j, f, n, b: (np.interp(f, np.sort(f), f), np.cov(f), np.corrcoef(f, f * f)[0, 1],
                                        np.percentile(f, [25, 75]), np.nanquantile(f, [0.2]), np.quantile(f, 0.3)),
    "of elements": lambda i, j, f, n, b: (
        np.modf(i), np.modf(f), np.nextafter(f, 2.0), np.nextafter(1.5, f), np.spacing(f), np.frexp(i), np.square(b),
        np.ldexp(f, j), np.ldexp(f, 2), np.ldexp(i, 2), np.ldexp(f * np.float32(1e-30), 130),
        np.ldexp(2.0 ** -900, i * 200),
        np.fmod(i, True), np.logaddexp(f, 1.5), np.logaddexp(2, i), np.divmod(i, 4), np.heaviside(i, 1),
        np.isnan(b), np.isinf(b), np.isfinite(b)),
    "small": lambda i, j, f, n, b: (np.dot(i.astype("u1"), i.astype("u1")), j @ j, np.inner(j, j), np.vdot(j, j),
                                    np.vecdot(j, j), np.vecdot(b, b), np.einsum("i,i", j, j)),
    "polynomials": lambda i, j, f, n, b: (np.polyval([1, 2], f), np.polyval([1.0, 2.0], f), np.polyval(j, f),
                                          np.polyval([1, 2], j), np.polyval(f, f), np.polyval(f, 2)),
    "between": lambda i, j, f, n, b: (np.linspace(f[0], f[1], 4), np.linspace(f, 1, 3), np.linspace(i[0], i[1], 3),
                                      np.linspace(-2, 2, 4, dtype=int), np.linspace(f[0], -9.5, 6, dtype=np.int32),
                                      np.logspace(f[0], 1, 3), np.geomspace(f[0], 8, 3), np.geomspace(f, i[0], 3)),
    "numbers of Python's": lambda i, j, f, n, b: (
        np.ravel(2) * f, np.reshape(2.0, (1,)) * f, np.broadcast_to(2.0, 6) * f, np.expand_dims(2, 0) * f,
        np.squeeze(2.0) * f, np.transpose(0.5) * f, np.append(2, f), np.einsum(",i", 2.0, f), np.vdot(2.0, f[0]),
        np.tensordot(0.5, f, 0), np.real(2.0) * f, abs(-2) * f),
    "numbers of Python's, called by others": lambda i, j, f, n, b: (
        list(map(np.ravel, [2.0]))[0] * f, functools.partial(np.power, 2.0)(2) * f,
        functools.reduce(np.add, [1.0, 2.0]) * f, list(itertools.accumulate([1.0, 2.0], np.add))[1] * f,
        functools.partial(np.real, 2.0)() * f, sum(map(abs, [1.0, -2.0])) * f, counted() * f, np.square(counted()) * f,
        np.maximum(counted(), 2) * f),
    "flags and numbers of Python's": lambda i, j, f, n, b: (
        np.add(True, True) * f, np.multiply(True, True), np.square(True) * f, np.abs(True) * f,
        np.add(2 ** 62, 2 ** 62), np.divide(1, 0), np.subtract(1, True), functools.reduce(np.add, [True, True])),
    "the larger place": lambda i, j, f, n, b: (max(np.argmax(i), 1) * f, min(3, np.argmin(j)) * f, max(1, len(f)) * f),
    "turns": lambda i, j, f, n, b: (np.unwrap(i), np.unwrap(f * 9), np.unwrap(j.astype(np.uint32))),
    "powers of none": lambda i, j, f, n, b: np.linalg.matrix_power(np.reshape(np.outer(i, i), (4, 3, 3)), 0),
    "without NaN": lambda i, j, f, n, b: (np.nanprod(n, keepdims=True), np.nanprod(f, 0, np.float64),
                                          np.nanprod(n, initial=2.0, where=b)),
    "borders": lambda i, j, f, n, b: (np.pad(f, 1, "linear_ramp"), np.pad(f, 2, "mean"), np.pad(j, 2, "wrap")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_of_numpy(name):
    program = PROGRAMS[name]

    def run(i, j, f, n, b):
        return program(i, j, f, n, b)

    check(run, I.copy(), J.copy(), F.copy(), N.copy(), B.copy(), rtol=1e-11)


def test_of_scipy():
    pytest.importorskip("scipy")
    from scipy import fft, interpolate, linalg, ndimage, signal, special

    def run(i, f):
        return (special.beta(f, 2), special.beta(f, f), special.xlogy(i, 2), special.ndtr(f), special.binom(5, f),
                special.rgamma(f), special.boxcox(f, 0.5), special.boxcox1p(f, 0.5), special.inv_boxcox(f, 0.5),
                special.pseudo_huber(1.0, f), np.quantile(f, np.abs(np.sin(f[:2]))),
                linalg.norm(f), linalg.norm(f, 1), fft.dct(f), ndimage.gaussian_filter(f, 1.0), ndimage.laplace(f),
                ndimage.correlate(f, f[:3]), signal.detrend(f), signal.hilbert(f),
                interpolate.CubicSpline(f, f)(f), interpolate.interp1d(f, f)(f), interpolate.interp1d(f, i)(0.4))

    check(run, I.copy(), F.copy())


def test_of_scipy_with_matrices_and_samples():
    """What SciPy keeps in single precision, and what it makes double."""
    from scipy import integrate, linalg, stats

    def run(f, a):
        return (linalg.norm(a), linalg.norm(a, 1), linalg.expm(a), linalg.sqrtm(a), linalg.cosm(a),
                linalg.solve_sylvester(a, a, a), integrate.simpson(f[:5]), integrate.simpson(f[:2], dx=0.5),
                stats.entropy(f), stats.entropy(f, base=2), stats.sem(f))

    def wide(f, a):
        return linalg.det(a), integrate.romb(f[:5]), integrate.simpson(f), linalg.expm_frechet(a, a)[1]

    single = np.array([[4.0, 1.0], [1.0, 2.0]], np.float32)
    check(run, F.copy(), single)
    check(wide, (F * 8).round(), single, rtol=1e-6)


@pytest.mark.parametrize("program", [
    lambda i, b: np.reciprocal(i), lambda i, b: np.round(i, -1), lambda i, b: np.round(b),
    lambda i, b: np.deg2rad(b), lambda i, b: np.degrees(i.astype("u1")), lambda i, b: np.frexp(b),
    lambda i, b: np.percentile(i * 1j, 30)],
    ids=["reciprocal", "tens", "round", "degrees", "half precision", "halves", "complex quantile"])
def test_refusals(program):
    with pytest.raises(UnsupportedError):
        parse(program, (I.copy(), B.copy()))


def test_arguments_by_place():
    """In the order of NumPy's and SciPy's parameters, of which rules may lack one in the middle, such as `out`."""
    pytest.importorskip("scipy")
    from scipy import linalg

    def run(g):
        return (np.sum(g, 1, None, None, True), np.mean(g, 0, None, None, True), np.max(g, 1, None, True),
                np.std(g, 0, None, None, 1), g.var(1, None, None, 1, True), np.any(g > 0, 1, None, True),
                np.argmax(g, 1, None), np.argsort(g, 1, None, None), np.take(g, [0, 5], 1, None, "wrap"),
                np.median(g, 1, None, False, True), np.quantile(g, 0.3, 1, None, False, "lower", True),
                np.nanmax(g, 0, None, True), np.prod(g, 0, None, None, True), np.ptp(g, 1, None, True),
                np.histogram(g, 3, (0.0, 1.0), True)[0], np.clip(g, 0.0, 0.5, None), linalg.qr(g, False, None, "r")[0])

    check(run, np.sin(np.arange(12.0)).reshape(3, 4), rtol=1e-11)


@pytest.mark.parametrize("program", [
    lambda g: np.sum(g, 1, None, np.zeros(4)), lambda g: np.argsort(g, 1, None, "field"),
    lambda g: np.argmax(g, 1, True),
    lambda g: np.concatenate((g, g), 0, 5)], ids=["shape of out", "order", "no out", "no array"])
def test_arguments_by_place_that_are_refused(program):
    with pytest.raises(UnsupportedError):
        parse(program, (np.ones((3, 4)),))


def product_of_elements(x):
    k = np.array([200, 100], np.uint8)
    j = k[0] * k[1] - np.uint8(250)
    return x[(k[0] + k[1]) % 6] + x[j % 6] * (j >> 1)


def generator_of_random_numbers(x):
    s, total = np.uint32(4000000000), 0.0
    for i in range(70):
        s = s * np.uint32(1664525) + np.uint32(i)
        total += x[s % 6] * (s / 2 ** 32)
    return total + x[s % np.uint32(7) % 6]


def negated(x):
    total = 0.0
    for i in range(70):
        total += x[0] * -np.uint16(i) + x[-np.uint8(i) % 6] + (np.uint16(3) - np.uint16(i)) // 2 * x[2]
    return total


@pytest.mark.parametrize("fn", [product_of_elements, generator_of_random_numbers, negated])
def test_numbers_of_narrow_types_wrap_around_where_they_are_places(fn):
    check(fn, np.linspace(0.1, 2.0, 6))


@pytest.mark.parametrize("fn", [
    lambda x: x / len(x[x > 0.5]), lambda x: x[x > 0.5].size * x, lambda x: x * x[x > 0.5].shape[0],
    lambda x: x / np.size(x[x > 0.5]), lambda x: np.where(x > 0.5)[0].size * x,
    lambda x: np.extract(x > 0.5, x).size / x])
def test_lengths_that_data_decide_keep_single_precision(fn):
    """They are integers of Python's, and not of NumPy's."""
    check(fn, F.copy())


@pytest.mark.parametrize("fn", [
    lambda x: sum(1 for v in x if v > 0.5) * x, lambda x: sum([1 for v in x if v > 0.5]) * x,
    lambda x: sum(0.5 for v in x if v > 0.5) * x, lambda x: max(k for k, v in enumerate(x) if v > 0.5) * x,
    lambda x: sum(v for v in x if v > 0.5) * x, lambda x: np.sum([1 for v in x if v > 0.5]) * x])
def test_numbers_of_python_in_lists_keep_single_precision(fn):
    check(fn, F.copy())


@pytest.mark.parametrize("fn", [
    lambda x: (x > 0.5) ** 2, lambda x: (x > 0.5) ** 3, lambda x: np.power(x > 0.5, 2), lambda x: (x[0] > 0.5) ** 2,
    lambda x: (x > 0.5) ** np.int64(2), lambda x: (x > 0.5) ** True, lambda x: (x > 0.5) ** 2.0])
def test_powers_of_booleans(fn):
    check(fn, F.copy())


def multiples_of_64_bits(x):
    s = 0.0
    for i in np.arange(2 ** 62, 2 ** 62 + 3):
        s = s + i * 4 * x[0]
    for i in range(3):
        s = s + np.int64(i) * 2 ** 62 * 3 * x[1]
    return s


def remainders_of_64_bits(x):
    s = 0.0
    for i in np.arange(3):
        s = s + x[(i * 2 ** 62 * 2) % 3] + x[(i * 2 ** 62) % 3] * 2
    return s


def multiples_of_32_bits(x):
    s = 0.0
    for i in np.arange(3, dtype=np.int32):
        s = s + x[(i * 2 ** 30 * 2) % 3] + i * np.int32(2 ** 31 - 1) * x[0]
    return s


def narrow_ones_that_fit(x):
    s = 0.0
    for i in range(3):
        s = s + x[np.int8(i * 2)] * np.int32(i) + x[np.uint8(np.int64(300) * i) % 6]
    return s


def counters_whose_end_data_decide(x):
    s = 0.0
    for k in range(int(x[5] * 3)):
        s = s + x[0] * (np.int32(k) * np.int32(2 ** 30)) + x[1] * (np.int32(2 ** 31 - 3) + np.int32(k))
    return s


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("fn", [
    multiples_of_64_bits, remainders_of_64_bits, multiples_of_32_bits, narrow_ones_that_fit,
    counters_whose_end_data_decide])
def test_numbers_of_loops_wrap_around(fn):
    check(fn, np.linspace(0.1, 2.0, 6))


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint8])
def test_numbers_that_do_not_fit_a_type(kind):
    def f(x):
        s = 0.0
        for i in range(4):
            s = s + x[kind(i * (2 ** 31 if kind is np.int32 else 20000)) % 3]
        return s

    with interpreted(), pytest.raises(OverflowError, match=f"out of bounds for {kind.__name__}"):
        sdfgad.forward(f)(np.linspace(0.1, 2.0, 6))


def test_multiples_of_counters_whose_end_data_decide():
    def f(x):
        s = 0.0
        for k in range(int(x[1])):
            s = s + x[0] * np.int32(k * 50_000)
        return s

    with interpreted(), pytest.raises(OverflowError, match="out of bounds for int32"):
        sdfgad.forward(f)(np.array([0.5, 42_960.0]))


@pytest.mark.parametrize("fn", [
    lambda x: np.array([x[0], 2.0]), lambda x: np.array([x[0], 2]), lambda x: np.array([[x[0], 2.0], [x[1], x[2]]]),
    lambda x: np.stack([x[0], 2.0]), lambda x: np.max([x[0], 2.0]), lambda x: np.r_[x, 1.0], lambda x: np.r_[x[0], 2],
    lambda x: np.append(x, 2.0), lambda x: np.dot([x[0], 2.0], [1.0, x[1]]), lambda x: np.array([x[0], x[1]]),
    lambda x: np.array([x[0], True])])
@pytest.mark.parametrize("given", [F, np.array([1, 2, 3], np.int8)])
def test_numbers_of_python_in_lists_that_become_arrays(fn, given):
    """They have their own dtype there: only beside arrays they take that of these."""
    check(fn, given.copy())


@pytest.mark.parametrize("fn", [
    lambda a, w, big: np.average(a, weights=w), lambda a, w, big: np.average(big, weights=w, returned=True),
    lambda a, w, big: np.average(np.stack([a, a]), axis=1, weights=w), lambda a, w, big: np.nanmean(big),
    lambda a, w, big: np.average(a > 0, weights=w > 2), lambda a, w, big: (np.nanmean(a), np.nanmean(a > 0))])
def test_means_of_integers_do_not_wrap_around(fn):
    check(fn, np.array([100, 50, 120], np.int8), np.array([2, 3, 4], np.int8), np.array([2 ** 62, 2 ** 62, 5]))
