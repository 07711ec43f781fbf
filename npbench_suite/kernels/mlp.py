"""mlp: three dense layers with relu, relu and softmax."""

import numpy as np

from npbench_suite.data import normal, pick, seeded, uniform32
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 2, 4, 5, 6), (2, 5, 6, 3, 4), (4, 3, 5, 7, 2))


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
    arguments: Arguments = {"input": np.random.default_rng().random((N, C_in)).astype(np.float32)}
    for layer, (m, n) in enumerate(((C_in, S0), (S0, S1), (S1, S2)), start=1):
        arguments[f"w{layer}"] = uniform32(rng, m, n)
        arguments[f"b{layer}"] = uniform32(rng, n)
    return arguments


def sample(rng: np.random.Generator, size: int) -> Arguments:
    c_in, n, s0, s1, s2 = pick(SIZES, size)
    arguments: Arguments = {"input": rng.random((n, c_in))}
    for layer, (rows, columns) in enumerate(((c_in, s0), (s0, s1), (s1, s2)), start=1):
        arguments[f"w{layer}"] = normal(rng, rows, columns) / np.sqrt(rows)
        arguments[f"b{layer}"] = 0.5 * normal(rng, columns)
    return arguments


KERNEL = Kernel(
    name="mlp",
    program=mlp,
    initialize=initialize,
    sample=sample,
    wrt=("input", "w1", "b1", "w2", "b2", "w3", "b3"),
    literal=jax_port("mlp", "literal"),
    idiomatic=jax_port("mlp", "idiomatic"),
    gradient="a.e.",
    tolerance=1e-4,
    notes="single precision initial data that saturate the softmax; double precision samples; the input of the "
    "presets is drawn from an unseeded generator, as in NPBench",
)
