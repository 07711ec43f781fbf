"""Polynomials by their coefficients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import A34, F6, V4, V6, Z3, Case, collector
from tests.support.interpreted import interpreted

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


@case(V4, V6, np.array([2, 0, 3]), Z3, F6)
def divisions(p, q, i, z, f):
    return [np.polydiv(q, p), np.polydiv(p, q), np.polydiv(p, 2.0), np.polydiv(i, np.array([2, 1])),
            np.polydiv(z, p[:2]), np.polydiv(f, f[:2])]


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments, rtol=1e-9)


def test_coefficients_of_single_precision() -> None:
    check(lambda p: (np.polyder(p), np.polyadd(p, p[:2])), F6)


def divided(x):
    quotient, rest = np.polydiv(x, x[:3] * np.array([1.0, 0.5, -0.25]))
    return np.sum(quotient ** 2) + rest[0] * rest[1]


def test_divisions() -> None:
    check_both_modes(divided, (V6,))
    with interpreted(), pytest.raises(ArithmeticError, match="polydiv"):  # NumPy's remainder has one element
        sdfgad.grad(lambda x: np.sum(np.polydiv(np.polymul(x, x), x)[1]))(V4)


def made_inside(x):
    p, q = np.poly1d(x), np.poly1d([1, 2])
    r = np.poly1d([1.0, -0.5], True)
    return ((p - q * 2.0 + 3 * q ** 2 - (-p) + (1 - p))(x[0]) + (p.deriv(2) * q).integ(m=2, k=1.0)(0.3) + (p / 2)(x[1])
            + p.coeffs[0] * p.order + p[1] * r.c[1] + (1.0 if isinstance(p, np.poly1d) else 2.0))


def in_a_loop(x):
    p, s = np.poly1d(x), 0.0
    for k in range(4):
        p = p.deriv() if k % 2 else p * 1.5
        s = s + p(0.5)
    return s


def with_lowest_first(x):
    p, q = np.polynomial.Polynomial(x), np.polynomial.Polynomial([1, 2, 3])
    found = (p * q + p - 2 * q + (1 - p))(x) + p.deriv()(x) + p.integ(2, lbnd=1)(x)
    return np.sum(found) + p.coef[0] * p.degree()


def derivatives_and_integrals_of_series(x):
    P = np.polynomial
    found = [P.legendre.legder(x), P.chebyshev.chebder(x), P.hermite.hermder(x), P.hermite_e.hermeder(x, 2),
             P.laguerre.lagder(x, 1, 2.0), P.legendre.legint(x), P.chebyshev.chebint(x, 2), P.hermite.hermint(x, 2),
             P.laguerre.lagint(x, lbnd=0.5), P.hermite_e.hermeint(x, scl=3.0), P.polynomial.polyint(x, 2, lbnd=1),
             P.polynomial.polyder(x)]
    return np.concatenate(found)


@pytest.mark.parametrize("fn", [made_inside, in_a_loop, with_lowest_first, derivatives_and_integrals_of_series])
def test_polynomials_that_are_made_inside(fn: Callable[..., Any]) -> None:
    check(fn, F6)
    check_both_modes(lambda x: np.sum(fn(x)), (V6,))


def test_derivatives_of_rows_of_series() -> None:
    check(lambda A: np.polynomial.legendre.legder(A, axis=1), A34)


def test_a_highest_coefficient_that_is_zero() -> None:
    with interpreted(), pytest.raises(ArithmeticError, match="which NumPy drops"):
        sdfgad.forward(lambda x: np.poly1d(x).order * x)(np.array([0.0, 1.0, 2.0]))
