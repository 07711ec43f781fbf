"""Vertical advection of a weather model: a tridiagonal solve along k for every column."""

import numpy as np

from npbench_suite.data import normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 2, 4), (2, 4, 6), (4, 3, 2))
BET_M = 0.5
BET_P = 0.5


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    I, J, K = utens_stage.shape[0], utens_stage.shape[1], utens_stage.shape[2]
    ccol = np.empty((I, J, K), dtype=utens_stage.dtype)
    dcol = np.empty((I, J, K), dtype=utens_stage.dtype)
    data_col = np.empty((I, J), dtype=utens_stage.dtype)

    gcv = 0.25 * (wcon[1:, :, 1] + wcon[:-1, :, 1])
    ccol[:, :, 0] = gcv * BET_P
    bcol = dtr_stage - ccol[:, :, 0]
    correction_term = -gcv * BET_M * (u_stage[:, :, 1] - u_stage[:, :, 0])
    dcol[:, :, 0] = dtr_stage * u_pos[:, :, 0] + utens[:, :, 0] + utens_stage[:, :, 0] + correction_term
    divided = 1.0 / bcol
    ccol[:, :, 0] = ccol[:, :, 0] * divided
    dcol[:, :, 0] = dcol[:, :, 0] * divided

    for k in range(1, K - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        acol = gav * BET_P
        ccol[:, :, k] = gcv * BET_P
        bcol = dtr_stage - acol - ccol[:, :, k]
        correction_term = -gav * BET_M * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - gcv * BET_M * (
            u_stage[:, :, k + 1] - u_stage[:, :, k]
        )
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided

    gav = -0.25 * (wcon[1:, :, K - 1] + wcon[:-1, :, K - 1])
    acol = gav * BET_P
    bcol = dtr_stage - acol
    correction_term = -gav * BET_M * (u_stage[:, :, K - 2] - u_stage[:, :, K - 1])
    dcol[:, :, K - 1] = dtr_stage * u_pos[:, :, K - 1] + utens[:, :, K - 1] + utens_stage[:, :, K - 1] + correction_term
    divided = 1.0 / (bcol - ccol[:, :, K - 2] * acol)
    dcol[:, :, K - 1] = (dcol[:, :, K - 1] - dcol[:, :, K - 2] * acol) * divided

    data_col[:] = dcol[:, :, K - 1]
    utens_stage[:, :, K - 1] = dtr_stage * (data_col - u_pos[:, :, K - 1])
    for k in range(K - 2, -1, -1):
        data_col[:] = dcol[:, :, k] - ccol[:, :, k] * data_col
        utens_stage[:, :, k] = dtr_stage * (data_col - u_pos[:, :, k])


def initialize(I: int, J: int, K: int) -> Arguments:
    rng = seeded()
    return {
        "utens_stage": rng.random((I, J, K)),
        "u_stage": rng.random((I, J, K)),
        "wcon": rng.random((I + 1, J, K)),
        "u_pos": rng.random((I, J, K)),
        "utens": rng.random((I, J, K)),
        "dtr_stage": 3.0 / 20.0,
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    i, j, k = pick(SIZES, size)
    return {
        "utens_stage": normal(rng, i, j, k),
        "u_stage": normal(rng, i, j, k),
        "wcon": normal(rng, i + 1, j, k),
        "u_pos": normal(rng, i, j, k),
        "utens": normal(rng, i, j, k),
        "dtr_stage": 2.0 + rng.random(),
    }


KERNEL = Kernel(
    name="vadv",
    program=vadv,
    initialize=initialize,
    sample=sample,
    wrt=("utens_stage", "u_stage", "wcon", "u_pos", "utens"),
    scalars=("dtr_stage",),
    output="utens_stage",
    literal=jax_port("vadv", "literal"),
    idiomatic=jax_port("vadv", "idiomatic"),
    tolerance=1e-6,
    notes="dtr_stage = 0.15 of the presets lets pivots come close to 0; samples use 2 and more. Against derivatives in "
    "extended precision the worst element of preset S (wcon) is off by 2e-7 here and by 5e-7 in JAX.",
)
