"""Library operations as textbooks have them, against NumPy."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import sdfgad
from tests.codegen.reference.running import both_targets, same
from tests.support.oracle import numerical_gradient

RNG = np.random.default_rng(3)
SQUARE = RNG.standard_normal((5, 5)) + 3 * np.eye(5)
TALL = RNG.standard_normal((6, 4))
COMPLEX = SQUARE + 1j * RNG.standard_normal((5, 5))


@pytest.fixture
def reference() -> Iterator[None]:
    with sdfgad.config(target="reference"):
        yield


def systems(A, b, P):
    sign, size = np.linalg.slogdet(A)
    return (np.linalg.solve(A, b), np.linalg.inv(A), np.linalg.det(A), sign, size,
            np.linalg.cholesky(P), A[1:4, 0:3] @ b[0:3], A[::2] @ A[:, ::2], np.linalg.solve(A[0:2, 0:2], b[0:2, 0]))


@pytest.mark.usefixtures("reference")
@pytest.mark.parametrize("A", [pytest.param(SQUARE, marks=pytest.mark.slow), COMPLEX], ids=["real", "complex"])
def test_systems(A) -> None:
    b = A[:, :2] + 1.5
    P = A @ np.conj(A).T + np.eye(5)
    P = np.tril(P) + 100 * np.triu(np.ones((5, 5)), 1)  # the upper triangle is not looked at
    found = sdfgad.forward(systems)(A, b, P)
    lower = np.tril(P) + np.conj(np.tril(P, -1)).T
    expected = (*systems(A, b, lower),)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def decompositions(T, W, H, Z):
    values, vectors = np.linalg.eigh(H)
    u, s, v = np.linalg.svd(T, full_matrices=False)
    x, t, y = np.linalg.svd(Z, full_matrices=False)
    q, r = np.linalg.qr(T)
    return (values, (vectors * values) @ np.conj(vectors).T, np.conj(vectors).T @ vectors, s, (u * s) @ v,
            np.conj(u).T @ u, t, (x * t) @ y, np.conj(x).T @ x, q, r, np.linalg.pinv(W), np.linalg.pinv(Z))


@pytest.mark.usefixtures("reference")
@pytest.mark.parametrize("turn", [pytest.param(1.0, marks=pytest.mark.slow), np.exp(0.7j) + 0.2j],
                         ids=["real", "complex"])
def test_decompositions(turn) -> None:
    T = TALL * turn + (0.1j * RNG.standard_normal((6, 4)) if np.iscomplexobj(turn) else 0)
    W = np.ascontiguousarray(T.T)
    H = np.conj(W) @ W.T + np.diag([1.0, 2.0, 2.0, 3.0])
    Z = np.outer(T[:, 0], np.array([1.0, 0.0, 2.0]))  # of rank one, with a column of zeros
    found = sdfgad.forward(decompositions)(T, W, H, Z)
    for one, other in zip(found, decompositions(T, W, H, Z), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def orders(x, n, z):
    return np.argsort(x, kind="stable"), np.sort(n), np.fft.fft(z), np.fft.ifft(z[0:7]), np.fft.fft(z[0:1])


@pytest.mark.usefixtures("reference")
def test_orders_and_transforms() -> None:
    x, n = np.array([2.0, np.nan, 1.0, 2.0, -1.0, np.nan, 1.0]), np.array([5, 1, 5, -3])
    z = RNG.standard_normal(12) + 1j * RNG.standard_normal(12)
    for one, other in zip(sdfgad.forward(orders)(x, n, z), orders(x, n, z), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def objective(A, b, T):
    low = np.linalg.cholesky(A @ A.T + np.eye(5))
    values, vectors = np.linalg.eigh(A + A.T)
    q, r = np.linalg.qr(T)
    return (np.sum(np.linalg.solve(A, b) ** 2) + np.linalg.det(A) + np.linalg.slogdet(A)[1] + np.sum(low ** 3)
            + np.sum(values ** 2) + np.sum((vectors * np.exp(values / 9)) @ vectors.T) + np.sum(q[0] * r[0, 0])
            + np.sum(np.linalg.inv(A)[0]) + np.sum(np.linalg.svd(T, full_matrices=False)[1] ** 3))


@pytest.mark.usefixtures("reference")
def test_gradients() -> None:
    args = (SQUARE, SQUARE[:, :2] + 1, TALL)
    value, found = sdfgad.value_and_grad(objective)(*args)
    np.testing.assert_allclose(value, objective(*args), rtol=1e-12)
    for one, expected in zip(found, (numerical_gradient(objective, args, k) for k in range(3)), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-6, atol=1e-6 * np.max(np.abs(expected)))


@pytest.mark.slow
def test_both_targets_give_the_same_gradients() -> None:
    plain, found = both_targets(objective, SQUARE, SQUARE[:, :2] + 1, TALL)
    same(found, plain, 1e-9, 1e-9)


@pytest.mark.slow
def test_tangents() -> None:
    args = (SQUARE, SQUARE[:, :2] + 1, TALL)
    directions = tuple(np.cos(np.arange(a.size)).reshape(a.shape) for a in args)
    plain = sdfgad.jvp(objective, args, directions)
    with sdfgad.config(target="reference"):
        same(sdfgad.jvp(objective, args, directions), plain, 1e-9, 1e-9)


def checked(A, n):
    if n > 0:
        total = np.sum(np.linalg.solve(A, A[0]))
    elif n == 0:
        total = np.sum(np.linalg.eigh(A)[0])
    else:
        total = np.sum(np.linalg.cholesky(A))
    if total > 1e6:
        raise ValueError("too much")
    return total


@pytest.mark.usefixtures("reference")
def test_what_a_program_raises() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        sdfgad.grad(checked)(np.ones((3, 3)), 1)
    with pytest.raises(np.linalg.LinAlgError, match="converge"):
        sdfgad.grad(checked)(np.full((3, 3), np.nan), 0)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        sdfgad.grad(checked)(-np.eye(3), -1)
    function = sdfgad.grad(checked)
    with pytest.raises(ValueError, match="too much"):
        function(1e7 * np.eye(3), 0)
    np.testing.assert_allclose(function(np.eye(3), 0), np.eye(3), atol=1e-12)


def in_a_branch(A):
    B = A
    if A[0, 0] > 0:
        B = A @ A
    else:
        B = A[:, :4] @ A[:4]
    return np.sum(B ** 2)


@pytest.mark.usefixtures("reference")
def test_products_in_branches() -> None:
    for A in (np.abs(SQUARE), -np.abs(SQUARE)):
        found = sdfgad.grad(in_a_branch)(A)
        np.testing.assert_allclose(found, numerical_gradient(in_a_branch, [A]), rtol=1e-6, atol=1e-6)
