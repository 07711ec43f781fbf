"""QR decomposition by modified Gram-Schmidt."""

from __future__ import annotations

import numpy as np

from npbench_suite.data import normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port


def kernel(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= R[k, j] * Q[:, k]
    return Q, R


def initialize(M: int, N: int) -> Arguments:
    rng = seeded()
    A = rng.random((M, N))
    while np.linalg.matrix_rank(A) < N:
        A = rng.random((M, N))
    return {"A": A}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    M, N = pick([(5, 3), (7, 4), (9, 6)], size)
    return {"A": normal(rng, M, N) + 3.0 * np.eye(M, N)}


KERNEL = Kernel(
    name="gramschmidt",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A",),
    output=(0, 1, "A"),
    literal=jax_port("gramschmidt", "literal"),
    idiomatic=jax_port("gramschmidt", "idiomatic"),
    matrix=jax_port("gramschmidt", "matrix"),
)
