"""Three-layer perceptron with a softmax at the end."""

import numpy as np

from npbench_suite.data import normal, pick, seeded, uniform32
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((2, 3, 5, 4, 6), (4, 2, 3, 6, 5), (3, 6, 4, 5, 2))


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    tmp_max = np.max(x, axis=-1, keepdims=True)
    tmp_out = np.exp(x - tmp_max)
    tmp_sum = np.sum(tmp_out, axis=-1, keepdims=True)
    return tmp_out / tmp_sum


def mlp(input, w1, b1, w2, b2, w3, b3):
    x = relu(input @ w1 + b1)
    x = relu(x @ w2 + b2)
    x = softmax(x @ w3 + b3)
    return x


def initialize(C_in: int, N: int, S0: int, S1: int, S2: int) -> Arguments:
    rng = seeded()
    # NPBench takes the input from an unseeded generator; a seed makes runs comparable.
    data = np.random.default_rng(0).random((N, C_in)).astype(np.float32)
    return {
        "input": data,
        "w1": uniform32(rng, C_in, S0),
        "b1": uniform32(rng, S0),
        "w2": uniform32(rng, S0, S1),
        "b2": uniform32(rng, S1),
        "w3": uniform32(rng, S1, S2),
        "b3": uniform32(rng, S2),
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n, c_in, s0, s1, s2 = pick(SIZES, size)
    return {
        "input": normal(rng, n, c_in),
        "w1": normal(rng, c_in, s0),
        "b1": normal(rng, s0),
        "w2": 0.5 * normal(rng, s0, s1),
        "b2": normal(rng, s1),
        "w3": 0.5 * normal(rng, s1, s2),
        "b3": normal(rng, s2),
    }


KERNEL = Kernel(
    name="mlp",
    program=mlp,
    initialize=initialize,
    sample=sample,
    wrt=("input", "w1", "b1", "w2", "b2", "w3", "b3"),
    literal=jax_port("mlp", "literal"),
    idiomatic=jax_port("mlp", "idiomatic"),
    gradient="a.e.",
    tolerance=1e-5,
    notes="Single precision in the presets, double in samples. Rows of the result add up to 1: the plain sum has "
    "gradient 0, and the all-positive weights of the presets saturate the softmax.",
)
