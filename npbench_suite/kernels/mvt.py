"""mvt: products with a matrix and its transpose added to two vectors, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 5, 7)


def kernel(x1, x2, y_1, y_2, A):
    x1 += A @ y_1
    x2 += y_2 @ A


def initialize(N: int) -> Arguments:
    x1 = field(lambda i: np.mod(i, N) / N, N)
    x2 = field(lambda i: np.mod(i + 1, N) / N, N)
    y_1 = field(lambda i: np.mod(i + 3, N) / N, N)
    y_2 = field(lambda i: np.mod(i + 4, N) / N, N)
    return {"x1": x1, "x2": x2, "y_1": y_1, "y_2": y_2, "A": field(lambda i, j: np.mod(i * j, N) / N, N, N)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    vectors = {name: normal(rng, n) for name in ("x1", "x2", "y_1", "y_2")}
    return {**vectors, "A": normal(rng, n, n)}


KERNEL = Kernel(
    name="mvt",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("x1", "x2", "y_1", "y_2", "A"),
    output=("x1", "x2"),
    literal=jax_port("mvt", "literal"),
    idiomatic=jax_port("mvt", "idiomatic"),
)
