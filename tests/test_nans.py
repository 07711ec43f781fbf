"""`debug_nans`: a call ends where NaN first comes up, and nowhere else."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from tests.support.traps import TRAPS


def _length(x, y):
    r = np.sqrt(x[0] * x[0] + x[1] * x[1])
    total = 0.0
    for i in range(y.shape[0]):
        total += y[i] * r
    return total


def _logarithms(x):
    for k in range(3):
        x[:] = np.log(x)
    return np.sum(x)


def _difference(x):
    far = np.zeros(2)
    for i in range(2):
        far[0] += 1.0 / x[i]
    return far[0]


def _chosen(x):
    return np.sum(np.where(x > 0.0, np.log(x), x))


def _system(a, b):
    return np.sum(np.linalg.solve(a, b))


def _found(call) -> tuple[int, str]:
    """The line of the function, counted from its `def`, and the text."""
    with sdfgad.config(debug_nans=True), pytest.raises(sdfgad.NanError) as caught:
        call()
    return caught.value.line, str(caught.value)


def _line(fn, number: int) -> int:
    return fn.__code__.co_firstlineno + number


def test_a_slope_that_is_infinite():
    gradient = sdfgad.grad(_length)
    line, text = _found(lambda: gradient(np.zeros(2), np.ones(3)))
    assert line == _line(_length, 1)
    assert "in the reverse sweep" in text
    assert "its slope at 0 is infinite" in text
    assert isinstance(sdfgad.NanError(), FloatingPointError)


def test_every_verb():
    x, y = np.zeros(2), np.ones(3)
    line = _line(_length, 1)
    assert _found(lambda: sdfgad.value_and_grad(_length)(x, y))[0] == line
    assert _found(lambda: sdfgad.vjp(_length, x, y)[1](1.0))[0] == line
    made = np.array([2.0, 0.5])
    assert _found(lambda: sdfgad.jvp(_logarithms, (made,), (np.ones(2),)))[0] == _line(_logarithms, 2)


def test_the_function_itself():
    line, text = _found(lambda: sdfgad.forward(_logarithms)(np.array([2.0, 0.5])))
    assert line == _line(_logarithms, 2)
    assert "reverse" not in text


def test_a_sum_of_infinities():
    assert _found(lambda: sdfgad.forward(_difference)(np.array([0.0, -0.0])))[0] == _line(_difference, 3)


def test_a_system():
    a = np.array([[1.0, 3.0], [0.0, 1.0]])
    assert _found(lambda: sdfgad.forward(_system)(a, np.array([np.inf, np.inf])))[0] == _line(_system, 1)


def test_nan_that_nobody_takes_and_nan_of_the_caller():
    """Neither is made by the program."""
    x = np.array([1.0, -2.0])
    plain = sdfgad.grad(_chosen)(x)
    with sdfgad.config(debug_nans=True):
        np.testing.assert_array_equal(sdfgad.grad(_chosen)(x), plain)
        assert np.isnan(sdfgad.forward(_difference)(np.array([1.0, np.nan])))


def test_it_is_turned_on_and_off():
    gradient = sdfgad.grad(_length)
    for _ in range(3):
        assert np.isnan(gradient(np.zeros(2), np.ones(3)).x).all()
    _found(lambda: gradient(np.zeros(2), np.ones(3)))
    assert np.isnan(gradient(np.zeros(2), np.ones(3)).x).all()
    with sdfgad.config(debug_nans=True):
        found = gradient(np.array([3.0, 4.0]), np.ones(3))
    np.testing.assert_allclose(found.x, [1.8, 2.4], rtol=1e-14)


@pytest.mark.skipif(not TRAPS, reason="the traps do not lie beside this checkout")
def test_what_has_none_is_as_it_was():
    """Loops that data end, branches, tapes and updates in place, with a limit on memory for some."""
    for name, trap in list(TRAPS.items())[::3]:
        with sdfgad.config(debug_nans=True):
            found = sdfgad.grad(trap.program)(trap.x)
        np.testing.assert_allclose(found, trap.gradient, rtol=1e-6, atol=1e-6, err_msg=name)
