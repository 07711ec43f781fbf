"""correlation: correlation matrix of the columns; leaves the data standardised."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 5), (4, 7), (6, 9))


def kernel(M, float_n, data):
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float_n) * stddev
    corr = np.eye(M, dtype=data.dtype)
    for i in range(M - 1):
        corr[i + 1:M, i] = corr[i, i + 1:M] = data[:, i] @ data[:, i + 1:M]
    return corr


def initialize(M: int, N: int) -> Arguments:
    return {"M": M, "float_n": float(N), "data": field(lambda i, j: i * j / M + i, N, M)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    m, n = pick(SIZES, size)
    data = normal(rng, n, m)
    if size % len(SIZES) == 1:
        data[:, -1] *= 0.01  # a column whose deviation is below the threshold
    return {"M": m, "float_n": float(n), "data": data}


KERNEL = Kernel(
    name="correlation",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("data",),
    scalars=("float_n",),
    literal=jax_port("correlation", "literal"),
    idiomatic=jax_port("correlation", "idiomatic"),
    gradient="a.e.",
    notes="the initial data have proportional columns: the plain sum is at a maximum there",
)
