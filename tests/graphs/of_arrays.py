"""Programs on whole arrays: libraries, numbers."""
from __future__ import annotations

import dace
import numpy as np

from tests.graphs.pairs import M, N, Pair, numbers

# libraries

@dace.program
def products(A: dace.float64[N, M], B: dace.float64[M, N], x: dace.float64[N]):
    C = A @ B
    y = C @ x
    z = x @ C
    return np.dot(y, z) + np.sum(C @ C)


def products_twin(A, B, x):
    C = A @ B
    y = C @ x
    z = x @ C
    return np.dot(y, z) + np.sum(C @ C)


@dace.program
def batched(A: dace.float64[3, 4, 5], B: dace.float64[3, 5, 2]):
    C = A @ B
    return np.sum(C * C)


def batched_twin(A, B):
    C = np.zeros((3, 4, 2))
    for k in range(3):
        C[k] = A[k] @ B[k]
    return np.sum(C * C)


@dace.program
def reductions(A: dace.float64[N, M]):
    rows = np.sum(A * A, axis=1)
    columns = np.max(A, axis=0)
    least = np.min(A, axis=1)
    return np.sum(rows) * np.sum(columns) + np.mean(least) * np.max(rows)


def reductions_twin(A):
    rows = np.sum(A * A, axis=1)
    columns = np.max(A, axis=0)
    least = np.min(A, axis=1)
    return np.sum(rows) * np.sum(columns) + np.mean(least) * np.max(rows)


@dace.program
def transposed(A: dace.float64[N, M], B: dace.float64[N, M]):
    return np.sum(A.T @ B) + np.sum(np.transpose(A)[1] * B[:, 0])


def transposed_twin(A, B):
    return np.sum(A.T @ B) + np.sum(np.transpose(A)[1] * B[:, 0])


@dace.program
def systems(A: dace.float64[4, 4], b: dace.float64[4]):
    S = A @ A.T + 4.0 * np.eye(4)
    x = np.linalg.solve(S, b)
    L = np.linalg.cholesky(S)
    return np.sum(x * b) + np.sum(L) + np.sum(np.linalg.inv(S))


def systems_twin(A, b):
    S = A @ A.T + 4.0 * np.eye(4)
    x = np.linalg.solve(S, b)
    L = np.linalg.cholesky(S)
    return np.sum(x * b) + np.sum(L) + np.sum(np.linalg.inv(S))


@dace.program
def masked(x: dace.float64[N], y: dace.float64[N]):
    z = np.where(x > y, np.exp(x), np.abs(y)) + np.minimum(x, 0.8) * np.sign(y)
    z[z > 2.5] = 0.5
    y[x > 1.0] *= 2.0
    return np.sum(z * x) + np.sum(y)


def masked_twin(x, y):
    z = np.where(x > y, np.exp(x), np.abs(y)) + np.minimum(x, 0.8) * np.sign(y)
    z[z > 2.5] = 0.5
    y[x > 1.0] *= 2.0
    return np.sum(z * x) + np.sum(y)


# numbers

@dace.program
def broadcasts(A: dace.float64[N, M], x: dace.float64[M], s: dace.float64):
    B = A * x + s
    C = np.where(B > 1.5, B, x)
    return np.sum(np.maximum(C, A) * s)


def broadcasts_twin(A, x, s):
    B = A * x + s
    C = np.where(B > 1.5, B, x)
    return np.sum(np.maximum(C, A) * s)


@dace.program
def whole_numbers(x: dace.float64[N], k: dace.int64):
    s = 0.0
    for i in range(N):
        s += x[i // 2] * x[i % 3] * (k // 2 + i) / 4
    return s


def whole_numbers_twin(x, k):
    s = 0.0
    for i in range(len(x)):
        s += x[i // 2] * x[i % 3] * (k // 2 + i) / 4
    return s


@dace.program
def single(x: dace.float32[N]):
    return np.sum(x * np.float32(0.5) + x * x)


def single_twin(x):
    return np.sum(x * np.float32(0.5) + x * x)


@dace.program
def complex_values(z: dace.complex128[N], x: dace.float64[N]):
    w = z * z + x
    return np.sum(np.real(w * np.conj(w)))


def complex_values_twin(z, x):
    w = z * z + x
    return np.sum(np.real(w * np.conj(w)))


@dace.program
def two_results(x: dace.float64[N]):
    y = x * x
    return y, np.sum(y * x)


def two_results_twin(x):
    y = x * x
    return y, np.sum(y * x)


@dace.program
def triangle(A: dace.float64[N, N]):
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k] * 0.1
            A[i, j] = A[i, j] / A[j, j]
        A[i, i] = np.sqrt(A[i, i] + np.sum(A[i, :i]) * 0.1)


def triangle_twin(A):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k] * 0.1
            A[i, j] = A[i, j] / A[j, j]
        A[i, i] = np.sqrt(A[i, i] + np.sum(A[i, :i]) * 0.1)


@dace.program
def swapped(y: dace.float64[N]):
    x = y + 0.0
    t = x[0]
    x[0] = x[4] * 2.0
    x[4] = t
    return np.sum(x * y) + x[0] * t


def swapped_twin(y):
    x = y + 0.0
    t = x[0]
    x[0] = x[4] * 2.0
    x[4] = t
    return np.sum(x * y) + x[0] * t


PAIRS = (
    Pair(products, products_twin, (numbers(3, 4), numbers(4, 3), numbers(3))),
    Pair(batched, batched_twin, (numbers(3, 4, 5), numbers(3, 5, 2))),
    Pair(reductions, reductions_twin, (numbers(3, 4),)),
    Pair(transposed, transposed_twin, (numbers(3, 4), numbers(3, 4, seed=1))),
    Pair(systems, systems_twin, (numbers(4, 4), numbers(4))),
    Pair(masked, masked_twin, (numbers(7), numbers(7, seed=1))),
    Pair(broadcasts, broadcasts_twin, (numbers(3, 4), numbers(4), 0.7)),
    Pair(whole_numbers, whole_numbers_twin, (numbers(6), 5)),
    Pair(single, single_twin, (numbers(5).astype(np.float32),)),
    Pair(complex_values, complex_values_twin, (numbers(4) + 1j * numbers(4, seed=1), numbers(4))),
    Pair(two_results, two_results_twin, (numbers(4),)),
    Pair(triangle, triangle_twin, (numbers(5, 5),), "A"),
    Pair(swapped, swapped_twin, (numbers(6),)),
)
