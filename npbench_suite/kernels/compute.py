"""compute: elementwise clipping and scaling, with float64 data."""

import numpy as np

from npbench_suite.data import pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4), (5, 2), (6, 7))


def compute(array_1, array_2, a, b, c):
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


def initialize(M: int, N: int) -> Arguments:
    rng = seeded()
    array_1 = rng.uniform(0, 1000, size=(M, N))
    array_2 = rng.uniform(0, 1000, size=(M, N))
    return {"array_1": array_1, "array_2": array_2, "a": 4.0, "b": 3.0, "c": 9.0}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    m, n = pick(SIZES, size)
    a, b, c = (float(value) for value in rng.uniform(1, 5, 3))
    return {"array_1": rng.uniform(-2, 14, (m, n)), "array_2": rng.uniform(0, 5, (m, n)), "a": a, "b": b, "c": c}


KERNEL = Kernel(
    name="compute",
    program=compute,
    initialize=initialize,
    sample=sample,
    wrt=("array_1", "array_2"),
    scalars=("a", "b", "c"),
    literal=jax_port("compute", "literal"),
    idiomatic=jax_port("compute", "idiomatic"),
    gradient="as float",
    notes="float64 data: the draws of the integer program before truncation",
)
