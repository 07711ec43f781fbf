"""ludcmp: factorisation without pivoting, in place, and the two triangular solves."""

import numpy as np

from npbench_suite.data import field, normal, pick, spd_initial, spd_sample
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 5, 8)


def kernel(A, b):
    x = np.zeros_like(b)
    y = np.zeros_like(b)
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    for i in range(A.shape[0]):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(A.shape[0] - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1:] @ x[i + 1:]) / A[i, i]
    return x, y


def initialize(N: int) -> Arguments:
    return {"A": spd_initial(N), "b": field(lambda i: (i + 1) / N / 2 + 4, N)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    return {"A": spd_sample(rng, n) + 0.5 * rng.random((n, n)), "b": normal(rng, n)}


KERNEL = Kernel(
    name="ludcmp",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "b"),
    output=(0, 1, "A"),
    literal=jax_port("ludcmp", "literal"),
    idiomatic=jax_port("ludcmp", "idiomatic"),
    matrix=jax_port("ludcmp", "matrix"),
)
