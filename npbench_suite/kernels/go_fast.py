"""A matrix plus the sum of the hyperbolic tangents of its diagonal."""

import numpy as np

from npbench_suite.data import normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (4, 2, 7)


def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def initialize(N: int) -> Arguments:
    return {"a": seeded().random((N, N))}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    return {"a": normal(rng, n, n)}


KERNEL = Kernel(
    name="go_fast",
    program=go_fast,
    initialize=initialize,
    sample=sample,
    wrt=("a",),
    literal=jax_port("go_fast", "literal"),
    idiomatic=jax_port("go_fast", "idiomatic"),
)
