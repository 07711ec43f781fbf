"""`scipy.integrate.solve_ivp`: states on the way, what becomes of them at given times, derivatives with held steps."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import Case, collector
from tests.support.interpreted import interpreted

integrate = pytest.importorskip("scipy.integrate")
solve_ivp = integrate.solve_ivp

CASES: list[Case] = []
case = collector(CASES)
TIGHT = {"rtol": 1e-9, "atol": 1e-10}
"""So that differences, which change the steps, see little of that."""


@case(np.array([1.0, 0.2, -0.4]))
def states_at_given_times(x):
    sol = solve_ivp(lambda t, y: [y[1], -x[0] * np.sin(y[0]) - 0.1 * y[1]], (0, 2.0), [x[1], x[2]],
                    t_eval=np.linspace(0.0, 2.0, 5), **TIGHT)
    assert sol.success
    return np.sum(sol.y * np.cos(np.arange(10.0).reshape(2, 5))) + np.sum(sol.t) * x[0]


@case(np.array([10.0, 28.0, 8.0 / 3.0]))
def last_state_of_lorenz(p):
    def slopes(t, u, s, r, b):
        return s * (u[1] - u[0]), u[0] * (r - u[2]) - u[1], u[0] * u[1] - b * u[2]

    sol = solve_ivp(slopes, [0.0, 0.3], np.array([1.0, 1.0, p[2]]), args=(p[0], p[1], p[2]), **TIGHT)
    return sol.y[0, -1] * sol.y[2, -1] + np.sum(sol.y[:, -1] ** 2) + sol.t[-1]


@case(np.array([1.0, 0.0, 0.0, 0.9]))
def orbit_of_order_8(x):
    def pull(t, y):
        r3 = np.sum(y[:2] ** 2) ** 1.5
        return np.concatenate((y[2:], -y[:2] / r3))

    sol = solve_ivp(pull, (0.0, 3.0), x, method="DOP853", t_eval=[0.1, 0.2, 1.5, 3.0], rtol=1e-8, atol=1e-9)
    return np.sum(sol.y[0] * sol.t) + sol.y[1, 2] * sol.y[3, 3]


@case(np.array([0.3, 0.1, 0.99]))
def backwards_of_order_3(x):
    sol = solve_ivp(lambda t, y: np.array([-x[0] * y[0] * y[1], x[0] * y[0] * y[1] - x[1] * y[1] * t]), (2.0, x[1]),
                    (x[2], 0.01), "RK23", np.array([1.9, 1.0, 0.5]), first_step=0.1, max_step=0.2, rtol=1e-6)
    return np.sum(sol.y ** 2)


@case(np.array([0.4, 1.1]))
def complex_states_and_ends(x):
    sol = solve_ivp(lambda t, y: 1j * x[1] * y + t, (x[0], 2 * x[1]), np.array([1.0 + 0.5j, x[0] * 1j]),
                    rtol=1e-8, atol=np.array([1e-9, 1e-8]))
    return np.sum(np.abs(sol.y[:, -1]) ** 2) + sol.t[0] * sol.t[-1]


@case(np.array([0.7, 0.2]))
def in_a_loop_of_pulses(x):
    y, total = np.array([x[0]]), 0.0
    for k in range(3):
        sol = solve_ivp(lambda t, y, k=k: -x[1] * (k + 1) * y + np.sin(t), (k * 1.0, k + 1.0), y, vectorized=True,
                        **TIGHT)
        y = sol.y[:, -1] + 0.1 * x[0]
        total += y[0] ** 2
    return total


class Neuron:
    """FitzHugh and Nagumo's."""

    def __init__(self, current: Any) -> None:
        self.current = current

    def slopes(self, t, y):
        v, w = y
        return v - v ** 3 / 3 - w + self.current, 0.08 * (v + 0.7 - 0.8 * w)


