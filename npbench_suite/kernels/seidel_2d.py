"""seidel_2d: Gauss-Seidel sweeps of a nine-point average, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4), (4, 6), (2, 9))


def kernel(TSTEPS, N, A):
    for t in range(TSTEPS - 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += (A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:]
                           + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:])
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


def initialize(TSTEPS: int, N: int) -> Arguments:
    return {"TSTEPS": TSTEPS, "N": N, "A": field(lambda i, j: (i * (j + 2) + 2) / N, N, N)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    steps, n = pick(SIZES, size)
    return {"TSTEPS": steps, "N": n, "A": normal(rng, n, n)}


KERNEL = Kernel(
    name="seidel_2d",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A",),
    output="A",
    literal=jax_port("seidel_2d", "literal"),
    idiomatic=jax_port("seidel_2d", "idiomatic"),
    notes="the initial data are a fixed point: check with samples",
)
