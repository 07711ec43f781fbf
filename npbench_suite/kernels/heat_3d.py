"""heat_3d: heat equation on a cube, double buffer."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4), (4, 5), (2, 6))


def kernel(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2])
            + B[1:-1, 1:-1, 1:-1]
        )


def initialize(TSTEPS: int, N: int) -> Arguments:
    A = field(lambda i, j, k: (i + j + (N - k)) * 10 / N, N, N, N)
    return {"TSTEPS": TSTEPS, "A": A, "B": A.copy()}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    steps, n = pick(SIZES, size)
    return {"TSTEPS": steps, "A": normal(rng, n, n + 1, n + 2), "B": normal(rng, n, n + 1, n + 2)}


KERNEL = Kernel(
    name="heat_3d",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "B"),
    output=("A", "B"),
    literal=jax_port("heat_3d", "literal"),
    idiomatic=jax_port("heat_3d", "idiomatic"),
    notes="the initial data are a fixed point: check with samples",
)
