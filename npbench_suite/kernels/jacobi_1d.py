"""jacobi_1d: three-point average, double buffer."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 5), (5, 8), (2, 11))


def kernel(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


def initialize(TSTEPS: int, N: int) -> Arguments:
    return {"TSTEPS": TSTEPS, "A": field(lambda i: (i + 2) / N, N), "B": field(lambda i: (i + 3) / N, N)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    steps, n = pick(SIZES, size)
    return {"TSTEPS": steps, "A": normal(rng, n), "B": normal(rng, n)}


KERNEL = Kernel(
    name="jacobi_1d",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "B"),
    output=("A", "B"),
    literal=jax_port("jacobi_1d", "literal"),
    idiomatic=jax_port("jacobi_1d", "idiomatic"),
)
