"""k3mm: the product of four matrices."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4, 5, 2, 6), (5, 2, 3, 4, 3), (2, 6, 4, 7, 5))


def kernel(A, B, C, D):
    return A @ B @ C @ D


def initialize(NI: int, NJ: int, NK: int, NL: int, NM: int) -> Arguments:
    A = field(lambda i, j: np.mod(i * j + 1, NI) / (5 * NI), NI, NK)
    B = field(lambda i, j: np.mod(i * (j + 1) + 2, NJ) / (5 * NJ), NK, NJ)
    C = field(lambda i, j: np.mod(i * (j + 3), NL) / (5 * NL), NJ, NM)
    D = field(lambda i, j: np.mod(i * (j + 2) + 2, NK) / (5 * NK), NM, NL)
    return {"A": A, "B": B, "C": C, "D": D}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    ni, nj, nk, nl, nm = pick(SIZES, size)
    A, B, C, D = normal(rng, ni, nk), normal(rng, nk, nj), normal(rng, nj, nm), normal(rng, nm, nl)
    return {"A": A, "B": B, "C": C, "D": D}


KERNEL = Kernel(
    name="k3mm",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "B", "C", "D"),
    literal=jax_port("k3mm", "literal"),
    idiomatic=jax_port("k3mm", "idiomatic"),
)
