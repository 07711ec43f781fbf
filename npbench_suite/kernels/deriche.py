"""deriche: recursive edge filter, causal and anticausal along both axes."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((4, 3), (5, 8), (7, 6))


def kernel(alpha, imgIn):
    decay = np.exp(-alpha)
    k = (1.0 - decay) * (1.0 - decay) / (1.0 + alpha * decay - np.exp(2.0 * alpha))
    a1 = k
    a2 = k * decay * (alpha - 1.0)
    a3 = k * decay * (alpha + 1.0)
    a4 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    W, H = imgIn.shape

    y1 = np.empty_like(imgIn)
    y1[:, 0] = a1 * imgIn[:, 0]
    y1[:, 1] = a1 * imgIn[:, 1] + a2 * imgIn[:, 0] + b1 * y1[:, 0]
    for j in range(2, H):
        y1[:, j] = a1 * imgIn[:, j] + a2 * imgIn[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]

    y2 = np.empty_like(imgIn)
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * imgIn[:, -1]
    for j in range(H - 3, -1, -1):
        y2[:, j] = a3 * imgIn[:, j + 1] + a4 * imgIn[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]

    imgOut = y1 + y2

    y1[0, :] = a1 * imgOut[0, :]
    y1[1, :] = a1 * imgOut[1, :] + a2 * imgOut[0, :] + b1 * y1[0, :]
    for i in range(2, W):
        y1[i, :] = a1 * imgOut[i, :] + a2 * imgOut[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]

    y2[-1, :] = 0.0
    y2[-2, :] = a3 * imgOut[-1, :]
    for i in range(W - 3, -1, -1):
        y2[i, :] = a3 * imgOut[i + 1, :] + a4 * imgOut[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]

    imgOut[:] = y1 + y2
    return imgOut


def initialize(W: int, H: int) -> Arguments:
    return {"alpha": 0.25, "imgIn": field(lambda i, j: np.mod(313 * i + 991 * j, 65536) / 65535.0, W, H)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    w, h = pick(SIZES, size)
    return {"alpha": 0.2 + 0.2 * rng.random(), "imgIn": normal(rng, w, h)}


KERNEL = Kernel(
    name="deriche",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("imgIn",),
    scalars=("alpha",),
    literal=jax_port("deriche", "literal"),
    idiomatic=jax_port("deriche", "idiomatic"),
)
