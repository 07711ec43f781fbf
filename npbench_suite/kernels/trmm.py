"""trmm: product with the transpose of a unit lower triangular matrix, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4), (5, 2), (4, 7))


def kernel(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1:, i], B[i + 1:, j])
    B *= alpha


def initialize(M: int, N: int) -> Arguments:
    A = field(lambda i, j: np.mod(i * j, M) / M, M, M)
    np.fill_diagonal(A, 1.0)
    return {"alpha": 1.5, "A": A, "B": field(lambda i, j: np.mod(N + i - j, N) / N, M, N)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    m, n = pick(SIZES, size)
    return {"alpha": 1.0 + rng.random(), "A": normal(rng, m, m), "B": normal(rng, m, n)}


KERNEL = Kernel(
    name="trmm",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "B"),
    scalars=("alpha",),
    output="B",
    literal=jax_port("trmm", "literal"),
    idiomatic=jax_port("trmm", "idiomatic"),
    matrix=jax_port("trmm", "matrix"),
)
