"""Conditions that are no flags, casts that NumPy makes or refuses, and sizes that have to be equal."""
from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.support.interpreted import interpreted

X = np.array([0.9, -0.35, 0.62, 1.4, -2.3, 0.05])
A = np.sin(np.arange(12.0)).reshape(3, 4) + 0.1
C = np.cos(np.arange(24.0)).reshape(2, 3, 4)
K = np.array([3, -1, 0, 2, 5, 0])
B = np.array([True, False, True, True, False, True])
F = X.astype(np.float32)


def where_integers_meet_floats(x, k, b):
    out = np.full(6, 0.5)
    np.add(k, k, out=out, where=b)
    np.greater(x, 0.3, out=out, where=~b)
    return out * x


def where_single_meets_double(x, f, b):
    out = x * 1.1
    np.multiply(f, f, out=out, where=b)
    return out


def placed_by_integers(x, k):
    y, z = x * 1.0, x * 2.0
    np.place(y, k, [x[0], 7.0])
    np.putmask(z, k, x[::-1])
    return y, z


def filled_with_fractions(x):
    k = np.arange(6)
    np.copyto(k, x * 3, casting="unsafe")
    k[:2].fill(2.7)
    return k * x


def counted_on(x):
    n, total = int(np.argmax(x)), 0.0
    for k, v in enumerate([x[0], x[1] * x[2]], n):
        total += k * v
    return total


def repeated_in_place(x):
    a, b = [x[0], x[1]], [x[2]]
    other = a
    a *= 2
    b *= np.int64(3)
    a += b
    return np.array(other) * len(b)


def repeated_apart(x):
    a = [x[0], x[1]]
    other = a
    a *= np.int64(2)
    return np.array(a) * len(other)


def last_of_a_deque(x):
    d = deque([x[0], x[1]], maxlen=3)
    d += [x[2], x[3]]
    return d[0] * x


