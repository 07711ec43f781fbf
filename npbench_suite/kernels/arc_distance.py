"""arc_distance: great-circle distances between pairs of points."""

import numpy as np

from npbench_suite.data import pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 5, 8)
ANGLES = ("theta_1", "phi_1", "theta_2", "phi_2")


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp = (np.sin((theta_2 - theta_1) / 2) ** 2
            + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2)
    distance_matrix = 2 * np.arctan2(np.sqrt(temp), np.sqrt(1 - temp))
    return distance_matrix


def initialize(N: int) -> Arguments:
    rng = seeded()
    return {name: rng.random(N) for name in ANGLES}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    # The second point lies away from the first: the derivative is singular where they meet.
    theta_1, phi_1 = rng.random(n), rng.random(n)
    return {"theta_1": theta_1, "phi_1": phi_1, "theta_2": theta_1 + 0.2 + rng.random(n), "phi_2": rng.random(n)}


KERNEL = Kernel(
    name="arc_distance",
    program=arc_distance,
    initialize=initialize,
    sample=sample,
    wrt=ANGLES,
    literal=jax_port("arc_distance", "literal"),
    idiomatic=jax_port("arc_distance", "idiomatic"),
)
