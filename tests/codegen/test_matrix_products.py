"""Whole programs whose loops become matrix products: values against NumPy, gradients against differences."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.ir.program import Lib
from sdfgad.ir.walk import statements
from sdfgad.testing import check_grads
from sdfgad.verbs.pipeline import primal

N = 40


def box(A, B):
    C = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += 0.1 * A[i, k] * B[k, j]
    return np.sum(C * C)


def triangular_operand(A, B):
    C = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i):
                C[i, j] += A[i, k] * B[k, j]
    return np.sum(C * C)


def triangular_target(A, B):
    C = np.zeros((A.shape[0], A.shape[0]))
    for i in range(A.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[j, k]
    return np.sum(C * C)


def batched(A, B):
    C = np.zeros((2, A.shape[0], A.shape[0]))
    for b in range(2):
        for i in range(A.shape[0]):
            for j in range(A.shape[0]):
                for k in range(A.shape[1]):
                    C[b, i, j] += A[i, k] * B[j, k] * A[b, k]
    return np.sum(C * C)


def in_place(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1:, i], B[i + 1:, j])
    return np.sum(B * B)


def half_covariance(A, B):
    C = np.zeros((A.shape[1], A.shape[1]))
    for i in range(A.shape[1]):
        C[i:, i] = C[i, i:] = A[:, i] @ A[:, i:]
    return np.sum(C * B)


PROGRAMS = (box, triangular_operand, triangular_target, batched, in_place, half_covariance)


def arguments(complex_: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, N, N)) / 6
    return (a + 1j * b.T, b - 1j * a.T) if complex_ else (a, b)


def value_by_products(fn: Callable[..., Any], *given: np.ndarray) -> Any:
    """The value that comes with a gradient, which has products."""
    gradient = sdfgad.value_and_grad(fn, wrt=("A", "B"))
    value, _ = gradient(*given)
    made, = gradient._known.values()
    assert any(isinstance(s, Lib) for s in statements(made[0].program.body))
    return value


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(fn: Callable[..., Any]) -> None:
    np.testing.assert_allclose(value_by_products(fn, *arguments()), fn(*(a.copy() for a in arguments())), rtol=1e-12)
    check_grads(fn, *arguments(), wrt=("A", "B"))


def test_the_program_itself_runs_on_products() -> None:
    made = primal(box, bind(box, arguments(), {}))
    assert any(isinstance(s, Lib) for s in statements(made.program.body))


def conjugated(A, B):
    C = np.zeros((A.shape[0], B.shape[1]), dtype=A.dtype)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i + 1):
                C[i, j] += np.conj(A[i, k]) * B[k, j]
    return np.sum(C.real * C.real + C.imag)


def test_complex_products() -> None:
    value = value_by_products(conjugated, *arguments(True))
    np.testing.assert_allclose(value, conjugated(*arguments(True)), rtol=1e-12)
    check_grads(conjugated, *arguments(True), wrt=("A", "B"))


def test_nothing_outside_a_triangle_is_looked_at() -> None:
    a, b = arguments()
    a[np.triu_indices(N)] = np.nan
    grads = sdfgad.grad(triangular_operand, wrt=("A", "B"))(a, b)
    clean = sdfgad.grad(triangular_operand, wrt=("A", "B"))(np.tril(a, -1), b)
    for got, want in zip(grads, clean, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
        assert np.isfinite(got).all()


def scaled(A, B, s):
    return (s * A) @ B


def scaled_vector(A, B, s):
    return (s * A) @ B[0]


@pytest.mark.parametrize("fn", [scaled, scaled_vector], ids=lambda f: f.__name__)
def test_a_scale_of_zero_does_not_hide_infinity(fn: Callable[..., Any]) -> None:
    """BLAS does not look at the operands then; NumPy does."""
    a, b = np.ones((2, 200, 200))
    a[1, 2] = np.inf
    for s in (0.0, 2.0):
        np.testing.assert_array_equal(sdfgad.forward(fn)(a, b, s), fn(a, b, s))
