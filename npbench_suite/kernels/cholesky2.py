"""cholesky2: the lower triangle replaced by the library's factor, in place."""

import numpy as np

from npbench_suite.data import pick, spd_initial, spd_sample
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 5, 8)


def kernel(A):
    A[:] = np.linalg.cholesky(A) + np.triu(A, k=1)


def initialize(N: int) -> Arguments:
    return {"A": spd_initial(N)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    return {"A": spd_sample(rng, pick(SIZES, size))}


KERNEL = Kernel(
    name="cholesky2",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A",),
    output="A",
    literal=jax_port("cholesky2", "literal"),
    idiomatic=jax_port("cholesky2", "idiomatic"),
    notes="the factorisation reads the lower triangle only: its gradient is not symmetrised",
)
