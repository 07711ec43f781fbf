"""syr2k: symmetric rank-2k update of the lower triangle, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((4, 3), (2, 5), (7, 4))


def kernel(alpha, beta, C, A, B):
    for i in range(A.shape[0]):
        C[i, :i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, :i + 1] += A[:i + 1, k] * alpha * B[i, k] + B[:i + 1, k] * alpha * A[i, k]


def initialize(M: int, N: int) -> Arguments:
    C = field(lambda i, j: np.mod(i * j + 3, N) / M, N, N)
    A = field(lambda i, j: np.mod(i * j + 1, N) / N, N, M)
    B = field(lambda i, j: np.mod(i * j + 2, M) / M, N, M)
    return {"alpha": 1.5, "beta": 1.2, "C": C, "A": A, "B": B}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    m, n = pick(SIZES, size)
    scalars = {"alpha": 1.0 + rng.random(), "beta": 1.0 + rng.random()}
    return {**scalars, "C": normal(rng, n, n), "A": normal(rng, n, m), "B": normal(rng, n, m)}


KERNEL = Kernel(
    name="syr2k",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("C", "A", "B"),
    scalars=("alpha", "beta"),
    output="C",
    literal=jax_port("syr2k", "literal"),
    idiomatic=jax_port("syr2k", "idiomatic"),
    matrix=jax_port("syr2k", "matrix"),
)
