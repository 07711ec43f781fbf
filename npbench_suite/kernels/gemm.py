"""gemm: C = alpha A B + beta C, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4, 5), (5, 2, 3), (6, 7, 4))


def kernel(alpha, beta, C, A, B):
    C[:] = alpha * A @ B + beta * C


def initialize(NI: int, NJ: int, NK: int) -> Arguments:
    C = field(lambda i, j: np.mod(i * j + 1, NI) / NI, NI, NJ)
    A = field(lambda i, k: np.mod(i * (k + 1), NK) / NK, NI, NK)
    B = field(lambda k, j: np.mod(k * (j + 2), NJ) / NJ, NK, NJ)
    return {"alpha": 1.5, "beta": 1.2, "C": C, "A": A, "B": B}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    ni, nj, nk = pick(SIZES, size)
    return {
        "alpha": 1.0 + rng.random(),
        "beta": 1.0 + rng.random(),
        "C": normal(rng, ni, nj),
        "A": normal(rng, ni, nk),
        "B": normal(rng, nk, nj),
    }


KERNEL = Kernel(
    name="gemm",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("C", "A", "B"),
    scalars=("alpha", "beta"),
    output="C",
    literal=jax_port("gemm", "literal"),
    idiomatic=jax_port("gemm", "idiomatic"),
)
