"""Polynomials by their coefficients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend.checking import check
from tests.frontend.programs import A34, F6, V4, V6, Z3, Case, collector

CASES: list[Case] = []
case = collector(CASES)


@case(V4, V6, np.array([2, 0, 3]), Z3)
def coefficients(p, q, i, z):
    return [np.polyder(p), np.polyder(p, 2), np.polyder(i), np.polyint(p), np.polyint(p, m=2), np.polyint(z),
            np.polyadd(p, q), np.polyadd(q, p), np.polysub(p, q), np.polyadd(i, i), np.polymul(p, q), np.polymul(i, z),
            np.polyadd(p, 1.0), np.polyder(z)]


@case(V4, V6, A34, Z3, 0.3)
def series(c, x, A, z, t):
    power, cheb, leg = (np.polynomial.polynomial.polyval, np.polynomial.chebyshev.chebval,
                        np.polynomial.legendre.legval)
    return [power(x, c), power(t, c), power(A, c), power(x, A), power(x, z), cheb(x, c), cheb(t, c[:1]), cheb(t, c[:2]),
            cheb(A, c), cheb(x, A), leg(x, c), leg(t, c[:1]), leg(t, c[:2]), leg(A, c), leg(x, A), leg(z, c),
            power(x, A[:, :1], tensor=False)]


@case(V6, V6 * V6[::-1], np.stack([V6, V6 ** 2], axis=1), np.abs(V6) + 0.1)
def fits(x, y, Y, w):
    return [np.polyfit(x, y, 1), np.polyfit(x, y, 2), np.polyfit(x, Y, 2), np.polyfit(x, y, 1, w=w),
            np.polyfit(x, Y, 1, w=w)]


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments, rtol=1e-9)


def test_coefficients_of_single_precision() -> None:
    check(lambda p: (np.polyder(p), np.polyadd(p, p[:2])), F6)
