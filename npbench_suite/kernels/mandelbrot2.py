"""Mandelbrot set on a grid, keeping only the points that have not escaped yet."""

import numpy as np

from npbench_suite.data import pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((4, 5, 6), (6, 3, 4), (5, 7, 8))


def mandelbrot(xmin, xmax, ymin, ymax, xn, yn, itermax, horizon=2.0):
    Xi, Yi = np.mgrid[0:xn, 0:yn]
    X = np.linspace(xmin, xmax, xn)[Xi]
    Y = np.linspace(ymin, ymax, yn)[Yi]
    C = X + Y * 1j
    N_ = np.zeros(C.shape, dtype=np.int64)
    Z_ = np.zeros(C.shape, dtype=np.complex128)
    Xi = Xi.reshape(xn * yn)
    Yi = Yi.reshape(xn * yn)
    C = C.reshape(xn * yn)

    Z = np.zeros(C.shape, dtype=np.complex128)
    for i in range(itermax):
        if not len(Z):
            break
        Z = Z * Z + C
        escaped = abs(Z) > horizon
        N_[Xi[escaped], Yi[escaped]] = i + 1
        Z_[Xi[escaped], Yi[escaped]] = Z[escaped]
        remaining = np.logical_not(escaped)
        Z, C = Z[remaining], C[remaining]
        Xi, Yi = Xi[remaining], Yi[remaining]
    return Z_.T, N_.T


def initialize(
    xmin: float, xmax: float, XN: int, ymin: float, ymax: float, YN: int, maxiter: int, horizon: float
) -> Arguments:
    return {
        "xmin": xmin, "xmax": xmax, "ymin": ymin, "ymax": ymax,
        "xn": XN, "yn": YN, "itermax": maxiter, "horizon": horizon,
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    xn, yn, itermax = pick(SIZES, size)
    shift = 0.05 * rng.random(4)
    # Most points of this window escape, one or the other never.
    return {
        "xmin": -0.5 + shift[0], "xmax": 1.3 + shift[1], "ymin": -0.9 + shift[2], "ymax": 1.6 + shift[3],
        "xn": xn, "yn": yn, "itermax": itermax, "horizon": 2.0,
    }


KERNEL = Kernel(
    name="mandelbrot2",
    program=mandelbrot,
    initialize=initialize,
    sample=sample,
    wrt=(),
    scalars=("xmin", "xmax", "ymin", "ymax"),
    output=0,
    literal=jax_port("mandelbrot2", "literal"),
    idiomatic=jax_port("mandelbrot2", "idiomatic"),
    gradient="a.e.",
    tolerance=1e-6,
    notes="No array to differentiate, only the corners of the window. At the presets points near the boundary of the "
    "set make the derivative huge.",
)
