"""covariance: covariance matrix of the columns, row by row; leaves the data centred."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 5), (4, 7), (6, 4))


def kernel(M, float_n, data):
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((M, M), dtype=data.dtype)
    for i in range(M):
        cov[i:M, i] = cov[i, i:M] = data[:, i] @ data[:, i:M] / (float_n - 1.0)
    return cov


def initialize(M: int, N: int) -> Arguments:
    return {"M": M, "float_n": float(N), "data": field(lambda i, j: i * j / M, N, M)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    m, n = pick(SIZES, size)
    return {"M": m, "float_n": float(n), "data": normal(rng, n, m)}


KERNEL = Kernel(
    name="covariance",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("data",),
    scalars=("float_n",),
    literal=jax_port("covariance", "literal"),
    idiomatic=jax_port("covariance", "idiomatic"),
)
