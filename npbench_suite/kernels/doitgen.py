"""doitgen: the last axis of a 3-D array multiplied by a matrix, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((2, 3, 4), (3, 2, 5), (4, 5, 3))


def kernel(NR, NQ, NP, A, C4):
    A[:] = np.reshape(np.reshape(A, (NR, NQ, 1, NP)) @ C4, (NR, NQ, NP))


def initialize(NR: int, NQ: int, NP: int) -> Arguments:
    A = field(lambda i, j, k: np.mod(i * j + k, NP) / NP, NR, NQ, NP)
    C4 = field(lambda i, j: np.mod(i * j, NP) / NP, NP, NP)
    return {"NR": NR, "NQ": NQ, "NP": NP, "A": A, "C4": C4}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    nr, nq, np_ = pick(SIZES, size)
    return {"NR": nr, "NQ": nq, "NP": np_, "A": normal(rng, nr, nq, np_), "C4": normal(rng, np_, np_)}


KERNEL = Kernel(
    name="doitgen",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "C4"),
    output="A",
    literal=jax_port("doitgen", "literal"),
    idiomatic=jax_port("doitgen", "idiomatic"),
)
