"""Exceptions that data decide and a `try` catches: matrices without factors, Python's numbers, `raise`, `assert`."""
from __future__ import annotations

import contextlib
import math
import warnings

import numpy as np
import pytest
import scipy.linalg as sl
from numpy.linalg import LinAlgError

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

X = np.linspace(0.3, 1.7, 6)
OPEN = np.array([1.0, 1.0, -0.2, 1.0, 1.0, 1.0])
"""Parameters without a covariance."""
AT = np.array([0.0, 1.0, 2.5, 3.0, 4.2, 5.0])


def kernel(x):
    return x[0] ** 2 * np.exp(-0.5 * (AT[:, None] - AT[None]) ** 2 / x[1] ** 2) + x[2] * np.eye(6)


def likelihood(x):
    if x[1] <= 0:
        raise ValueError("no length")
    c, low = sl.cho_factor(kernel(x))
    return -0.5 * AT @ sl.cho_solve((c, low), AT) - np.sum(np.log(np.diag(c)))


def barred(x):
    try:
        return likelihood(x)
    except (LinAlgError, ValueError):
        return -1e10 * x[0]


def all_barred(x):
    try:
        value = likelihood(x)
    except Exception as error:  # noqa: BLE001
        print(f"refused: {error}")
        value = -np.inf
    finally:
        print("done")
    return value


def jitter(x):
    noise = 1e-6
    for _ in range(10):
        try:
            factor = np.linalg.cholesky(kernel(x) + noise * np.eye(6))
            break
        except np.linalg.LinAlgError:
            noise *= 10
    else:
        raise LinAlgError("no jitter is enough")
    return np.sum(np.log(np.diag(factor)))


def jitter_in_while(x):
    noise = 0.0
    while True:
        try:
            factor = np.linalg.cholesky(kernel(x) + noise * np.eye(6))
            break
        except LinAlgError:
            noise = 1e-6 if noise == 0 else 10 * noise
            if noise > 1e5:
                raise
    return np.sum(np.log(np.diag(factor)))


def jitter_in_else(x):
    noise = 1e-8
    for _ in range(12):
        try:
            factor = sl.cholesky(kernel(x) + noise * np.eye(6), lower=True)
        except sl.LinAlgError:
            noise *= 10
        else:
            break
    return np.sum(np.log(np.diag(factor)))


def singular(x):
    try:
        found = np.linalg.solve(np.outer(x, x) * 0, x)
    except LinAlgError:
        found = np.linalg.lstsq(np.outer(x, x) + np.eye(6), x, rcond=None)[0]
    return np.sum(found * x)


def bound_before(x):
    """The handler sees what has been bound, and stored, before."""
    y = np.zeros(6)
    try:
        y[0] = z = x[0] * 2
        z = z * x[1]
        y[1] = np.linalg.cholesky(kernel(x))[1, 1]
        y[2] = 5 * x[0]
    except LinAlgError:
        y[3] = z ** 2
    return np.sum(y * x)


def suppressed(x):
    y = x[0]
    with contextlib.suppress(LinAlgError):
        y = np.sum(np.linalg.cholesky(kernel(x)))
    return y * x[1]


class Outside(Exception):
    pass


class FarOutside(Outside):
    pass


def thrown(v, k):
    if k == 0 and v < 0.5:
        raise Outside("left")
    if v > 1.2:
        raise FarOutside(f"far: {v}")
    if v > 0.9:
        raise ValueError("middle")
    return np.sqrt(v)


def several(x):
    total = 0.0
    for k, v in enumerate(x):
        try:
            total += thrown(v, k)
        except FarOutside:
            total += v * 2
        except Outside:
            total += v * 3
            continue
        except ValueError:
            total += v * 4
        total *= 1.1
    return total


def appended(x):
    out = []
    for v in x:
        try:
            out.append(thrown(v, 0))
        except (Outside, ValueError):
            out.append(v * 7)
    return sum(out)


def around_a_loop(x):
    try:
        total = 0.0
        for k in range(6):
            total += thrown(x[k], k)
    except (Outside, ValueError):
        total = x[0]
    return total


def root(a, most):
    v, steps = a, 0
    while abs(v * v - a) > 1e-9:
        v, steps = 0.5 * (v + a / v), steps + 1
        if steps > most:
            raise RuntimeError("no convergence")
    return v


def never_ending(x):
    """A loop that only an exception ends."""
    try:
        near = root(x[1], 20)
        far = root(x[5] * 100, 3)
    except RuntimeError:
        far = x[0] * x[2]
    return near + far


def numbers_of_python(x):
    total = 0.0
    for k in range(6):
        try:
            w = math.sqrt(x[k] - 1) + math.exp(900 * x[k] - 1000)
        except ValueError:
            continue
        except OverflowError:
            w = x[k] ** 2
        total += w
    return total


