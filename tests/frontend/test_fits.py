"""Least squares and minima of several numbers by `scipy.optimize`: values near SciPy's, derivatives of the place."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.support.interpreted import interpreted

optimize = pytest.importorskip("scipy.optimize")

T = np.linspace(0.0, 1.0, 6)
Y = 1.3 * np.exp(-0.8 * T) + 0.02 * np.cos(9.0 * T)
CLOSE = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}


def decay(t, a, b):
    return a * np.exp(-b * t)


def well(v, x):
    return (v[0] - x[0]) ** 2 * (1.0 + 0.3 * np.sin(v[1])) + np.cosh(v[1] - x[1] * v[0]) + 0.1 * v[1] ** 2


FORMS: dict[str, Callable[[Any], Any]] = {
    "least squares": lambda y: optimize.least_squares(lambda p: decay(T, p[0], p[1]) - y, [1.0, 1.0], **CLOSE).x,
    "the rest": lambda y: optimize.least_squares(lambda p: decay(T, p[0], p[1]) - y, [1.0, 1.0], **CLOSE).cost,
    "of one number": lambda y: optimize.least_squares(lambda p, a: p * p - a, 1.0, args=(y[0],), **CLOSE).x,
    "fit": lambda y: optimize.curve_fit(decay, T, y, **CLOSE)[0],
    "fit, guess and weights": lambda y: optimize.curve_fit(
        lambda t, a, b, c: a * np.exp(-b * t) + c * t, T, y, p0=[1.0, 1.0, 0.1], sigma=0.1 + T, **CLOSE)[0],
    "spread": lambda y: np.sqrt(np.diag(optimize.curve_fit(decay, T, y, **CLOSE)[1])),
    "minimum": lambda y: optimize.minimize(well, np.array([0.1, 0.2]), (y,), options={"gtol": 1e-10}).x,
    "minimum, slopes and method": lambda y: optimize.minimize(
        lambda v: (np.sum((v - y[:2]) ** 2 * (1 + v[::-1] ** 2)), v), [0.0, 0.0], jac=True, method="BFGS", tol=1e-10).x,
    "minimum of small slopes": lambda y: optimize.minimize(
        lambda v, a: 1e-7 * (np.sum((v - a) ** 2) + v[0] ** 4), [0.1, 0.2], (y[:2],), method="Nelder-Mead",
        options={"fatol": 1e-22, "xatol": 1e-9}).x,
    "minimum from nearby": lambda y: optimize.minimize(
        lambda v, a: 10.0 + np.sum(np.cosh(v - a)) + v[0] * v[1], [0.62, 0.42], (y[:2],), method="Nelder-Mead",
        options={"fatol": 1e-22, "xatol": 1e-9}).x,
    "least squares of small rests": lambda y: 1.0 * optimize.least_squares(
        lambda p: 1e-8 * (decay(T, p[0], p[1]) - y), [1.0, 1.0], ftol=1e-15, xtol=1e-15, gtol=None).x,
    "the least value": lambda y: optimize.minimize(well, np.array([0.1, 0.2]), (y,)).fun}
NO_SLOPES_OF_SCIPY = {"minimum, slopes and method"}


@pytest.mark.parametrize("name", FORMS)
def test_values_and_derivatives(name: str) -> None:
    def total(y):
        found = np.ravel(FORMS[name](y))
        return np.sum(found * (1.0 + np.arange(found.shape[0])))

    along = np.cos(np.arange(6.0))
    with interpreted():
        ours = sdfgad.forward(total)
        value, found = sdfgad.value_and_grad(total)(Y)
        _, pushed = sdfgad.jvp(total, (Y,), (along,))
        differences = (ours(Y + 1e-4 * along) - ours(Y - 1e-4 * along)) / 2e-4
    if name not in NO_SLOPES_OF_SCIPY:
        np.testing.assert_allclose(value, total(Y), rtol=1e-6)
    np.testing.assert_allclose(found @ along, pushed, rtol=1e-8)
    np.testing.assert_allclose(pushed, differences, rtol=1e-5, atol=1e-6)


def test_in_a_loop() -> None:
    def total(y):
        found = 0.0
        for k in range(3):
            found += np.sum(optimize.curve_fit(decay, T, y * (1.0 + 0.1 * k))[0])
        return found

    with interpreted():
        value, found = sdfgad.value_and_grad(total)(Y)
        above, below = (sdfgad.forward(total)(Y * (1.0 + h)) for h in (1e-4, -1e-4))
    np.testing.assert_allclose(value, total(Y), rtol=1e-6)
    np.testing.assert_allclose(found @ Y, (above - below) / 2e-4, rtol=1e-4)


@pytest.mark.parametrize("run, what", [
    (lambda y: optimize.minimize(well, y[:2], (y,), bounds=[(0, 1)] * 2).x, "bounds"),
    (lambda y: optimize.minimize(well, y[:2], (y,), method="COBYLA").x, "method"),
    (lambda y: optimize.minimize(well, y[:2], (y,)).nfev, "nfev"),
    (lambda y: optimize.least_squares(lambda p: p - y, y, loss="huber").x, "loss"),
    (lambda y: optimize.curve_fit(lambda *p: p[1] * p[0], T, y)[0], "first guess"),
    (lambda y: optimize.curve_fit(decay, T, y, sigma=np.eye(6))[0], "sigma")])
def test_what_is_refused(run: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        parse(run, (Y,))


@pytest.mark.parametrize("run", [
    lambda y: optimize.minimize(lambda v: np.sum(v * y), y).x,
    lambda y: optimize.least_squares(lambda p: p - y, y * 0.0, max_nfev=1).x])
def test_what_is_not_found(run: Callable[..., Any]) -> None:
    with pytest.raises(RuntimeError), np.errstate(all="ignore"), interpreted():
        sdfgad.forward(run)(Y)
