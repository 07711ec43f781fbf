"""LeNet-5: two convolutions with pooling, three dense layers."""

import numpy as np

from npbench_suite.data import normal, pick, seeded, uniform32
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((2, 17, 20), (1, 16, 18), (3, 19, 16))
WEIGHTS = (
    "conv1", "conv1bias", "conv2", "conv2bias", "fc1w", "fc1b", "fc2w", "fc2b", "fc3w", "fc3b",
)


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


def maxpool2d(x):
    output = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]), dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


def lenet5(input, conv1, conv1bias, conv2, conv2bias, fc1w, fc1b, fc2w, fc2b, fc3w, fc3b, N, C_before_fc1):
    x = relu(conv2d(input, conv1) + conv1bias)
    x = maxpool2d(x)
    x = relu(conv2d(x, conv2) + conv2bias)
    x = maxpool2d(x)
    x = np.reshape(x, (N, C_before_fc1))
    x = relu(x @ fc1w + fc1b)
    x = relu(x @ fc2w + fc2b)
    return x @ fc3w + fc3b


def _shapes(n: int, h: int, w: int) -> dict[str, tuple[int, ...]]:
    flat = 16 * (((h - 4) // 2 - 4) // 2) * (((w - 4) // 2 - 4) // 2)
    weights = ((5, 5, 1, 6), (6,), (5, 5, 6, 16), (16,), (flat, 120), (120,), (120, 84), (84,), (84, 10), (10,))
    return {"input": (n, h, w, 1), **dict(zip(WEIGHTS, weights, strict=True))}


def initialize(N: int, H: int, W: int) -> Arguments:
    rng = seeded()
    shapes = _shapes(N, H, W)
    return {
        **{name: uniform32(rng, *shape) for name, shape in shapes.items()},
        "N": N,
        "C_before_fc1": shapes["fc1w"][0],
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n, h, w = pick(SIZES, size)
    shapes = _shapes(n, h, w)
    # Centred weights, scaled by the number of terms per sum, let relu pass about half.
    arrays = {name: normal(rng, *shape) / np.sqrt(np.prod(shape[:-1])) for name, shape in shapes.items()}
    return {**arrays, "input": normal(rng, n, h, w, 1), "N": n, "C_before_fc1": shapes["fc1w"][0]}


KERNEL = Kernel(
    name="lenet",
    program=lenet5,
    initialize=initialize,
    sample=sample,
    wrt=("input", *WEIGHTS),
    literal=jax_port("lenet", "literal"),
    idiomatic=jax_port("lenet", "idiomatic"),
    gradient="a.e.",
    tolerance=1e-5,
    notes="Single precision in the presets, double in samples. "
    "The all-positive data of the presets never meet a kink of relu.",
)
