"""cholesky: row by row factorisation of the lower triangle, in place."""

import numpy as np

from npbench_suite.data import pick, spd_initial, spd_sample
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 5, 8)


def kernel(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


def initialize(N: int) -> Arguments:
    return {"A": spd_initial(N)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    return {"A": spd_sample(rng, pick(SIZES, size))}


KERNEL = Kernel(
    name="cholesky",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A",),
    output="A",
    literal=jax_port("cholesky", "literal"),
    idiomatic=jax_port("cholesky", "idiomatic"),
    matrix=jax_port("cholesky", "matrix"),
    notes="the strict upper triangle is untouched: its gradient is that of the output",
)
