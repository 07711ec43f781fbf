"""Determinants: their sign, what exchanges of rows do to it, derivatives by a solution with the same factors."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad


def drawn(kind: str, n: int = 6) -> np.ndarray:
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n))
    return (a + 1j * rng.normal(size=(n, n)) if np.dtype(kind).kind == "c" else a).astype(kind)


def plain(a):
    return np.linalg.det(a)


def signed(a):
    return np.linalg.slogdet(a)


def determinant(a):
    return np.abs(np.linalg.det(a) + 0.5) ** 2


def likelihood(a, x):
    spread = a @ a.T + np.eye(a.shape[0])
    sign, size = np.linalg.slogdet(spread)
    return sign * size + x @ np.linalg.solve(spread, x)


def in_a_loop(a, x):
    total = 0.0
    for k in range(4):
        total += np.linalg.slogdet(a + k * np.diag(x))[1] * np.linalg.det(a * 0.5 - np.diag(x * k))
    return total


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("kind", ["f4", "f8", "c16"])
def test_gradients_agree_with_differences(kind, n):
    sdfgad.check_grads(determinant, drawn(kind, n))


def test_gaussian_likelihood():
    sdfgad.check_grads(likelihood, drawn("f8"), drawn("f8")[0])


def test_loops_under_a_limit():
    args = drawn("f8"), drawn("f8")[1]
    sdfgad.check_grads(in_a_loop, *args)
    expected = sdfgad.grad(in_a_loop, wrt="a")(*args)
    plan = sdfgad.grad(in_a_loop, wrt="a").plan(*args)
    limit = int(0.8 * plan.predicted.peak_bytes)
    np.testing.assert_allclose(sdfgad.grad(in_a_loop, wrt="a", memory_limit=limit)(*args), expected, rtol=1e-10)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [1, 0, 2, 3], [2, 0, 1, 3], [3, 2, 1, 0]], ids=str)
def test_signs_of_exchanged_rows(order):
    a = (np.diag([2.0, -1.0, 0.5, 3.0]) + 0.1)[order]
    for fn in (plain, signed):
        np.testing.assert_allclose(sdfgad.forward(fn)(a), fn(a), rtol=1e-12)


def test_a_singular_matrix_has_no_solution_for_the_derivative():
    assert sdfgad.forward(plain)(np.zeros((3, 3))) == plain(np.zeros((3, 3)))
    with pytest.raises(np.linalg.LinAlgError):
        sdfgad.grad(plain)(np.zeros((3, 3)))


def test_the_sign_of_a_complex_determinant_turns():
    def turned(a):
        sign, size = np.linalg.slogdet(a)
        return np.sum(np.real(sign) - 2 * np.imag(sign) + size)

    sdfgad.check_grads(turned, drawn("c16", 3))
    sdfgad.check_grads(turned, np.stack([drawn("c16", 3), drawn("c16", 3).T * 2]))
