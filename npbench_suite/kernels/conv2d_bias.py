"""Convolution of images with small filters, plus a bias per output channel."""

import numpy as np

from npbench_suite.data import normal, pick, seeded, uniform32
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((2, 3, 4, 2, 5, 6), (3, 1, 2, 3, 4, 5), (1, 2, 3, 1, 3, 4))


def conv2d(input, weights):
    K = weights.shape[0]
    N = input.shape[0]
    H_out = input.shape[1] - K + 1
    W_out = input.shape[2] - K + 1
    C_out = weights.shape[3]
    output = np.empty((N, H_out, W_out, C_out), dtype=weights.dtype)
    for i in range(H_out):
        for j in range(W_out):
            output[:, i, j, :] = np.sum(
                input[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis, :, :, :, :],
                axis=(1, 2, 3),
            )
    return output


def conv2d_bias(input, weights, bias):
    return conv2d(input, weights) + bias


def initialize(N: int, C_in: int, C_out: int, K: int, H: int, W: int) -> Arguments:
    rng = seeded()
    return {
        "input": uniform32(rng, N, H, W, C_in),
        "weights": uniform32(rng, K, K, C_in, C_out),
        "bias": uniform32(rng, C_out),
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n, c_in, c_out, k, h, w = pick(SIZES, size)
    return {"input": normal(rng, n, h, w, c_in), "weights": normal(rng, k, k, c_in, c_out), "bias": normal(rng, c_out)}


KERNEL = Kernel(
    name="conv2d_bias",
    program=conv2d_bias,
    initialize=initialize,
    sample=sample,
    wrt=("input", "weights", "bias"),
    literal=jax_port("conv2d_bias", "literal"),
    idiomatic=jax_port("conv2d_bias", "idiomatic"),
    tolerance=1e-5,
    notes="Single precision in the presets, double in samples.",
)