@case(np.array([0.5, -1.0, 1.0]))
def method_of_an_object(x):
    neuron = Neuron(x[0])
    sol = solve_ivp(neuron.slopes, (0, 4), x[1:], method=integrate.RK45, t_eval=np.linspace(0.0, 4.0, 9), rtol=1e-8)
    return np.max(sol.y[0]) + np.sum(sol.y[1] ** 2) + sol.status


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
@pytest.mark.parametrize("t_eval", [None, [0.2, 0.25, 1.7]])
def test_numbers_of_calls_and_steps(method: str, t_eval: list[float] | None) -> None:
    def run(x):
        sol = solve_ivp(lambda t, y: -x * y ** 2 + np.sin(5 * t), (0.0, 2.0), x, method, t_eval, rtol=1e-5)
        return sol.nfev, len(sol.t), sol.y[:, -1], sol.njev, sol.success

    check(run, np.array([1.0, 3.0]), rtol=1e-10)


def test_no_length() -> None:
    def run(x):
        sol = solve_ivp(lambda t, y: -y, (1.0, 1), x)
        return sol.t, sol.y * 2.0, sol.nfev

    check(run, np.array([1.0, 2.0]))


def steps_of(slope, y, times):
    """The same with the steps that SciPy has taken, whatever y is."""
    form = integrate.RK45
    for t, h in zip(times[:-1], np.diff(times), strict=True):
        k = []
        for row, c in zip(form.A, form.C, strict=True):
            k.append(slope(t + c * h, y + h * sum((a * s for a, s in zip(row, k, strict=False)), 0.0 * y)))
        y = y + h * sum(b * s for b, s in zip(form.B, k, strict=True))
    return y


def test_steps_are_held() -> None:
    """Coarse ones: the gradient is that of the steps that were taken, to rounding, and no other."""
    def slope(a):
        return lambda t, y: np.array([y[1], -a * np.sin(y[0])])

    def run(a, y):
        return np.sum(solve_ivp(slope(a), (0.0, 3.0), y).y[:, -1])

    a, y = 1.3, np.array([1.2, -0.3])
    times = solve_ivp(slope(a), (0.0, 3.0), y).t
    with interpreted():
        value, found = sdfgad.value_and_grad(run, wrt=("a", "y"))(a, y)
    assert value == pytest.approx(run(a, y), rel=1e-12)
    differences = [np.sum(steps_of(slope(a + h), y, times) - steps_of(slope(a - h), y, times)) / (2 * h)
                   for h in (1e-5,)]
    differences += [np.sum(steps_of(slope(a), y + h, times) - steps_of(slope(a), y - h, times)) / 2e-5
                    for h in 1e-5 * np.eye(2)]
    np.testing.assert_allclose([found.a, *found.y], differences, rtol=1e-8)


def test_the_end_moves_with_its_slope() -> None:
    """Also where one step reaches it."""
    def run(end):
        return solve_ivp(lambda t, y: -y * t, (0.0, end), np.array([1.0])).y[0, -1]

    with interpreted():
        for end in (1e-3, 0.5):
            slope = -end * np.exp(-end * end / 2)
            assert sdfgad.grad(run)(end) == pytest.approx(slope, rel=2e-2)


def test_a_step_that_is_too_long_leaves_nothing_behind() -> None:
    """Infinite in steps that are not taken, which no derivative sees."""
    def run(x):
        sol = solve_ivp(lambda t, y: -x * y ** 9, (0.0, 5.0), np.ones(1), first_step=5.0, rtol=1e-9, atol=1e-11)
        return sol.y[0, -1]

    with interpreted(), np.errstate(all="ignore"):
        assert sdfgad.grad(run)(1.0) == pytest.approx(-5.0 * 41.0 ** (-9 / 8), rel=1e-6)


