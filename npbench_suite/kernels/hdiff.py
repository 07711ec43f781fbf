"""Horizontal diffusion of a weather model: Laplacian, limited fluxes, their divergence."""

import numpy as np

from npbench_suite.data import normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4, 2), (5, 2, 3), (4, 6, 5))


def hdiff(in_field, out_field, coeff):
    I, J = out_field.shape[0], out_field.shape[1]
    lap_field = 4.0 * in_field[1 : I + 3, 1 : J + 3, :] - (
        in_field[2 : I + 4, 1 : J + 3, :]
        + in_field[0 : I + 2, 1 : J + 3, :]
        + in_field[1 : I + 3, 2 : J + 4, :]
        + in_field[1 : I + 3, 0 : J + 2, :]
    )

    res = lap_field[1:, 1 : J + 1, :] - lap_field[:-1, 1 : J + 1, :]
    flx_field = np.where(res * (in_field[2 : I + 3, 2 : J + 2, :] - in_field[1 : I + 2, 2 : J + 2, :]) > 0, 0, res)

    res = lap_field[1 : I + 1, 1:, :] - lap_field[1 : I + 1, :-1, :]
    fly_field = np.where(res * (in_field[2 : I + 2, 2 : J + 3, :] - in_field[2 : I + 2, 1 : J + 2, :]) > 0, 0, res)

    out_field[:] = in_field[2 : I + 2, 2 : J + 2, :] - coeff * (
        flx_field[1:, :, :] - flx_field[:-1, :, :] + fly_field[:, 1:, :] - fly_field[:, :-1, :]
    )


def initialize(I: int, J: int, K: int) -> Arguments:
    rng = seeded()
    return {
        "in_field": rng.random((I + 4, J + 4, K)),
        "out_field": rng.random((I, J, K)),
        "coeff": rng.random((I, J, K)),
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    i, j, k = pick(SIZES, size)
    shape = (i + 4, j + 4, k)
    # All values differ by 0.1 at least: the flux jumps where neighbours are equal.
    return {
        "in_field": 0.1 * rng.permutation(np.prod(shape)).reshape(shape) + 0.02 * rng.random(shape),
        "out_field": normal(rng, i, j, k),
        "coeff": normal(rng, i, j, k),
    }


KERNEL = Kernel(
    name="hdiff",
    program=hdiff,
    initialize=initialize,
    sample=sample,
    wrt=("in_field", "coeff"),
    output="out_field",
    literal=jax_port("hdiff", "literal"),
    idiomatic=jax_port("hdiff", "idiomatic"),
    gradient="a.e.",
    notes="The flux limiter selects by the sign of a product of differences.",
)