def whole_numbers(x):
    total = x[1]
    for v in (x[0], np.log(x[1] - x[1]), np.sqrt(-x[2])):
        try:
            total += x[3] ** int(v * 3)
        except ValueError:
            total *= 3.0
        except OverflowError:
            total *= 2.0
    return total


def asserted(x):
    try:
        ok = True
        assert np.all(x > 0), "negative"
        assert np.all(np.diff(x) > 1)
    except AssertionError:
        ok = False
    return np.sum(x) if ok else np.prod(x)


def quiet(x):
    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        warnings.simplefilter("ignore")
        return np.sum(np.log(x))


MATRICES = [barred, jitter, jitter_in_while, jitter_in_else, bound_before, suppressed]
OTHERS = [several, appended, around_a_loop, never_ending, numbers_of_python, whole_numbers, asserted, quiet, singular]


@pytest.mark.parametrize(("fn", "x"), [*((f, x) for f in MATRICES for x in (X, OPEN)), *((f, X) for f in OTHERS)])
def test_handlers_run_as_in_python(fn, x):
    check_both_modes(fn, (x,))


@pytest.mark.parametrize("x", [X, OPEN, np.full(6, np.nan)], ids=["fine", "raising", "nan"])
def test_everything_caught(x):
    check(all_barred, x)
    check(barred, x)


def inverse(a, b):
    try:
        return b / a
    except ZeroDivisionError:
        return a * b + b ** 2


@pytest.mark.parametrize("a", [0.0, 2.0])
def test_numbers_of_python_and_those_of_numpy(a):
    check(inverse, a, 3.0)
    check(inverse, np.float64(a), 3.0)


def test_compiled():
    for x in (X, OPEN):
        value, gradient = sdfgad.value_and_grad(jitter)(x)
        along = np.cos(np.arange(6))
        np.testing.assert_allclose(value, jitter(x), rtol=1e-12)
        np.testing.assert_allclose(gradient @ along, (jitter(x + 1e-6 * along) - jitter(x - 1e-6 * along)) / 2e-6, 1e-6)


def partial_sum(x):
    total = x[0]
    try:
        for k in range(6):
            total += thrown(x[k], k)
    except (Outside, ValueError):
        total *= 2
    return total


def changed_first(x):
    y = x.copy()
    try:
        if y[0] > 0:
            y[0] = 7.0
            raise ValueError
    except ValueError:
        pass
    return y.sum()


def of_errstate(x):
    with np.errstate(all="raise"):
        try:
            return np.sum(1 / x)
        except FloatingPointError:
            return 0.0


def places(x):
    try:
        return x[int(x[0] * 100)]
    except Exception:  # noqa: BLE001
        return x[1]


def warned(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.sum(np.log(x))


@pytest.mark.parametrize(("fn", "what"), [
    (partial_sum, "a statement that may change 'total' before it raises"),
    (changed_first, "a statement that may change 'y' before it raises"),
    (of_errstate, "what np.errstate makes errors of"), (places, "an index that may leave its array"),
    (warned, "warnings as errors")])
def test_what_handlers_would_have_to_undo_is_refused(fn, what):
    with pytest.raises(UnsupportedError) as caught:
        parse(fn, (X,))
    assert what in caught.value.what


def sum_of_some(x):
    """Zero stays Python's where no element is large, and its sum with one is NumPy's."""
    s = 0.0
    for v in x:
        if v > 1.0:
            s += v
    try:
        return x[0] / x[1] + 1.0 / s
    except ZeroDivisionError:
        return x[2]


def larger_one(x):
    d = max(x[0] - 1.0, 0.0)
    try:
        return (1.0 + d) ** -1 / d
    except ArithmeticError:
        return x[2]


@pytest.mark.parametrize("fn", [sum_of_some, larger_one])
def test_numbers_that_are_pythons_in_some_runs_alone(fn):
    """Whose they are decides whether anything is raised."""
    with pytest.raises(UnsupportedError, match="in some runs"):
        parse(fn, (np.array([0.4, 0.7, 0.9]),))


def sum_as_python_has_it(x):
    s = 0.0
    for v in x:
        if v > 1.0:
            s += v
    try:
        return x[1] * (1.0 / float(s))
    except ZeroDivisionError:
        return x[2] * x[0]


@pytest.mark.parametrize("first", [0.4, 1.4])
def test_and_those_that_are_made_pythons(first):
    check_both_modes(sum_as_python_has_it, (np.array([first, 0.7, 0.9]),))


def over_an_element(x, places):
    n = places[0]
    try:
        share = x[1] * (1.0 / n)
    except ZeroDivisionError:
        share = x[2]
    return x[0] * np.minimum(share, 50.0)


def over_a_number(x, places):
    try:
        return x[0] * (1.0 / int(places[0]))
    except ZeroDivisionError:
        return x[2] * 3.0


@pytest.mark.parametrize("fn", [over_an_element, over_a_number])
@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_integers_of_numpy_raise_nothing(fn, first):
    check(fn, np.array([1.3, 2.0, 1.7]), np.array([first, 1]))
