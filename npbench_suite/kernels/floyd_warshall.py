"""floyd_warshall: all shortest paths, in place, with float64 weights."""

import numpy as np

from npbench_suite.data import field, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 5, 8)


def kernel(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))


def initialize(N: int) -> Arguments:
    path = field(lambda i, j: np.mod(i * j, 7) + 1, N, N)
    i, j = np.indices((N, N))
    for divisor in (7, 11, 13):
        path[(i + j) % divisor == 0] = 999.0
    return {"path": path + seeded().random((N, N))}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    return {"path": 1.0 + 20.0 * rng.random((n, n)) ** 2}


KERNEL = Kernel(
    name="floyd_warshall",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("path",),
    output="path",
    literal=jax_port("floyd_warshall", "literal"),
    idiomatic=jax_port("floyd_warshall", "idiomatic"),
    gradient="as float",
    notes="float64 weights; a random fraction is added to the integer initial data so that no two paths tie",
)
