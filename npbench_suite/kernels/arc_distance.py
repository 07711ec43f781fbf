"""Distance along great circles between pairs of points on the unit sphere."""

import numpy as np

from npbench_suite.data import pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (5, 3, 8)


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp = (
        np.sin((theta_2 - theta_1) / 2) ** 2
        + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    )
    distance_matrix = 2 * np.arctan2(np.sqrt(temp), np.sqrt(1 - temp))
    return distance_matrix


def initialize(N: int) -> Arguments:
    rng = seeded()
    return {name: rng.random(N) for name in ("theta_1", "phi_1", "theta_2", "phi_2")}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    # Well apart, so that the square roots stay away from 0.
    return {
        "theta_1": rng.random(n),
        "phi_1": rng.random(n),
        "theta_2": 1.2 + 0.3 * rng.random(n),
        "phi_2": 1.5 + rng.random(n),
    }


KERNEL = Kernel(
    name="arc_distance",
    program=arc_distance,
    initialize=initialize,
    sample=sample,
    wrt=("theta_1", "phi_1", "theta_2", "phi_2"),
    literal=jax_port("arc_distance", "literal"),
    idiomatic=jax_port("arc_distance", "idiomatic"),
    notes="Singular where two points coincide or are antipodal.",
)
