"""Results that do not depend on the arguments: zeros and a warning from every verb. Floats alone are differentiated."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import OutputError, UnusedArgumentWarning, UsageError
from sdfgad.testing import check_grads

X = np.array([0.5, 1.5, -2.0])


def summed(x, n):
    s = 0.0
    for k in range(n):
        s += x[k] ** 2
    return s * s


def switched(x, on):
    if not on:
        return 0
    return np.sum(x**2)


def beside(x):
    return 2.0, x * x


def half(x, y):
    return np.sum(y)


@pytest.mark.parametrize(("fn", "flag"), [(summed, 0), (switched, False)])
@pytest.mark.filterwarnings("error::sdfgad.UnusedArgumentWarning")
def test_a_constant_has_no_derivative(fn: Callable[..., Any], flag: Any) -> None:
    made = sdfgad.grad(fn)
    assert made.plan(X, flag).predicted.peak_bytes >= 0
    for verb in (made, made.value_and_grad):
        with pytest.warns(UnusedArgumentWarning, match="'x'"):
            found = verb(X, flag)
    np.testing.assert_array_equal(found[1], np.zeros(3))
    assert found[0] == fn(X, flag) == sdfgad.forward(fn)(X, flag)
    assert sdfgad.jvp(fn, (X, flag), (X, None)) == (0, 0.0)
    out, pullback = sdfgad.vjp(fn, X, flag)
    with pytest.warns(UnusedArgumentWarning):
        np.testing.assert_array_equal(pullback(2.0), np.zeros(3))
    assert out == 0
    assert check_grads(fn, X, flag).ok
    assert made(X, 1 + flag).any()


def test_a_constant_beside_other_results() -> None:
    with pytest.warns(UnusedArgumentWarning):
        value, found = sdfgad.value_and_grad(beside, output=0)(X)
    np.testing.assert_array_equal(found, np.zeros(3))
    assert value == 2.0
    with pytest.raises(OutputError):
        sdfgad.grad(lambda x: (1.0, 2.0))(X)
    with pytest.raises(OutputError, match="nothing to differentiate"):
        sdfgad.grad(lambda x: "text")(X)
    with pytest.warns(UnusedArgumentWarning):
        value, found = sdfgad.value_and_grad(lambda x: (1.0, 2), reduce="sum")(X)
    assert value == 3.0 and not found.any()


def test_the_others_keep_their_gradients() -> None:
    with pytest.warns(UnusedArgumentWarning, match="'x'"):
        found = sdfgad.grad(half)(X, X)
    np.testing.assert_array_equal(found.x, np.zeros(3))
    np.testing.assert_array_equal(found.y, np.ones(3))


def test_floats_alone_are_differentiated() -> None:
    square = sdfgad.value_and_grad(lambda x: x**2)
    for _ in range(2):
        assert square(3.0) == (9.0, 6.0)
    found = sdfgad.grad(lambda x, n, y: x**n * y)(3.0, 2, 0.5)
    assert dict(found.items()) == {"x": 3.0, "y": 9.0}
    found = sdfgad.grad(lambda p: p["a"] * p["b"])({"a": 2.0, "b": 3.0})
    assert found.p == {"a": 3.0, "b": 2.0}
    with pytest.raises(UsageError, match="no argument is"):
        sdfgad.grad(lambda n, x: n[0] * x)(np.array([1, 2]), 2.0)
    with pytest.raises(UsageError, match="no argument is"):
        sdfgad.grad(lambda n: n * 2)(3)
