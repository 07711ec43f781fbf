"""Azimuthal integration: mean of the data per bin of the radius, by histograms."""

import numpy as np

from npbench_suite.data import normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((30, 4), (17, 3), (45, 5))


def azimint_hist(data, radius, npt):
    histu = np.histogram(radius, npt)[0]
    histw = np.histogram(radius, npt, weights=data)[0]
    return histw / histu


def initialize(N: int, npt: int) -> Arguments:
    rng = seeded()
    return {"data": rng.random(N), "radius": rng.random(N), "npt": npt}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n, npt = pick(SIZES, size)
    # One radius near the middle of every bin keeps all bins filled.
    radius = np.concatenate([(np.arange(npt) + 0.5) / npt, rng.random(n - npt)])
    return {"data": normal(rng, n), "radius": rng.permutation(radius), "npt": npt}


KERNEL = Kernel(
    name="azimint_hist",
    program=azimint_hist,
    initialize=initialize,
    sample=sample,
    wrt=("data",),
    literal=jax_port("azimint_hist", "literal"),
    idiomatic=jax_port("azimint_hist", "idiomatic"),
    gradient="a.e.",
    notes="The radius only selects bins: its gradient is 0 almost everywhere. An empty bin gives NaN.",
)
