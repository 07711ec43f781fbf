"""Azimuthal integration: mean of the data per bin of the radius, one mask per bin."""

import numpy as np

from npbench_suite.data import normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((30, 4), (17, 3), (45, 5))


def azimint_naive(data, radius, npt):
    rmax = radius.max()
    res = np.zeros(npt, dtype=np.float64)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        mask_r12 = np.logical_and(r1 <= radius, radius < r2)
        values_r12 = data[mask_r12]
        res[i] = values_r12.mean()
    return res


def initialize(N: int, npt: int) -> Arguments:
    rng = seeded()
    return {"data": rng.random(N), "radius": rng.random(N), "npt": npt}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n, npt = pick(SIZES, size)
    # One radius near the middle of every bin keeps all bins filled.
    radius = np.concatenate([(np.arange(npt) + 0.5) / npt, rng.random(n - npt)])
    return {"data": normal(rng, n), "radius": rng.permutation(radius), "npt": npt}


KERNEL = Kernel(
    name="azimint_naive",
    program=azimint_naive,
    initialize=initialize,
    sample=sample,
    wrt=("data",),
    literal=jax_port("azimint_naive", "literal"),
    idiomatic=jax_port("azimint_naive", "idiomatic"),
    matrix=jax_port("azimint_naive", "matrix"),
    gradient="a.e.",
    notes="The radius only selects bins: its gradient is 0 almost everywhere. An empty bin gives NaN.",
)
