"""gemver: rank-two update and two matrix-vector products, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 5, 7)
VECTORS = ("u1", "v1", "u2", "v2", "w", "x", "y", "z")


def kernel(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


def initialize(N: int) -> Arguments:
    A = field(lambda i, j: np.mod(i * j, N) / N, N, N)
    u1 = field(lambda i: i, N)
    step = field(lambda i: (i + 1) / N, N)
    divided = {name: step / divisor for name, divisor in (("u2", 2), ("v1", 4), ("v2", 6), ("y", 8), ("z", 9))}
    vectors = {"u1": u1, "w": np.zeros(N), "x": np.zeros(N), **divided}
    return {"alpha": 1.5, "beta": 1.2, "A": A, **{name: vectors[name] for name in VECTORS}}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    scalars = {"alpha": 1.0 + rng.random(), "beta": 1.0 + rng.random()}
    return {**scalars, "A": normal(rng, n, n), **{name: normal(rng, n) for name in VECTORS}}


KERNEL = Kernel(
    name="gemver",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("A", "u1", "v1", "u2", "v2", "w", "x", "y", "z"),
    scalars=("alpha", "beta"),
    output=("A", "w", "x"),
    literal=jax_port("gemver", "literal"),
    idiomatic=jax_port("gemver", "idiomatic"),
)
