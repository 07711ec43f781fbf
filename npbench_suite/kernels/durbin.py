"""durbin: Levinson-Durbin recursion for a Toeplitz system."""

import numpy as np

from npbench_suite.data import field, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 6, 9)


def kernel(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def initialize(N: int) -> Arguments:
    return {"r": field(lambda i: N + 1 - i, N)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    return {"r": (rng.random(n) - 0.5) / n}


KERNEL = Kernel(
    name="durbin",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("r",),
    literal=jax_port("durbin", "literal"),
    idiomatic=jax_port("durbin", "idiomatic"),
    tolerance=1e-6,
    notes="Against derivatives in extended precision the worst element of preset S is off by 3e-8 here, 9e-7 in JAX.",
)
