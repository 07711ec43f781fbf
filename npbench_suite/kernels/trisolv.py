"""trisolv: forward substitution, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 5, 8)


def kernel(L, x, b):
    for i in range(L.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def initialize(N: int) -> Arguments:
    L = field(lambda i, j: (i + N - j + 1) * 2 / N, N, N)
    return {"L": L, "x": np.full(N, -999.0), "b": field(lambda i: i, N)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    return {"L": normal(rng, n, n) + (n + 3.0) * np.eye(n), "x": normal(rng, n), "b": normal(rng, n)}


KERNEL = Kernel(
    name="trisolv",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("L", "x", "b"),
    output="x",
    literal=jax_port("trisolv", "literal"),
    idiomatic=jax_port("trisolv", "idiomatic"),
    matrix=jax_port("trisolv", "matrix"),
    notes="the entry value of x is not read: its gradient is 0",
)
