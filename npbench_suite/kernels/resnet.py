"""Bottleneck residual block of ResNet-50: three convolutions, each with a batch normalisation."""

import numpy as np

from npbench_suite.data import normal, pick, seeded, uniform32
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4, 5, 2, 3), (4, 3, 2, 4, 2), (5, 2, 4, 3, 1))


def relu(x):
    return np.maximum(x, 0)


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


def batchnorm2d(x, eps=1e-5):
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + eps)


def resnet_basicblock(input, conv1, conv2, conv3):
    padded = np.zeros((input.shape[0], input.shape[1] + 2, input.shape[2] + 2, conv1.shape[3]))
    padded[:, 1:-1, 1:-1, :] = conv2d(input, conv1)
    x = batchnorm2d(padded)
    x = relu(x)

    x = conv2d(x, conv2)
    x = batchnorm2d(x)
    x = relu(x)
    x = conv2d(x, conv3)
    x = batchnorm2d(x)
    return relu(x + input)


def initialize(N: int, W: int, H: int, C1: int, C2: int) -> Arguments:
    rng = seeded()
    return {
        "input": uniform32(rng, N, H, W, C1),
        "conv1": uniform32(rng, 1, 1, C1, C2),
        "conv2": uniform32(rng, 3, 3, C2, C2),
        "conv3": uniform32(rng, 1, 1, C2, C1),
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n, h, w, c1, c2 = pick(SIZES, size)
    return {
        "input": normal(rng, n, h, w, c1),
        "conv1": normal(rng, 1, 1, c1, c2),
        "conv2": normal(rng, 3, 3, c2, c2),
        "conv3": normal(rng, 1, 1, c2, c1),
    }


KERNEL = Kernel(
    name="resnet",
    program=resnet_basicblock,
    initialize=initialize,
    sample=sample,
    wrt=("input", "conv1", "conv2", "conv3"),
    literal=jax_port("resnet", "literal"),
    idiomatic=jax_port("resnet", "idiomatic"),
    gradient="a.e.",
    tolerance=1e-4,
    notes="Single precision in the presets, double in samples. The margin of zeros has standard deviation 0, whose "
    "derivative is 0/0 but does not contribute.",
)
