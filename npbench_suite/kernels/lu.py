"""lu: factorisation without pivoting, in place."""

import numpy as np

from npbench_suite.data import pick, spd_initial, spd_sample
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 5, 8)


def kernel(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


def initialize(N: int) -> Arguments:
    return {"A": spd_initial(N)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    return {"A": spd_sample(rng, n) + 0.5 * rng.random((n, n))}


KERNEL = Kernel(
    name="lu",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A",),
    output="A",
    literal=jax_port("lu", "literal"),
    idiomatic=jax_port("lu", "idiomatic"),
    matrix=jax_port("lu", "matrix"),
)
