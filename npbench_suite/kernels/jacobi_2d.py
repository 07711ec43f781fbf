"""jacobi_2d: five-point average, double buffer."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4, 5), (5, 7, 6), (2, 5, 8))


def kernel(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


def initialize(TSTEPS: int, N: int) -> Arguments:
    A = field(lambda i, j: i * (j + 2) / N, N, N)
    B = field(lambda i, j: i * (j + 3) / N, N, N)
    return {"TSTEPS": TSTEPS, "A": A, "B": B}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    steps, m, n = pick(SIZES, size)
    return {"TSTEPS": steps, "A": normal(rng, m, n), "B": normal(rng, m, n)}


KERNEL = Kernel(
    name="jacobi_2d",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "B"),
    output=("A", "B"),
    literal=jax_port("jacobi_2d", "literal"),
    idiomatic=jax_port("jacobi_2d", "idiomatic"),
)
