"""bicg: the two matrix-vector products of a biconjugate gradient step."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((4, 3), (5, 7), (6, 2))


def kernel(A, p, r):
    return r @ A, A @ p


def initialize(M: int, N: int) -> Arguments:
    A = field(lambda i, j: np.mod(i * (j + 1), N) / N, N, M)
    p = field(lambda i: np.mod(i, M) / M, M)
    r = field(lambda i: np.mod(i, N) / N, N)
    return {"A": A, "p": p, "r": r}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n, m = pick(SIZES, size)
    return {"A": normal(rng, n, m), "p": normal(rng, m), "r": normal(rng, n)}


KERNEL = Kernel(
    name="bicg",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "p", "r"),
    output=(0, 1),
    literal=jax_port("bicg", "literal"),
    idiomatic=jax_port("bicg", "idiomatic"),
)
