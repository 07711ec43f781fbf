"""Roots and fixed points of `scipy.optimize`: numbers as SciPy finds them, derivatives of the solution."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_along, weighted

optimize = pytest.importorskip("scipy.optimize")

X = np.array([0.7, 1.3, 0.4])
BETWEEN = ("brentq", "brenth", "bisect", "ridder", "toms748")


def kepler(e, m):
    return e - 0.3 * np.sin(e) - m


def volume(v, t, p):
    return (p + 3.6 / v ** 2) * (v - 0.04) - 0.08 * t


FORMS = {
    **{name: lambda x, name=name: getattr(optimize, name)(lambda v: v ** 3 + x[0] * v - x[1], 0.0, 2)
       for name in BETWEEN},
    "arguments": lambda x: optimize.brentq(kepler, 0, 3, args=(x[1],)) + optimize.brenth(kepler, 0, 3, x[0]),
    "at an end": lambda x: optimize.brentq(lambda v: v * x[0] - 2.0 * x[0], 2.0, 3.0) + optimize.ridder(
        lambda v: v * x[0] - 3.0 * x[0], 2.0, 3.0),
    "ends of data": lambda x: optimize.brentq(lambda v: np.cos(v) - x[2] * v, 0.0, x[1] + 1.0),
    "newton": lambda x: optimize.newton(volume, 20.0, lambda v, t, p: p + 3.6 / v ** 2 - 7.2 / v ** 3 * (v - 0.04),
                                        args=(300.0 * x[1], x[0])),
    "secant": lambda x: (optimize.newton(lambda v: v ** 3 - x[1], 1.5)
                         + optimize.newton(kepler, x[0], args=(x[1],), x1=2)),
    "halley": lambda x: optimize.newton(lambda v: v ** 3 - x[1], 1, lambda v: 3 * v ** 2, fprime2=lambda v: 6 * v),
    "many newtons": lambda x: optimize.newton(lambda v: v ** 3 - x, np.ones(3), lambda v: 3 * v ** 2, tol=1e-12),
    "many halleys": lambda x: optimize.newton(lambda v: v ** 3 - x, [1.0, 2.0, 3.0], lambda v: 3 * v ** 2, tol=1e-12,
                                              fprime2=lambda v: 6 * v),
    "many secants": lambda x: optimize.newton(lambda v: v ** 3 - x, np.ones(3), tol=1e-12),
    "coupled": lambda x: optimize.newton(lambda v: 3 * v + 0.1 * np.sum(v) - x, 0.1 * x, lambda v: 3.3 + 0 * v,
                                         tol=1e-14, maxiter=200),
    "scalars": lambda x: (optimize.root_scalar(kepler, x[1], bracket=[0, 3]).root
                          + optimize.root_scalar(lambda v: v ** 2 - x[1], x0=1.0, x1=1.2).root
                          + optimize.root_scalar(lambda v: (v ** 2 - x[1], 2 * v), x0=1.0, fprime=True).root
                          + optimize.root_scalar(lambda v: v ** 3 - x[1], x0=1.0, method="newton").root
                          + optimize.root_scalar(lambda v: v ** 3 - x[1], x0=1.0, fprime=lambda v: 3 * v ** 2,
                                                 fprime2=lambda v: 6 * v, method="halley").root),
    "fixed": lambda x: optimize.fixed_point(lambda v, a: np.sqrt(a / (v + 1.0)), [1.2, 1.3, 1.1], (x,), xtol=1e-12),
    "fixed, coupled": lambda x: optimize.fixed_point(lambda v: 0.5 * np.cos(np.flip(v)) * x, np.ones(3), xtol=1e-13,
                                                     maxiter=900, method="iteration"),
    "a fixed number": lambda x: optimize.fixed_point(lambda v: np.cos(x[0] * v), 0.5, xtol=1e-12),
    "system": lambda x: optimize.fsolve(lambda u: [u[0] * np.cos(u[1]) - 4 * x[0], u[1] * u[0] - u[1] - 5 * x[1]],
                                        [1, 1], xtol=1e-12),
    "system with slopes": lambda x: optimize.fsolve(
        lambda u, a: (u[0] ** 2 + a * u[1] - 3.0, u[1] ** 2 + u[0] - 2.0), (1.0, 2.0), (x[0],),
        lambda u, a: np.array([[2 * u[0], a], [1.0, 2 * u[1]]]), xtol=1e-12),
    "one unknown": lambda x: optimize.fsolve(lambda u: u ** 3 - x[1] * u - 2.0, 1.0, xtol=1e-12),
    "root": lambda x: optimize.root(lambda u: u + x * np.sin(np.flip(u)) - 0.5, np.zeros(3), tol=1e-12).x,
    "root with slopes": lambda x: optimize.root(lambda u: (u ** 3 + u - x, np.diag(3 * u ** 2 + 1)), x, jac=True,
                                                options={"xtol": 1e-12, "factor": 1.0}).x,
    "in each other": lambda x: optimize.brentq(lambda v: optimize.newton(lambda w: w ** 3 - v * x[0] - 1, 1.0) - x[1],
                                               0.0, 9.0),
    "a sum": lambda x: optimize.fsolve(
        lambda u: np.array([np.sum(np.exp(-u[0] * np.linspace(0.0, x[1], 5))) - 3.0]), [0.5], xtol=1e-12),
}


@pytest.mark.parametrize("name", FORMS)
def test_values_and_derivatives(name: str) -> None:
    check_along(weighted(FORMS[name]), X, np.array([0.3, -0.7, 0.5]), step=1e-5, rtol=1e-9, near=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["brentq", "brenth", "bisect", "ridder", "newton", "secant", "halley"])
def test_numbers_of_calls(method: str) -> None:
    def run(x):
        sol = optimize.root_scalar(lambda v: np.exp(v) - 3 * x[1] * v ** 2, method=method, bracket=(3.0, 5.0), x0=4.5,
                                   x1=4.0, fprime=lambda v: np.exp(v) - 6 * x[1] * v,
                                   fprime2=lambda v: np.exp(v) - 6 * x[1])
        return sol.root, sol.iterations, sol.function_calls, sol.converged

    check(run, X, rtol=1e-12)


def test_how_systems_are_solved() -> None:
    """Far from the solution, so that regions shrink and grow, and matrices are made anew."""
    def run(x):
        def rosenbrock(u):
            return np.array([10 * x[1] * (u[1] - u[0] ** 2), 1 - u[0]])

        def brown(u):
            return np.append(u[:2] + np.sum(u) - 4.0, np.prod(u) - x[2] / 0.4)

        one, two = optimize.root(rosenbrock, [-1.2, 1.0]), optimize.root(brown, [0.5, 0.5, 0.5])
        return one.x, one.nfev, one.success, two.x, two.nfev, two.message

    check(run, X, rtol=1e-7)


@pytest.mark.parametrize("run, error", [
    (lambda x: optimize.brentq(lambda v: v ** 2 + x[0], -1.0, 1.0), ValueError),
    (lambda x: optimize.brentq(lambda v: np.log(v - x[0]), 0.0, 1.0), ValueError),
    (lambda x: optimize.bisect(lambda v: v ** 3 - x[0], 0.0, 1.0, maxiter=3), RuntimeError),
    (lambda x: optimize.newton(lambda v: v ** 2 + x[0], 1.0), RuntimeError),
    (lambda x: optimize.newton(lambda v: v ** 2 + x[0], 0.0, lambda v: 2 * v), RuntimeError),
    (lambda x: optimize.fixed_point(lambda v: 2 * v + x[0], 1.0, method="iteration"), RuntimeError),
    (lambda x: np.sum(optimize.fsolve(lambda u: u ** 2 + x, x)), RuntimeError)])
def test_errors_of_the_run(run: Callable[..., Any], error: type[Exception]) -> None:
    with pytest.raises(error), np.errstate(all="ignore"), pytest.warns(RuntimeWarning) if (
            "fsolve" in run.__code__.co_names) else np.errstate():
        check(run, X)


@pytest.mark.parametrize("run, text", [
    (lambda x: optimize.newton(lambda v: v ** 2 + x[0], 1.0 + 1j), "real and imaginary parts apart"),
    (lambda x: optimize.root(lambda u: u - x, x, method="krylov").x[0], "sdfgad.root"),
    (lambda x: optimize.fsolve(lambda u: u - x, x, full_output=True)[0][0], "optimize.root"),
    (lambda x: optimize.toms748(lambda v: v - x[0], 0, 1, full_output=True)[0], "brentq"),
    (lambda x: optimize.dual_annealing(lambda v: v @ v, [(0, 1)]).x[0], "conditions of the minimum")])
def test_refused(run: Callable[..., Any], text: str) -> None:
    with pytest.raises(UnsupportedError, match=f"(?s){text}"):
        parse(run, (X,), {})
