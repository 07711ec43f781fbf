"""Sparse matrices that are made inside the function, of data and of constants."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

ss: Any = pytest.importorskip("scipy.sparse")
sla: Any = pytest.importorskip("scipy.sparse.linalg")
sg: Any = pytest.importorskip("scipy.signal")

X = np.array([0.43, 1.2, 0.9, 1.7, 0.3, 0.6])
C0 = ss.csr_matrix(np.diag(np.arange(1.0, 7.0)) + np.diag(np.ones(5), 1))


def sp_diags(x):
    A = ss.diags([x, x[1:]], [0, 1])
    return np.sum((A @ x) ** 2)


def sp_diags2(x):
    A = ss.diags([-x[1:], 4 + x, -x[1:]], [-1, 0, 1], format='csc')
    return np.sum(sla.spsolve(A, x) ** 2)


def sp_coo(x):
    A = ss.coo_matrix((x, ([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0])), shape=(6, 6)).tocsr()
    return np.sum((A @ x) ** 2 + A.T @ x)


def sp_eye(x):
    A = ss.eye(6) * x[0] + ss.diags(x)
    return np.sum((A @ x) ** 2)


def sp_kron(x):
    D = ss.diags([x[:3]], [0])
    I = ss.eye(2)
    A = ss.kron(I, D) + ss.kron(ss.eye(2), D)
    return np.sum((A @ x) ** 2)


def sp_const(x):
    D = ss.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(6, 6))
    return np.sum((D @ x) ** 2)


def sp_solve(x):
    D = ss.diags([1.0, -4.0, 1.0], [-1, 0, 1], shape=(6, 6), format='csr')
    return np.sum(sla.spsolve(D, x) ** 2)


def sp_solve2(x):
    D = ss.diags([1.0, -4.0, 1.0], [-1, 0, 1], shape=(6, 6), format='csr')
    A = ss.identity(6, format='csr') * x[0] - D
    return np.sum(sla.spsolve(A, x) ** 2)


def sp_mixed(x):
    n = 6
    L = ss.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(n, n))
    A = ss.eye(n) - x[0] * L
    B = ss.identity(n) + x[1] * L @ ss.diags(x)
    u = sla.spsolve(A.tocsc(), B @ x)
    return np.sum(u ** 2) + np.sum((C0 * x[2] - A) @ u) + np.sum(u @ A) + np.sum((A @ B).toarray() ** 2)


def sp_loop(x):
    n = 6
    L = ss.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(n, n), format='csr')
    u = x
    for k in range(20):
        A = ss.eye(n, format='csr') - 0.1 * x[0] * L
        u = sla.spsolve(A, u)
    return np.sum(u ** 2)


def sp_2d(x):
    n = 3
    D = ss.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1])
    I = ss.eye(n)
    L = ss.kron(I, D) + ss.kron(D, I)
    k = np.concatenate((x, x[:3]))
    A = L + ss.diags(k)
    return np.sum(sla.spsolve(A.tocsr(), k) ** 2)


def sp_asked(x):
    total = 0.0
    for M in (ss.diags(x), C0, np.outer(x, x), x, 3.0):
        total += np.sum((M @ x) ** 2) if ss.issparse(M) else np.sum(M) * x[1]
    return total


def sp_csrarr(x):
    A = ss.csr_array((x, (np.array([0, 1, 2, 0, 1, 2]), np.array([1, 2, 0, 0, 0, 2]))), shape=(3, 3))
    return np.sum((A.T @ (A @ x[:3])) ** 2) + np.sum(A.diagonal() ** 2)


def sp_spd(x):
    A = ss.spdiags(np.array([x, x * 2]), [0, 1], 6, 6)
    return np.sum((A @ x) ** 2)


def freqz2(x):
    w, h = sg.freqz(x, worN=np.linspace(0.1, 2.0, 5))
    v, g = sg.freqz(x[:3], x[3:], 8, fs=100.0, whole=True)
    return np.sum(np.abs(h) ** 2 * w) + np.sum(np.angle(g)) + np.sum(v)


def roots(x):
    r = np.roots(x)
    return np.sum(np.abs(r) ** 2)


def sp_offsets(x):
    k, e = np.array([-1, 0, 1]), np.ones(6)
    A = ss.spdiags(np.vstack((e, -4 * e, x)), k, 6, 6)
    return np.sum(sla.spsolve(A.tocsc(), x) ** 2) + np.sum(ss.diags([x[1:], x * x], k[:2]) @ x)


PLACES, STARTS = np.array([1, 0, 2, 3, 4, 5]), np.arange(7)
LAPLACE = ss.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(6, 6))


def sp_copies(x):
    """What is changed behind a matrix shows in it where SciPy has not copied it."""
    v, w = x * 2, np.outer(x, x)
    v[1], w[0, 0] = 1.0, 3.0
    copied = [ss.csr_matrix((v, (PLACES, STARTS[:6])), shape=(6, 6)), ss.csr_matrix(w), ss.diags(v),
              ss.coo_matrix((v, (PLACES, PLACES)), shape=(6, 6)).tocsr(),
              ss.csr_matrix((v, PLACES, STARTS), shape=(6, 6), copy=True)]
    shown = [ss.coo_matrix((v, (PLACES, PLACES)), shape=(6, 6)), ss.csr_matrix((v, PLACES, STARTS), shape=(6, 6)).T]
    v[0], w[0, 1] = 10.0, 7.0
    return sum(np.sum((A @ x) ** 2) for A in copied + shown)


def sp_scaled(x):
    L = ss.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(6, 6)).tocsr()
    L /= 0.5 ** 2
    L *= x[0]
    M = LAPLACE.tocsc() * x[1]
    M /= 3.0
    return np.sum((L @ x) ** 2) + np.sum((M @ x) ** 2)


def test_dtypes() -> None:
    x = X.astype(np.float64) / 3
    check(lambda x: np.sum(ss.csr_matrix((x, (PLACES, PLACES)), shape=(6, 6), dtype=np.float32) @ X), x)
    check(lambda x: np.sum(ss.diags([x], [0], dtype=np.float32) @ X), x)
    check(lambda x: np.sum(ss.csr_matrix(np.outer(x, x), dtype=int) @ X), 3 * x)


def two_names(x):
    A = ss.csr_matrix(np.outer(x, x))
    B = A
    A *= 2.0
    return np.sum(B @ x)


def other_side(x):
    A = ss.csr_matrix(np.outer(x, x))
    B = A.T
    A /= 2.0
    return np.sum(B @ x)


def of_the_caller(x):
    def scale(A):
        A *= 2.0

    A = ss.csr_matrix(np.outer(x, x))
    scale(A)
    return np.sum(A @ x)


def from_outside(x):
    A = LAPLACE
    A *= 2.0
    return np.sum(LAPLACE @ x)


@pytest.mark.parametrize("program", [
    two_names, other_side, of_the_caller, from_outside,
    lambda x: np.sum(ss.csr_matrix((x, (PLACES, PLACES)), shape=(6, 6)).data * X),
    lambda x: ss.csr_matrix(np.outer(x, x)).indices[0] * x[0]])
def test_numbers_that_are_shown_elsewhere_are_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(sdfgad.UnsupportedError, match="in place|entries"):
        parse(program, (X,), {})


@pytest.mark.parametrize("program", [sp_diags, sp_diags2, sp_coo, sp_eye, sp_kron, sp_const, sp_solve, sp_solve2,
    sp_mixed, sp_loop, sp_2d, sp_asked, sp_csrarr, sp_spd, sp_offsets, sp_copies, sp_scaled, freqz2, roots])
def test_values_and_derivatives(program: Callable[..., Any]) -> None:
    check_both_modes(program, (X,))


DIAGONALS = ss.diags([X, X[1:]], [0, 1])


def test_matrices_from_outside_in_other_expressions_are_looked_up_again() -> None:
    matrix = C0.copy()
    gradient = sdfgad.grad(lambda x: (np.sum(matrix * x) + np.sum(DIAGONALS @ x)
                                      + np.sum((matrix + x[0] * DIAGONALS) @ X)))
    for _ in range(2):
        wanted = matrix.T @ np.ones(6) + DIAGONALS.T @ np.ones(6)
        wanted[0] += np.sum(DIAGONALS @ X)
        np.testing.assert_allclose(gradient(X), wanted, rtol=1e-12)
        matrix.data[:] *= 2.0
    matrix.indices[0] = 5
    wanted = matrix.T @ np.ones(6) + DIAGONALS.T @ np.ones(6)
    wanted[0] += np.sum(DIAGONALS @ X)
    np.testing.assert_allclose(gradient(X), wanted, rtol=1e-12)
