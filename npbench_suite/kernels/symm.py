"""symm: product with a symmetric matrix stored in its lower triangle, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4), (5, 2), (4, 7))


def kernel(alpha, beta, C, A, B):
    temp2 = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2


def initialize(M: int, N: int) -> Arguments:
    C = field(lambda i, j: np.mod(i + j, 100) / M, M, N)
    B = field(lambda i, j: np.mod(N + i - j, 100) / M, M, N)
    A = field(lambda i, j: np.mod(i + j, 100) / M, M, M)
    A[np.triu_indices(M, 1)] = -999.0
    return {"alpha": 1.5, "beta": 1.2, "C": C, "A": A, "B": B}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    m, n = pick(SIZES, size)
    scalars = {"alpha": 1.0 + rng.random(), "beta": 1.0 + rng.random()}
    return {**scalars, "C": normal(rng, m, n), "A": normal(rng, m, m), "B": normal(rng, m, n)}


KERNEL = Kernel(
    name="symm",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("C", "A", "B"),
    scalars=("alpha", "beta"),
    output="C",
    literal=jax_port("symm", "literal"),
    idiomatic=jax_port("symm", "idiomatic"),
    matrix=jax_port("symm", "matrix"),
    notes="the strict upper triangle of A is not read: its gradient is 0",
)
