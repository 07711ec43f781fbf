"""syrk: symmetric rank-k update of the lower triangle, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((4, 3), (2, 5), (7, 4))


def kernel(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, :i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, :i + 1] += alpha * A[i, k] * A[:i + 1, k]


def initialize(M: int, N: int) -> Arguments:
    C = field(lambda i, j: np.mod(i * j + 2, N) / M, N, N)
    A = field(lambda i, j: np.mod(i * j + 1, N) / N, N, M)
    return {"alpha": 1.5, "beta": 1.2, "C": C, "A": A}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    m, n = pick(SIZES, size)
    scalars = {"alpha": 1.0 + rng.random(), "beta": 1.0 + rng.random()}
    return {**scalars, "C": normal(rng, n, n), "A": normal(rng, n, m)}


KERNEL = Kernel(
    name="syrk",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("C", "A"),
    scalars=("alpha", "beta"),
    output="C",
    literal=jax_port("syrk", "literal"),
    idiomatic=jax_port("syrk", "idiomatic"),
    matrix=jax_port("syrk", "matrix"),
)
