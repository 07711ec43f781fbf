"""d2q9: lattice-Boltzmann flow in two dimensions with nine velocities."""

import numpy as np

from npbench_suite.applications.application import Application, Arguments

CX = (0, 1, 0, -1, 0, 1, -1, -1, 1)
CY = (0, 0, 1, 0, -1, 1, 1, -1, -1)
WEIGHTS = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)


def flow(f, force, solid, omega, steps):
    """Stream, bounce back at the solid cells, collide (BGK), push to the right: the kinetic energy at the end."""
    c = np.stack((np.array(CX, dtype=float), np.array(CY, dtype=float)))
    opposite = [0, 3, 4, 1, 2, 7, 8, 5, 6]
    for _ in range(steps):
        for i in range(9):
            f[i] = np.roll(np.roll(f[i], CX[i], axis=0), CY[i], axis=1)
        bounced = np.stack([f[k] for k in opposite])
        rho = np.sum(f, axis=0)
        ux = np.tensordot(c[0], f, axes=1) / rho + force / omega
        uy = np.tensordot(c[1], f, axes=1) / rho
        square = 1.5 * (ux**2 + uy**2)
        for i in range(9):
            cu = 3.0 * (CX[i] * ux + CY[i] * uy)
            equilibrium = WEIGHTS[i] * rho * (1.0 + cu + 0.5 * cu**2 - square)
            f[i] = np.where(solid, bounced[i], (1.0 - omega) * f[i] + omega * equilibrium)
    rho = np.sum(f, axis=0)
    ux = np.tensordot(c[0], f, axes=1) / rho
    uy = np.tensordot(c[1], f, axes=1) / rho
    return 0.5 * np.sum(rho * (ux**2 + uy**2))


def arguments(nx: int, ny: int, steps: int) -> Arguments:
    rng = np.random.default_rng(29)
    x, y = np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij")
    f = np.array(WEIGHTS)[:, None, None] * (1.0 + 0.05 * rng.random((9, nx, ny)))
    solid = (x - nx / 4) ** 2 + (y - ny / 2) ** 2 < (ny / 6) ** 2
    return {"f": f, "force": 1e-4 * np.ones((nx, ny)), "solid": solid, "omega": 1.2, "steps": steps}


APPLICATION = Application(
    name="d2q9",
    program=flow,
    arguments=arguments,
    wrt=("f", "force"),
    sizes={"tiny": {"nx": 7, "ny": 6, "steps": 2}, "usual": {"nx": 128, "ny": 96, "steps": 40}},
    about="Lattice-Boltzmann flow around a cylinder: Qian, d'Humieres and Lallemand, Europhys. Lett. 17 (1992).",
)