PROGRAMS = {
    "compress": (lambda x, k: np.sum(np.compress(k, x) ** 2) + np.sum(np.compress(k[:3], A * x[0], axis=0)), X, K),
    "extract": (lambda x, k: np.sum(np.extract(k % 2, x)) + np.sum(np.extract(x - x[0], x)), X, K),
    "piecewise": (lambda x, k: np.piecewise(x, [k, k < 0], [lambda v: v * v, 3.0]), X, K),
    "place and putmask": (placed_by_integers, X, K),
    "where= of integers": (where_integers_meet_floats, X, K, B),
    "where= of single precision": (where_single_meets_double, X, F, B),
    "casts": (filled_with_fractions, X),
    "comparisons with dtype=": (lambda x: np.less(x, 0.5, dtype=bool) & np.isfinite(x, dtype=bool), X),
    "single precision with dtype=": (lambda x, k: np.add(x, k, dtype=np.float32), X, K),
    "complex with dtype=": (lambda x: np.sqrt(x, dtype=complex), X),
    "whole numbers of fractions": (
        lambda x: x[0] * np.arange(0, 5, 0.5, dtype=int) + np.arange(-3, 2, 0.5, dtype=int), X),
    "enumerate from data on": (counted_on, X),
    "list in place": (repeated_in_place, X), "list apart": (repeated_apart, X), "deque": (last_of_a_deque, X),
    "quantile of single precision": (lambda x, f: np.quantile(f, np.abs(x[0])), X, F),
    "dtypes of numbers": (lambda f: np.zeros(2, np.result_type(int(np.argmax(f)), float(f[0]), f)) + f[0], F),
    "reductions that begin with a number": (
        lambda f, x: np.sum(f, initial=x[0]) + np.max(f, initial=x[3]) + np.prod(f, initial=np.float64(2)), F, X),
    "whole reductions": (lambda k: np.sum(k, initial=0.5) + np.prod(k, initial=1.5) + np.mean(k, dtype=int), K),
    "repeat by a list of one": (lambda x: np.repeat(x, [2]), X),
    "extrema without NaN": (lambda x: (max(np.where(x > 1, np.nan, x)), min(np.where(x > 0.8, np.nan, x))), X),
    "whole steps of a geometric range": (
        lambda x: x[0] * np.geomspace(1, 1000, 4, dtype=int) + np.geomspace(-1, -8, 4), X),
    "a step of NumPy's": (lambda f: f * np.linspace(0, 1, 5, retstep=True)[1], F),
    "choose": (lambda f, k: np.choose(k % 3, [f, 0.5, 1]), F, K),
    "zeros of a polynomial": (lambda f: (np.poly(f), np.poly(f[:0])), F),
    "quantile in a list": (lambda f: np.nanquantile(f, 0.3), F),
    "quantile of a number of NumPy's": (lambda f: np.quantile(f, np.float64(0.25)), F),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_numpy(name: str) -> None:
    fn, *arguments = PROGRAMS[name]
    check(fn, *arguments)


@pytest.mark.parametrize("fn", [
    where_integers_meet_floats, lambda x, k, b: placed_by_integers(x, k)[0], lambda x, k, b: np.compress(k, x).sum()])
def test_slopes(fn) -> None:
    check_both_modes(lambda x, k, b: np.sum(np.sin(fn(x, k, b))), (X, K, B))


def cast_into_integers(x):
    k = np.arange(6)
    np.copyto(k, x)
    return k


def product_into_integers(a):
    out = np.zeros((3, 3), int)
    return np.matmul(a, a.T, out=out)


def where_fractions_meet_integers(x):
    out = np.arange(6)
    np.add(x, x, out=out, where=x > 0)
    return out


REFUSED = {
    "copyto": (cast_into_integers, X), "matmul": (product_into_integers, A),
    "where=": (where_fractions_meet_integers, X),
    "astype": (lambda x: x.astype(int, casting="safe"), X),
    "concatenate to integers": (lambda x: np.concatenate((x, x), dtype=int), X),
    "dtype= of integers": (lambda x, k: np.add(x, k, dtype=int), X, K),
    "columns of another height": (lambda a: np.concatenate((a, a[:1, :2]), axis=1), A),
    "rows of another length": (lambda x: np.stack([x, x[:1]]), X),
    "rows of another length below": (lambda x: np.vstack([x, x[:1]]), X),
    "a list of rows": (lambda x: np.array([x, x[:1]]), X),
    "a negative number of repetitions": (lambda x: np.repeat(x, -1), X),
    "an appended row": (lambda a: np.append(a, a[:1, :1], axis=0), A),
    "select by integers": (lambda x, k: np.select([k, x > 1], [x, 2 * x]), X, K),
    "a sum with flags of more rows": (lambda x, a: np.sum(x[:4], where=a > 0), X, A),
    "a mean with flags of more rows": (lambda x, a: np.mean(x[:4], where=a > 0), X, A),
    "a product with flags of more rows": (lambda x, a: np.prod(x[:4], where=a > 0), X, A),
    "an extremum with flags of more rows": (lambda x, a: np.max(x[:4], where=a > 0, initial=0.0), X, A),
    "a sum with flags of a whole matrix": (lambda x, a: np.sum(a[:1], where=a > 0), X, A),
    "a sum with integers for flags": (lambda x, k: np.sum(x, where=k), X, K),
    "a product with integers for flags": (lambda x, k: np.prod(x, where=k), X, K),
    "sums with integers for flags": (lambda x, k: np.add(x, x, out=np.zeros(6), where=k), X, K),
    "copies with integers for flags": (lambda x, k: np.copyto(np.zeros(6), x, where=k), X, K),
    "a power of -1": (lambda x, k: x * np.power(k, -1), X, K),
    "an operator to the power of -2": (lambda x, k: x * k ** np.int64(-2), X, K),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_in_numpy(name: str) -> None:
    fn, *arguments = REFUSED[name]
    with pytest.raises((TypeError, ValueError)):
        fn(*arguments)
    with pytest.raises(UnsupportedError):
        parse(fn, arguments)


def test_an_ellipsis_between_places() -> None:
    """It keeps them apart, even if it stands for nothing: the dimension of the places comes first."""
    rows, columns = np.array([0, 2]), np.array([1, 3])
    assert C[:, rows, ..., columns].shape == C[:, rows, columns].T.shape
    check(lambda c: c[..., rows, columns] * c[:, rows, columns], C)
    with pytest.raises(UnsupportedError):
        parse(lambda c: c[:, rows, ..., columns], (C,))


def powers_below_one(x):
    total = 0.0
    for k in range(100):
        total += x[k % 6] * 2 ** -k + x[k % 6] * (k + 1) ** -1
    n = int(np.argmax(x))
    return total + x * 3 ** -n + x[0] * 2 ** (n - n)


def called_where_it_holds(x):
    count = np.zeros(1)

    def noted(v):
        count[0] += 1.0
        return v

    total = 0.0
    for v in x:
        if 0 < v < noted(1.0) < noted(2.0):
            total += v
    return total * x + count[0] + (noted(x[1]) > 0 > noted(x[0]))


@pytest.mark.parametrize("fn", [powers_below_one, called_where_it_holds])
def test_numbers_of_python(fn) -> None:
    check(fn, X)
    check_both_modes(lambda x: np.sum(fn(x) * x), (X,))


def test_powers_of_integers_that_data_may_make_negative() -> None:
    """A float in Python then: the run stops, where it took 0 for it."""
    power = lambda x, i: x * 2 ** int(i[0])  # noqa: E731
    check(power, X, np.array([3]))
    with interpreted(), pytest.raises(ArithmeticError, match="negative power"):
        sdfgad.forward(power)(X, np.array([-1]))
    with pytest.raises(UnsupportedError, match="negative power"):
        parse(lambda x, k: x * k ** -1, (X, K))


@pytest.mark.parametrize("power", [
    lambda x, k, m: x * np.power(k, m), lambda x, k, m: x * 2 ** m, lambda x, k, m: x * k ** m[1],
    lambda x, k, m: x * np.power(B, m), lambda x, k, m: x * np.power(k, m, out=np.zeros(6, int))])
def test_powers_of_numpys_integers(power) -> None:
    """An error in NumPy, whatever the base is."""
    check(power, X, K, np.array([3, 2, 0, 1, 1, 5]))
    below = (X, K, np.array([3, -1, 0, 1, 1, 5]))
    with pytest.raises(ValueError, match="negative integer powers"):
        power(*below)
    with interpreted(), pytest.raises(ValueError, match="negative integer powers"):
        sdfgad.forward(power)(*below)


def test_powers_that_are_no_integers_or_not_negative() -> None:
    check(lambda x, k: x * 2 ** np.arange(6) + x * k ** np.uint8(2) + np.power(10, np.arange(5, -1, -1)), X, K)
    check(lambda x, k: x * np.power(k.astype(np.uint64) + 1, k) + np.power(k + 2.0, -1) + np.float_power(k + 2, -1),
          X, K)
    check(lambda k: np.max(k, where=k > 0, initial=2.5) + np.min(F, where=B, initial=np.float64(0.3)), K)


def test_any_truth_keeps_dimensions() -> None:
    check(lambda a: a / a.sum(axis=1, keepdims=1) - np.max(a, axis=0, keepdims=1) + np.mean(a, 1, keepdims=1), A)


def test_defaults_of_called_functions_may_change() -> None:
    def scaled(v, factors=[1.0], weights=np.ones(6)):  # noqa: B006
        return v * factors[0] * weights

    with interpreted():
        run = sdfgad.forward(lambda x: scaled(x))
        for change in (lambda: None, lambda: scaled.__defaults__[0].__setitem__(0, 3.0),
                       lambda: scaled.__defaults__[1].__setitem__(2, 5.0),
                       lambda: setattr(scaled, "__defaults__", ([2.0], np.full(6, 0.5)))):
            change()
            np.testing.assert_allclose(run(X), scaled(X))
