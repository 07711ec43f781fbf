"""`scipy.integrate.odeint`: to the tolerances that are asked for, whichever steps lead there; and initial value
problems inside of equations, as in shooting."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from tests.frontend.checking import check_along, weighted
from tests.support.interpreted import interpreted

integrate = pytest.importorskip("scipy.integrate")
optimize = pytest.importorskip("scipy.optimize")
odeint = integrate.odeint

X = np.array([1.1, 0.4, 0.7])


def hunters(y, t, a, b):
    prey, pred = y
    return [a * prey - b * prey * pred, -0.5 * pred + 0.1 * prey * pred + 0.01 * np.sin(t)]


FORMS: dict[str, Callable[[Any], Any]] = {
    "arguments": lambda x: odeint(hunters, [4.0, x[2]], np.linspace(0.0, 0.6, 4), args=(x[0], x[1])),
    "time first": lambda x: odeint(lambda t, y: -x[0] * y * t, x[1:], np.array([0.0, 0.5, 2.0]), tfirst=True),
    "one number": lambda x: odeint(lambda y, t: -x[0] * y + np.cos(t), x[1], [0.0, 1.0, 1.0, 1.5]),
    "backwards": lambda x: odeint(lambda y, t: np.array([y[1], -x[0] * np.sin(y[0])]), (x[1], x[2]), [1.0, 0.8, 0.5]),
    "times of data": lambda x: odeint(lambda y, t: x[1] * y * t, [x[2]], np.array([0.0, x[0], 2 * x[0]])),
    "tolerances": lambda x: odeint(lambda y, t: -x * y, x, np.array([0.0, 1.0, 3.0]), rtol=1e-10,
                                   atol=np.array([1e-11, 1e-10, 1e-12]), h0=0.1, hmax=0.5, mxstep=5000),
    "a Jacobian": lambda x: odeint(lambda y, t, k: -k * y, x, [0.0, 0.7], (x[0],), lambda y, t, k: -k * np.eye(3)),
    "nothing to do": lambda x: odeint(lambda y, t: -y, x, [1.0]) * x[0],
}


@pytest.mark.parametrize("name", FORMS)
def test_values_and_derivatives(name: str) -> None:
    check_along(weighted(FORMS[name]), X, np.array([0.3, -0.7, 0.5]), step=1e-3, rtol=2e-6, near=1e-4, atol=1e-4)


def test_stiff_equations_end() -> None:
    """Explicit steps are too many for these: an error, and no endless call."""
    def run(k):
        return odeint(lambda y, t: -k * (y - np.cos(t)), [0.0], [0.0, 1.0], mxstep=50)[-1, 0]

    with interpreted():
        assert sdfgad.forward(run)(2.0) == pytest.approx(run(2.0), rel=1e-6)
        with pytest.raises(ArithmeticError, match="mxstep"):
            sdfgad.forward(run)(1e5)


@pytest.mark.parametrize("times", [[0.0, 2.0, 1.0], [0.0, 0.0]])
def test_times_that_are_none(times: list[float]) -> None:
    with pytest.raises((ValueError, ArithmeticError)), interpreted():
        sdfgad.forward(lambda x: odeint(lambda y, t: -y, x, x[0] * np.array(times)))(X)




def decay(k, x):
    """A sum over steps until they are small: an equation with a loop of unknown length."""
    total = 0.0 * x
    while np.max(np.abs(x)) > 1e-3:
        total = total + x
        x = k * x * (1.0 - 0.1 * np.sin(x))
    return total


def secant(f, x):
    r = f(x)
    while np.max(np.abs(r)) > 1e-12:
        x = x - r / ((f(x + 1e-6) - f(x - 1e-6)) / 2e-6)
        r = f(x)
    return x


def relaxed(k):
    def solve(f, x):
        r = f(x)
        while np.max(np.abs(r)) > 1e-13:
            x = x - (1.0 - k) * r
            r = f(x)
        return x

    return solve


EQUATIONS: dict[str, Callable[[Any], Any]] = {
    "one unknown": lambda x: sdfgad.root(lambda v: decay(x[0], v) - x[1], x[1], secant),
    "several": lambda x: np.sum(sdfgad.root(lambda v: decay(x[0], v) + 0.1 * np.sum(v) - x, x, relaxed(x[0])) ** 2),
    "in each other": lambda x: sdfgad.root(
        lambda v: v + 0.1 * sdfgad.root(lambda w: decay(x[0], w) - v, v, secant) - x[1], x[1], secant),
    "in a loop": lambda x: chain(x, 3),
    "fixed": lambda x: sdfgad.fixed_point(lambda v: x[1] + 0.05 * decay(x[0], v), x[1], 1e-13),
}


def chain(x, n):
    v = x[1]
    for k in range(n):
        v = v + sdfgad.root(lambda w, k=k, v=v: decay(x[0], w) - v * x[k], v, secant)
    return v


@pytest.mark.parametrize("name", EQUATIONS)
def test_equations_with_loops_of_unknown_length(name: str) -> None:
    """They keep tapes of their own; second derivatives go through the linear systems."""
    run, x, along = EQUATIONS[name], np.array([0.5, 1.3, 0.9]), np.array([0.3, -0.7, 0.5])

    def wrapped(x):
        return run(x)

    with interpreted():
        value, found = sdfgad.value_and_grad(wrapped)(x)
        _, pushed = sdfgad.jvp(wrapped, (x,), (along,))
        bent = sdfgad.hvp(wrapped, (x,), (along,)) @ along
    above, below = run(x + 1e-4 * along), run(x - 1e-4 * along)
    assert value == pytest.approx(run(x), rel=1e-10)
    assert found @ along == pytest.approx(pushed, rel=1e-9)
    assert pushed == pytest.approx((above - below) / 2e-4, rel=1e-6)
    assert bent == pytest.approx((above - 2 * run(x) + below) / 1e-8, rel=2e-3)


@pytest.mark.slow
def test_shooting() -> None:
    def run(p):
        def miss(s):
            slope = lambda t, y: [y[1], -p * np.sin(y[0])]  # noqa: E731
            return integrate.solve_ivp(slope, (0.0, 1.0), [0.0, s], rtol=1e-9, atol=1e-11).y[0, -1] - 1.0

        return optimize.brentq(miss, 0.1, 5.0)

    value, found = sdfgad.value_and_grad(run)(1.3)
    assert value == pytest.approx(run(1.3), rel=1e-9)
    assert found == pytest.approx((run(1.3 + 1e-4) - run(1.3 - 1e-4)) / 2e-4, rel=1e-5)
