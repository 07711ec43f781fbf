"""Mandelbrot set on a grid, with a mask over the whole grid in every iteration."""

import numpy as np

from npbench_suite.data import pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((4, 5, 6), (6, 3, 4), (5, 7, 8))


def mandelbrot(xmin, xmax, ymin, ymax, xn, yn, maxiter, horizon=2.0):
    X = np.linspace(xmin, xmax, xn)
    Y = np.linspace(ymin, ymax, yn)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(maxiter):
        I = np.less(abs(Z), horizon)
        N[I] = n
        Z[I] = Z[I] ** 2 + C[I]
    N[N == maxiter - 1] = 0
    return Z, N


def initialize(
    xmin: float, xmax: float, XN: int, ymin: float, ymax: float, YN: int, maxiter: int, horizon: float
) -> Arguments:
    return {
        "xmin": xmin, "xmax": xmax, "ymin": ymin, "ymax": ymax,
        "xn": XN, "yn": YN, "maxiter": maxiter, "horizon": horizon,
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    xn, yn, maxiter = pick(SIZES, size)
    shift = 0.05 * rng.random(4)
    # A window across the main cardioid and its surroundings, few iterations.
    return {
        "xmin": -0.5 + shift[0], "xmax": 0.6 + shift[1], "ymin": -0.4 + shift[2], "ymax": 0.9 + shift[3],
        "xn": xn, "yn": yn, "maxiter": maxiter, "horizon": 2.0,
    }


KERNEL = Kernel(
    name="mandelbrot1",
    program=mandelbrot,
    initialize=initialize,
    sample=sample,
    wrt=(),
    scalars=("xmin", "xmax", "ymin", "ymax"),
    output=0,
    literal=jax_port("mandelbrot1", "literal"),
    idiomatic=jax_port("mandelbrot1", "idiomatic"),
    gradient="a.e.",
    tolerance=1e-6,
    notes="No array to differentiate, only the corners of the window. At the presets points near the boundary of the "
    "set make the derivative huge.",
)
