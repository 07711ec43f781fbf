"""Clip one array and combine it linearly with another, in float64."""

import numpy as np

from npbench_suite.data import normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 5), (6, 4), (7, 8))


def compute(array_1, array_2, a, b, c):
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


def initialize(M: int, N: int) -> Arguments:
    rng = seeded()
    return {
        "array_1": rng.uniform(0, 1000, size=(M, N)),
        "array_2": rng.uniform(0, 1000, size=(M, N)),
        "a": 4.0,
        "b": 3.0,
        "c": 9.0,
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    m, n = pick(SIZES, size)
    return {
        "array_1": rng.uniform(0, 15, size=(m, n)),
        "array_2": normal(rng, m, n),
        "a": 1.0 + rng.random(),
        "b": 1.0 + rng.random(),
        "c": rng.random(),
    }


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
    notes="The integers of NPBench as float64, not truncated, so that no element sits on a kink.",
)
