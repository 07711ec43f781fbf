"""gesummv: the sum of two matrix-vector products."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 5, 7)


def kernel(alpha, beta, A, B, x):
    return alpha * A @ x + beta * B @ x


def initialize(N: int) -> Arguments:
    A = field(lambda i, j: np.mod(i * j + 1, N) / N, N, N)
    B = field(lambda i, j: np.mod(i * j + 2, N) / N, N, N)
    x = field(lambda i: np.mod(i, N) / N, N)
    return {"alpha": 1.5, "beta": 1.2, "A": A, "B": B, "x": x}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    scalars = {"alpha": 1.0 + rng.random(), "beta": 1.0 + rng.random()}
    return {**scalars, "A": normal(rng, n, n), "B": normal(rng, n, n), "x": normal(rng, n)}


KERNEL = Kernel(
    name="gesummv",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "B", "x"),
    scalars=("alpha", "beta"),
    literal=jax_port("gesummv", "literal"),
    idiomatic=jax_port("gesummv", "idiomatic"),
)
