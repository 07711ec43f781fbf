"""fdtd_2d: finite differences in time for a 2-D electromagnetic field, in place."""

import numpy as np

from npbench_suite.data import field, normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((2, 4, 3), (3, 5, 7), (4, 6, 5))


def kernel(TMAX, ex, ey, hz, _fict_):
    for t in range(TMAX):
        ey[0, :] = _fict_[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def initialize(TMAX: int, NX: int, NY: int) -> Arguments:
    ex = field(lambda i, j: i * (j + 1) / NX, NX, NY)
    ey = field(lambda i, j: i * (j + 2) / NY, NX, NY)
    hz = field(lambda i, j: i * (j + 3) / NX, NX, NY)
    return {"TMAX": TMAX, "ex": ex, "ey": ey, "hz": hz, "_fict_": field(lambda t: t, TMAX)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    steps, nx, ny = pick(SIZES, size)
    ex, ey, hz = normal(rng, nx, ny), normal(rng, nx, ny), normal(rng, nx, ny)
    return {"TMAX": steps, "ex": ex, "ey": ey, "hz": hz, "_fict_": normal(rng, steps)}


KERNEL = Kernel(
    name="fdtd_2d",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("ex", "ey", "hz", "_fict_"),
    output=("ex", "ey", "hz"),
    literal=jax_port("fdtd_2d", "literal"),
    idiomatic=jax_port("fdtd_2d", "idiomatic"),
)
