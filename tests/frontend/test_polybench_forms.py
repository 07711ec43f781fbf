"""Loop nests as PolyBench writes them."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.frontend.checking import check


def gemm(alpha, beta, C, A, B):
    C[:] = alpha * A @ B + beta * C


def jacobi_2d(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


def seidel_2d(TSTEPS, N, A):
    for t in range(TSTEPS - 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += (A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1]
                           + A[i + 1, 2:])
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


def cholesky(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


def atax(A, x):
    return (A @ x) @ A


def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def ludcmp(A, b):
    x = np.zeros_like(b)
    y = np.zeros_like(b)
    lu(A)
    for i in range(A.shape[0]):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(A.shape[0] - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1:] @ x[i + 1:]) / A[i, i]
    return x, y


def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1:, i], B[i + 1:, j])
    B *= alpha


def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, :i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, :i + 1] += alpha * A[i, k] * A[:i + 1, k]


def symm(alpha, beta, C, A, B):
    temp2 = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2


def gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        nrm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(nrm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


def correlation(M, float_n, data):
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float_n) * stddev
    corr = np.eye(M, dtype=data.dtype)
    for i in range(M - 1):
        corr[i + 1:M, i] = corr[i, i + 1:M] = data[:, i] @ data[:, i + 1:M]
    return corr


def sweep(TSTEPS, N, u):
    v, p, q = np.empty(u.shape), np.empty(u.shape), np.empty(u.shape)
    a = -1.0 / N / 2.0
    b = 1.0 + 1.0 / N
    for t in range(1, TSTEPS + 1):
        v[0, 1:N - 1] = 1.0
        p[1:N - 1, 0] = 0.0
        q[1:N - 1, 0] = v[0, 1:N - 1]
        for j in range(1, N - 1):
            p[1:N - 1, j] = -a / (a * p[1:N - 1, j - 1] + b)
            q[1:N - 1, j] = -a * u[j, 0:N - 2] + b * u[j, 1:N - 1] - a * q[1:N - 1, j - 1]
            q[1:N - 1, j] /= a * p[1:N - 1, j - 1] + b
        v[N - 1, 1:N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1:N - 1] = p[1:N - 1, j] * v[j + 1, 1:N - 1] + q[1:N - 1, j]
        u[1:N - 1, 1:N - 1] = v[1:N - 1, 1:N - 1]
    return u


def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


def doitgen(NR, NQ, NP, A, C4):
    A[:] = np.reshape(np.reshape(A, (NR, NQ, 1, NP)) @ C4, (NR, NQ, NP))


RNG = np.random.default_rng(3)


def _u(*shape: int) -> np.ndarray:
    return RNG.random(shape)


def _spd(n: int) -> np.ndarray:
    a = _u(n, n)
    return a @ a.T + n * np.eye(n)


CASES: list[tuple[Callable[..., object], list[object]]] = [
    (gemm, [1.5, 1.2, _u(3, 4), _u(3, 5), _u(5, 4)]), (jacobi_2d, [4, _u(6, 6), _u(6, 6)]),
    (seidel_2d, [3, 6, _u(6, 6)]), (lu, [_spd(6)]), (cholesky, [_spd(6)]), (atax, [_u(4, 5), _u(5)]),
    (durbin, [0.1 * _u(6)]), (ludcmp, [_spd(5), _u(5)]), (trmm, [1.5, _u(4, 4), _u(4, 5)]),
    (syrk, [1.5, 1.2, _u(4, 4), _u(4, 5)]), (symm, [1.5, 1.2, _u(4, 5), _u(4, 4), _u(4, 5)]),
    (gramschmidt, [_u(6, 4)]), (correlation, [4, 6.0, _u(6, 4)]), (sweep, [3, 6, _u(6, 6)]),
    (floyd_warshall, [_u(5, 5)]), (doitgen, [2, 3, 4, _u(2, 3, 4), _u(4, 4)])]


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(fn: Callable[..., object], arguments: list[object]) -> None:
    check(fn, *arguments)
