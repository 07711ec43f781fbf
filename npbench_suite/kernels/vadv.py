"""vadv: vertical advection, a tridiagonal solve per column."""

import numpy as np

from npbench_suite.data import normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4, 5), (2, 5, 3), (4, 2, 2))
BET_M = 0.5
BET_P = 0.5


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    I, J, K = utens_stage.shape[0], utens_stage.shape[1], utens_stage.shape[2]
    ccol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    dcol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    data_col = np.ndarray((I, J), dtype=utens_stage.dtype)

    for k in range(1):
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        cs = gcv * BET_M
        ccol[:, :, k] = gcv * BET_P
        bcol = dtr_stage - ccol[:, :, k]
        correction_term = -cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        divided = 1.0 / bcol
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = dcol[:, :, k] * divided

    for k in range(1, K - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        as_ = gav * BET_M
        cs = gcv * BET_M
        acol = gav * BET_P
        ccol[:, :, k] = gcv * BET_P
        bcol = dtr_stage - acol - ccol[:, :, k]
        correction_term = (-as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k])
                           - cs * (u_stage[:, :, k + 1] - u_stage[:, :, k]))
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided

    for k in range(K - 1, K):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        as_ = gav * BET_M
        acol = gav * BET_P
        bcol = dtr_stage - acol
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided

    for k in range(K - 1, K - 2, -1):
        datacol = dcol[:, :, k]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])

    for k in range(K - 2, -1, -1):
        datacol = dcol[:, :, k] - ccol[:, :, k] * data_col[:, :]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])


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
    fields = {name: normal(rng, i, j, k) for name in ("utens_stage", "u_stage", "wcon", "u_pos", "utens")}
    # A large dtr_stage and a small wcon keep the pivots away from 0.
    return {**fields, "wcon": rng.random((i + 1, j, k)), "dtr_stage": 1.5 + rng.random()}


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
    notes="pivots of the initial data come close to 0: a few columns have large derivatives",
)
