"""Forms of everyday programs: imports that may fail, `statistics`, real and complex numbers, conditions that bind."""
from __future__ import annotations

import statistics

import numpy as np
import pytest
from scipy import sparse

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

X = np.linspace(0.3, 1.7, 6)
SINGLE = X.astype(np.float32)


def optional_import(x):
    try:
        import a_package_that_is_not_there as fast
    except ImportError:
        fast = None
    return np.sum(x**2) * (1.0 if fast is None else 2.0)


def summaries(x):
    return (statistics.mean(x) + 2 * statistics.fmean(x) + statistics.variance(x) + 3 * statistics.stdev(list(x)) +
            statistics.pstdev([v * v for v in x]) * statistics.pvariance(x))


def of_what_numbers(x):
    """Numbers of Python leave float32 as it is, those of NumPy do not."""
    return [statistics.fmean(x) * SINGLE, statistics.mean(x) * SINGLE, statistics.mean([float(x[0]), 2.0]) * SINGLE,
            statistics.stdev(x) * SINGLE]


def real_parts(x):
    z = x * 1j + x
    known = x[0] if np.isreal(x[0]) else x[1]
    return np.sum(np.where(np.isreal(z), 1.0, z.real * z.imag)) + np.sum(x[np.iscomplex(x)]) + known


def bound_in_a_condition(x):
    i, y, low = 0, x[0], True
    while low and (i := i + 1) < 6:
        y = y + x[i] ** 2
        low = y < 3
    return y * i


def shown(x):
    y = np.zeros(6)
    with np.printoptions(precision=3):
        np.add(y, x, out=y, casting="same_kind")
    return np.sum(y**2)


@pytest.mark.parametrize("fn", [optional_import, summaries, real_parts, bound_in_a_condition, shown])
def test_derivatives(fn):
    check_both_modes(fn, (X,))


def test_dtypes():
    check(of_what_numbers, X)


@pytest.mark.parametrize(("fn", "what"), [
    (lambda x: np.sum(np.matrix(x)), "use np.array"), (lambda x: np.ma.masked_where(x > 1, x).sum(), "use np.where"),
    (lambda x: np.polynomial.Legendre(x)(2.0), "or use chebval, legval"),
    (lambda x: sparse.csr_matrix((x, np.arange(6), np.arange(7))) @ x, "make them outside")])
def test_advice(fn, what):
    with pytest.raises(UnsupportedError, match=what):
        parse(fn, (X,))
