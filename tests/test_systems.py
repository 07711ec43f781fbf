"""Linear systems: one factorisation serves the solution, its derivatives and other right-hand sides."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.ir.walk import statements


def residual(a, b):
    x = np.linalg.solve(a, b)
    return np.sum(np.abs(x) ** 2)


def relaxed(a, b, steps):
    x = b.copy()
    for k in range(steps):
        x = np.linalg.solve(a + 0.1 * k * np.diag(x * x), b + 0.01 * x)
    return np.sum(np.abs(x) ** 2)


def twice(a, b, c):
    return np.sum(np.linalg.solve(a, b) * np.linalg.solve(a, c))


def chosen(a, b, c):
    x = np.linalg.solve(a, b)
    if x[0] > c[0]:
        x = np.linalg.solve(a.T, x + c)
    return np.sum(x * c)


def drawn(kind: str, columns: tuple[int, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(7, 7)) + 6 * np.eye(7), rng.normal(size=(7, *columns))
    if np.dtype(kind).kind == "c":
        a, b = a + 1j * rng.normal(size=a.shape), b * (1 - 2j)
    return a.astype(kind), b.astype(kind)


def factorisations(gradient, *args) -> int:
    """How many stand in the gradient program."""
    made = gradient._derivative(bind(gradient.fn, args, {}), False).program
    return sum(getattr(s, "op", "") == "lu" for s in statements(made.body))


@pytest.mark.parametrize("columns", [(), (3,)], ids=str)
@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "c16"])
def test_gradients_agree_with_differences(kind, columns):
    sdfgad.check_grads(residual, *drawn(kind, columns))


@pytest.mark.parametrize("limit", [None, 6000, 4500], ids=str)
@pytest.mark.parametrize("kind", ["f8", "c16"])
def test_systems_in_a_loop_under_limits(kind, limit):
    args = (*drawn(kind), 9)
    expected = sdfgad.grad(relaxed, wrt="a")(*args)
    size = 1 if kind == "f8" else 2
    found = sdfgad.grad(relaxed, wrt="a", memory_limit=limit and size * limit)(*args)
    np.testing.assert_array_equal(found, expected)
    if limit is None:
        sdfgad.check_grads(relaxed, *args)


def test_the_adjoint_of_a_system_uses_the_factors_of_the_system():
    a, b = drawn("f8")
    assert factorisations(sdfgad.grad(residual, wrt=("a", "b")), a, b) == 1


def test_systems_with_one_matrix_share_a_factorisation():
    a, b = drawn("f8")
    gradient = sdfgad.grad(twice, wrt=("a", "b", "c"))
    assert factorisations(gradient, a, b, b + 1) == 1
    sdfgad.check_grads(twice, a, b, b + 1)


@pytest.mark.parametrize("c", [-1e3, 1e3])
def test_systems_in_branches(c):
    a, b = drawn("f8")
    sdfgad.check_grads(chosen, a, b, c + b)


def test_no_columns_and_one_row():
    assert sdfgad.grad(residual, wrt="b")(np.eye(3), np.zeros((3, 0))).shape == (3, 0)
    np.testing.assert_allclose(sdfgad.grad(residual, wrt="b")(np.array([[2.0]]), np.array([3.0])), [1.5])


def test_a_singular_system_raises():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        sdfgad.grad(residual, wrt="b")(np.zeros((3, 3)), np.ones(3))


def filtered(steps, a, b):
    s, total = np.eye(7), 0.0
    for k in range(steps):
        s = a @ s @ a.T + np.eye(7)
        gain = np.linalg.solve(s, a)
        total += b @ np.linalg.solve(s, b)
        s = s - gain @ s * 0.1
    return total


def test_systems_with_one_matrix_share_a_factorisation_in_a_loop():
    a, b = drawn("f8")
    assert factorisations(sdfgad.grad(filtered, wrt=("a", "b")), 3, a, b) == 1
    sdfgad.check_grads(filtered, 3, a / 6, b)
