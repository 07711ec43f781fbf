"""Softmax over the last axis of a four-dimensional array."""

import numpy as np

from npbench_suite.data import normal, pick, seeded, uniform32
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((2, 3, 4), (3, 2, 5), (4, 1, 7))


def softmax(x):
    tmp_max = np.max(x, axis=-1, keepdims=True)
    tmp_out = np.exp(x - tmp_max)
    tmp_sum = np.sum(tmp_out, axis=-1, keepdims=True)
    return tmp_out / tmp_sum


def initialize(N: int, H: int, SM: int) -> Arguments:
    return {"x": uniform32(seeded(), N, H, SM, SM)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n, h, sm = pick(SIZES, size)
    return {"x": normal(rng, n, h, sm, sm)}


KERNEL = Kernel(
    name="softmax",
    program=softmax,
    initialize=initialize,
    sample=sample,
    wrt=("x",),
    literal=jax_port("softmax", "literal"),
    idiomatic=jax_port("softmax", "idiomatic"),
    tolerance=1e-5,
    notes="Single precision in the presets, double in samples. Rows of the result add up to 1: the plain sum has "
    "gradient 0.",
)