def test_a_limit_is_kept() -> None:
    def run(x, k):
        def flow(t, u):
            return k * (np.roll(u, 1) - 2 * u + np.roll(u, -1)) - u ** 3

        return np.sum(solve_ivp(flow, (0.0, 8.0), x, t_eval=np.array([4.0, 8.0])).y[:, -1] ** 2)

    x = np.sin(np.arange(200) * 0.1) + 1.1
    wanted = sdfgad.grad(run, wrt=("x", "k"))(x, 6.0)
    used = sdfgad.grad(run, wrt=("x", "k")).measure(x, 6.0).measured.peak_bytes
    limited = sdfgad.grad(run, wrt=("x", "k"), memory_limit=used * 2 // 3)
    found = limited(x, 6.0)
    np.testing.assert_allclose(found.x, wanted.x, rtol=1e-12)
    np.testing.assert_allclose(found.k, wanted.k, rtol=1e-12)
    assert limited.measure(x, 6.0).measured.peak_bytes <= used * 2 // 3


@pytest.mark.parametrize("run, error", [
    (lambda x: solve_ivp(lambda t, y: y ** 2, (0.0, 2.0), x).y[0, -1], ArithmeticError),
    (lambda x: solve_ivp(lambda t, y: np.log(-y), (0.0, 2.0), x).y[0, -1], ArithmeticError),
    (lambda x: solve_ivp(lambda t, y: y, (0.0, 2.0), x, t_eval=[1.0, 3.0]).y[0, -1], ValueError),
    (lambda x: solve_ivp(lambda t, y: y, (0.0, x[0]), x, t_eval=[0.6, 0.5]).y[0, -1], ValueError),
    (lambda x: solve_ivp(lambda t, y: y, (x[0], x[0]), x).y[0, -1], ArithmeticError),
    (lambda x: solve_ivp(lambda t, y: y, (0.0, 2.0), x / 0.0).y[0, -1], ValueError)])
def test_errors_of_the_run(run: Callable[..., Any], error: type[Exception]) -> None:
    with pytest.raises(error), np.errstate(all="ignore"), interpreted():
        sdfgad.forward(run)(np.array([1.0, 0.5]))  # SciPy itself may look for a step without end


@pytest.mark.parametrize("run, text", [
    (lambda x: solve_ivp(lambda t, y: -y, (0.0, 1.0), x, method="Radau").y[0, -1], "method Radau.*RK45"),
    (lambda x: solve_ivp(lambda t, y: -y, (0.0, 1.0), x, dense_output=True).sol(0.5)[0], "dense_output.*t_eval"),
    (lambda x: solve_ivp(lambda t, y: -y, (0.0, 1.0), x, events=lambda t, y: y[0]).y[0, -1], "events"),
    (lambda x: solve_ivp(lambda t, y: -y[:1], (0.0, 1.0), x).y[0, -1], "another shape"),
    (lambda x: solve_ivp(lambda t, y: -y, (0.0, 1.0), x, jac=None).y[0, -1], "jac"),
    (lambda x: integrate.odeint(lambda y, t: -y, x, [0.0, 1.0], full_output=True)[0][0, 0], "odeint.*leave them out"),
    (lambda x: integrate.odeint(lambda y, t: -y[:1], x, [0.0, 1.0])[0, 0], "another shape"),
    (lambda x: integrate.ode(lambda t, y: -y).t, "solve_ivp")])
def test_refused(run: Callable[..., Any], text: str) -> None:
    with pytest.raises(UnsupportedError, match=f"(?s){text}"):
        parse(run, (np.array([1.0, 0.5]),), {})


def test_what_a_function_changes_is_refused() -> None:
    """It would be changed by steps that are searched for, too."""
    def counted(x):
        calls = [0]

        def slope(t, y):
            calls[0] += 1
            return -x * y

        return solve_ivp(slope, (0.0, 1.0), x).y[0, -1] * calls[0]

    def stored(x):
        out = np.zeros(2)

        def slope(t, y):
            out[:] = -x * y
            return out

        return solve_ivp(slope, (0.0, 1.0), x).y[0, -1]

    def named(x):
        calls = 0

        def slope(t, y):
            nonlocal calls
            calls += 1
            return -x * y

        return solve_ivp(slope, (0.0, 1.0), x).y[0, -1] * calls

    for run in (counted, stored, named):
        with pytest.raises(UnsupportedError):
            parse(run, (np.array([1.0, 0.5]),), {})
