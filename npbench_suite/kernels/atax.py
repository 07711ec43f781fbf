"""atax: A transpose times A times x."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((4, 3), (5, 7), (6, 2))


def kernel(A, x):
    return (A @ x) @ A


def initialize(M: int, N: int) -> Arguments:
    x = field(lambda i: 1 + i / N, N)
    A = field(lambda i, j: np.mod(i + j, N) / (5 * M), M, N)
    return {"A": A, "x": x}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    m, n = pick(SIZES, size)
    return {"A": normal(rng, m, n), "x": normal(rng, n)}


KERNEL = Kernel(
    name="atax",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "x"),
    literal=jax_port("atax", "literal"),
    idiomatic=jax_port("atax", "idiomatic"),
)
