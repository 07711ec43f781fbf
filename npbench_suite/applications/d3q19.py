"""d3q19: lattice-Boltzmann flow in three dimensions with nineteen velocities."""

import numpy as np

from npbench_suite.applications.application import Application, Arguments

VELOCITIES = tuple((x, y, z) for x in (0, 1, -1) for y in (0, 1, -1) for z in (0, 1, -1)
                   if abs(x) + abs(y) + abs(z) < 3)
WEIGHTS = tuple({0: 1 / 3, 1: 1 / 18, 2: 1 / 36}[abs(x) + abs(y) + abs(z)] for x, y, z in VELOCITIES)


def flow(f, omega, steps):
    """Collide (BGK with a relaxation rate per cell) and stream: a sum over what has moved at the end."""
    for _ in range(steps):
        rho = np.sum(f, axis=0)
        ux = np.zeros(rho.shape)
        uy = np.zeros(rho.shape)
        uz = np.zeros(rho.shape)
        for i, (cx, cy, cz) in enumerate(VELOCITIES):
            ux += cx * f[i]
            uy += cy * f[i]
            uz += cz * f[i]
        ux, uy, uz = ux / rho, uy / rho, uz / rho
        square = 1.5 * (ux * ux + uy * uy + uz * uz)
        for i, (cx, cy, cz) in enumerate(VELOCITIES):
            cu = 3.0 * (cx * ux + cy * uy + cz * uz)
            equilibrium = WEIGHTS[i] * rho * (1.0 + cu + 0.5 * cu * cu - square)
            after = f[i] + omega * (equilibrium - f[i])
            f[i] = np.roll(after, (cx, cy, cz), axis=(0, 1, 2))
    rho = np.sum(f, axis=0)
    shear = np.roll(rho, 1, axis=0) - rho
    return np.sum(f[1:] ** 2) + np.sum(shear**2)


def arguments(n: int, steps: int) -> Arguments:
    rng = np.random.default_rng(31)
    f = np.array(WEIGHTS)[:, None, None, None] * (1.0 + 0.05 * rng.random((19, n, n, n)))
    return {"f": f, "omega": 1.0 + 0.5 * rng.random((n, n, n)), "steps": steps}


APPLICATION = Application(
    name="d3q19",
    program=flow,
    arguments=arguments,
    wrt=("f", "omega"),
    sizes={"tiny": {"n": 4, "steps": 2}, "usual": {"n": 32, "steps": 10}},
    about="Periodic lattice-Boltzmann flow in three dimensions: Qian, d'Humieres and Lallemand (1992).",
)
