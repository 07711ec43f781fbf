"""Minima of functions of one number by `scipy.optimize`: found as SciPy finds them, derivatives of the place."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_along
from tests.support.interpreted import interpreted

optimize = pytest.importorskip("scipy.optimize")
minimize_scalar = optimize.minimize_scalar

X = np.array([0.7, 1.3, 0.4])


def well(v, a, b):
    return (v - a) ** 2 * (1.0 + 0.1 * np.sin(v)) + b * np.cosh(v)


def tight(method="brent"):
    return {"xtol": 1e-11} if method == "brent" else {"xatol": 1e-11}


FORMS: dict[str, Callable[[Any], Any]] = {
    "brent": lambda x: minimize_scalar(lambda v: well(v, x[0], x[1]), options=tight()).x,
    "arguments": lambda x: minimize_scalar(well, args=(x[0], x[2]), tol=1e-11).x,
    "far away": lambda x: minimize_scalar(lambda v: (v - 40.0 * x[0]) ** 2 + 0.1 * v * x[1], options=tight()).x,
    "two places": lambda x: minimize_scalar(well, (2.0, 1.5), args=(x[0], x[2]), method="Brent", tol=1e-11).x,
    "three places": lambda x: minimize_scalar(well, (-3, 0.2, 2.5), args=(x[0], x[2]), tol=1e-11).x,
    "bounded": lambda x: minimize_scalar(well, bounds=(-1, 2), args=(x[0], x[2]), options=tight("bounded")).x,
    "fminbound": lambda x: optimize.fminbound(well, -1.0, x[1], (x[0], x[2]), 1e-11),
    "at the lower end": lambda x: minimize_scalar(lambda v: np.exp(v * x[1]), bounds=(x[0], 2.0),
                                                  options=tight("bounded")).x,
    "at the upper end": lambda x: minimize_scalar(lambda v: -v * x[1], bounds=(0.0, 2 * x[0]),
                                                  options=tight("bounded")).x,
    "the least value": lambda x: minimize_scalar(well, args=(x[0], x[2])).fun,
    "in a loop": lambda x: sum(minimize_scalar(lambda v, k=k: well(v, x[0], x[k]), tol=1e-11).x for k in range(3)),
    "of a root": lambda x: minimize_scalar(
        lambda v: (v - optimize.brentq(lambda w: w ** 3 + w - v * x[0] - 1.0, 0.0, 5.0)) ** 2 + v * v * x[1],
        (0.2, 0.5),
        tol=1e-11).x,
}


@pytest.mark.parametrize("name", FORMS)
def test_values_and_derivatives(name: str) -> None:
    check_along(lambda x: FORMS[name](x) * 1.5, X, np.array([0.3, -0.7, 0.5]), step=1e-3, rtol=1e-6,
                near=1e-4, atol=1e-5)


def test_second_derivatives() -> None:
    """Of a / b, where a quadratic function is least."""
    with interpreted():
        found = sdfgad.hessian(lambda p: minimize_scalar(lambda v: 0.5 * p[1] * v * v - p[0] * v, tol=1e-11).x)(X[:2])
    a, b = X[:2]
    np.testing.assert_allclose(found, [[0.0, -1 / b ** 2], [-1 / b ** 2, 2 * a / b ** 3]], rtol=1e-6, atol=1e-7)


def test_numbers_of_calls() -> None:
    def run(x):
        one = minimize_scalar(lambda v: np.exp(v) - 3.0 * x[1] * v)
        two = minimize_scalar(lambda v: np.cos(v) + 0.1 * x[0] * v, bounds=(0.0, 5.0))
        return one.nfev, one.nit, one.success, two.nfev, two.nit, two.success, one.x, two.x

    check(run, X, rtol=1e-7)


@pytest.mark.parametrize("run, error", [
    (lambda x: minimize_scalar(lambda v: -v * x[0]).x, RuntimeError),
    (lambda x: minimize_scalar(lambda v: v * v * x[0], tol=1e-14, options={"maxiter": 3}).x, RuntimeError),
    (lambda x: minimize_scalar(lambda v: v * x[0], bounds=(1.0, x[2])).x, ValueError)])
def test_errors_of_the_run(run: Callable[..., Any], error: type[Exception]) -> None:
    with pytest.raises(error), np.errstate(all="ignore"), interpreted():
        sdfgad.forward(run)(X)


@pytest.mark.parametrize("run, text", [
    (lambda x: minimize_scalar(lambda v: v * v, method="golden").x, "brent"),
    (lambda x: optimize.differential_evolution(lambda v: v @ v, [(0, 1)]).x[0], "conditions of the minimum")])
def test_refused(run: Callable[..., Any], text: str) -> None:
    with pytest.raises(UnsupportedError, match=f"(?s){text}"):
        parse(run, (X,), {})
