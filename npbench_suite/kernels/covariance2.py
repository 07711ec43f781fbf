"""covariance2: the library's sample covariance of the columns."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 5), (4, 7), (6, 4))


def kernel(M, float_n, data):
    return np.cov(data, rowvar=False)


def initialize(M: int, N: int) -> Arguments:
    return {"M": M, "float_n": float(N), "data": field(lambda i, j: i * j / M, N, M)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    m, n = pick(SIZES, size)
    return {"M": m, "float_n": float(n), "data": normal(rng, n, m)}


KERNEL = Kernel(
    name="covariance2",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("data",),
    literal=jax_port("covariance2", "literal"),
    idiomatic=jax_port("covariance2", "idiomatic"),
)
