"""k2mm: D = alpha A B C + beta D, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4, 5, 2), (5, 2, 3, 4), (2, 6, 4, 7))


def kernel(alpha, beta, A, B, C, D):
    D[:] = alpha * A @ B @ C + beta * D


def initialize(NI: int, NJ: int, NK: int, NL: int) -> Arguments:
    A = field(lambda i, j: np.mod(i * j + 1, NI) / NI, NI, NK)
    B = field(lambda i, j: np.mod(i * (j + 1), NJ) / NJ, NK, NJ)
    C = field(lambda i, j: np.mod(i * (j + 3) + 1, NL) / NL, NJ, NL)
    D = field(lambda i, j: np.mod(i * (j + 2), NK) / NK, NI, NL)
    return {"alpha": 1.5, "beta": 1.2, "A": A, "B": B, "C": C, "D": D}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    ni, nj, nk, nl = pick(SIZES, size)
    return {
        "alpha": 1.0 + rng.random(),
        "beta": 1.0 + rng.random(),
        "A": normal(rng, ni, nk),
        "B": normal(rng, nk, nj),
        "C": normal(rng, nj, nl),
        "D": normal(rng, ni, nl),
    }


KERNEL = Kernel(
    name="k2mm",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "B", "C", "D"),
    scalars=("alpha", "beta"),
    output="D",
    literal=jax_port("k2mm", "literal"),
    idiomatic=jax_port("k2mm", "idiomatic"),
)
