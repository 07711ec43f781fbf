"""Functions of NumPy and SciPy that are given to the verbs as they are."""
from __future__ import annotations

import functools
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, psi

import sdfgad
from sdfgad.errors import UnsupportedError, UsageError
from sdfgad.frontend.library_function import called_from_python

X = np.linspace(0.1, 1.0, 4)
ROWS = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("function, x, expected", [
    (np.sin, 0.3, math.cos(0.3)), (math.exp, 0.3, math.exp(0.3)), (abs, -2.0, -1.0), (gammaln, 2.5, psi(2.5)),
    (np.linalg.norm, X, X / np.linalg.norm(X)), (np.sum, X, np.ones(4)),
    (functools.partial(np.linalg.norm, ord=1), -X, -np.ones(4))])
def test_gradient(function: Callable[..., Any], x: Any, expected: Any) -> None:
    np.testing.assert_allclose(sdfgad.grad(function)(x), expected, rtol=1e-13)


def test_two_arguments() -> None:
    found = sdfgad.grad(np.dot)(X, 2 * X)
    np.testing.assert_array_equal(found["x"], 2 * X)
    np.testing.assert_array_equal(found["y"], X)
    np.testing.assert_array_equal(sdfgad.grad(np.dot, wrt=0)(X, 2 * X), 2 * X)


def test_other_verbs() -> None:
    np.testing.assert_allclose(sdfgad.jacobian(np.cumsum)(X), np.tril(np.ones((4, 4))))
    np.testing.assert_allclose(sdfgad.vjp(np.sin, X)[1](X), X * np.cos(X))
    np.testing.assert_allclose(sdfgad.jvp(np.sin, (X,), (X,))[1], X * np.cos(X))
    np.testing.assert_allclose(sdfgad.vmap(np.dot, in_axes=(0, None))(ROWS, ROWS[0]), ROWS @ ROWS[0])
    np.testing.assert_allclose(sdfgad.vmap(sdfgad.grad(np.tanh))(X), 1 / np.cosh(X) ** 2)
    assert sdfgad.check_grads(np.linalg.norm, X).ok


def test_its_name() -> None:
    gradient = sdfgad.grad(np.exp)
    assert repr(gradient) == "<sdfgad.grad of exp>"
    assert "exp" in sdfgad.plan(np.exp, 1.0).target
    assert sdfgad.plan(lambda x: x * x, 1.0).target.endswith("lambda")
    assert pickle.loads(pickle.dumps(gradient))(0.0) == 1.0


def test_what_has_no_rule_stays_what_it_is() -> None:
    assert called_from_python(np.busday_count) is np.busday_count
    assert called_from_python(test_its_name) is test_its_name


async def later(x: np.ndarray) -> float:
    return float(np.sum(x))


def test_a_coroutine_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="'later' is a coroutine"):
        sdfgad.grad(later)(X)


def starred(*a: Any, scale: float = 2.0, **k: Any) -> Any:
    return np.sum(a[0] * a[1]) * scale * k.get("w", 1.0)


def test_a_batch_of_gradients_by_arguments_behind_stars() -> None:
    found = sdfgad.vmap(sdfgad.grad(starred))(ROWS, ROWS + 1, scale=3.0)
    np.testing.assert_allclose(found["a[0]"], 3 * (ROWS + 1))
    found = sdfgad.vmap(sdfgad.grad(starred), in_axes=(0, None))(ROWS, X, w=np.arange(3.0))
    np.testing.assert_allclose(found["a[1]"], 2 * ROWS * np.arange(3.0)[:, None])
    np.testing.assert_allclose(found["k['w']"], 2 * ROWS @ X)
    with pytest.raises(UsageError, match="3 entries for 2 arguments"):
        sdfgad.vmap(sdfgad.grad(starred), in_axes=(0, 0, 0))(ROWS, ROWS)
