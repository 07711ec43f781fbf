"""Flow through a channel, periodic in x, driven by a force until it is nearly steady."""

import numpy as np

from npbench_suite.data import normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((5, 6, 2), (6, 4, 3), (4, 7, 1))


def east(f):
    return np.roll(f, -1, axis=1)[1:-1, :]


def west(f):
    return np.roll(f, 1, axis=1)[1:-1, :]


def build_up_b(rho, dt, dx, dy, u, v):
    b = np.zeros_like(u)
    u_x = (east(u) - west(u)) / (2 * dx)
    u_y = (u[2:, :] - u[0:-2, :]) / (2 * dy)
    v_x = (east(v) - west(v)) / (2 * dx)
    v_y = (v[2:, :] - v[0:-2, :]) / (2 * dy)
    b[1:-1, :] = rho * (1 / dt * (u_x + v_y) - u_x**2 - 2 * u_y * v_x - v_y**2)
    return b


def pressure_poisson_periodic(nit, p, dx, dy, b):
    for q in range(nit):
        pn = p.copy()
        p[1:-1, :] = ((east(pn) + west(pn)) * dy**2 + (pn[2:, :] + pn[0:-2, :]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, :]

        p[-1, :] = p[-2, :]  # dp/dy = 0 at y = 2
        p[0, :] = p[1, :]  # dp/dy = 0 at y = 0


def channel_flow(nit, u, v, dt, dx, dy, p, rho, nu, F):
    udiff = 1
    stepcount = 0

    while udiff > 0.001:
        un = u.copy()
        vn = v.copy()

        b = build_up_b(rho, dt, dx, dy, u, v)
        pressure_poisson_periodic(nit, p, dx, dy, b)

        u[1:-1, :] = (
            un[1:-1, :]
            - un[1:-1, :] * dt / dx * (un[1:-1, :] - west(un))
            - vn[1:-1, :] * dt / dy * (un[1:-1, :] - un[0:-2, :])
            - dt / (2 * rho * dx) * (east(p) - west(p))
            + nu
            * (
                dt / dx**2 * (east(un) - 2 * un[1:-1, :] + west(un))
                + dt / dy**2 * (un[2:, :] - 2 * un[1:-1, :] + un[0:-2, :])
            )
            + F * dt
        )
        v[1:-1, :] = (
            vn[1:-1, :]
            - un[1:-1, :] * dt / dx * (vn[1:-1, :] - west(vn))
            - vn[1:-1, :] * dt / dy * (vn[1:-1, :] - vn[0:-2, :])
            - dt / (2 * rho * dy) * (p[2:, :] - p[0:-2, :])
            + nu
            * (
                dt / dx**2 * (east(vn) - 2 * vn[1:-1, :] + west(vn))
                + dt / dy**2 * (vn[2:, :] - 2 * vn[1:-1, :] + vn[0:-2, :])
            )
        )

        # The walls.
        u[0, :] = 0
        u[-1, :] = 0
        v[0, :] = 0
        v[-1, :] = 0

        udiff = (np.sum(u) - np.sum(un)) / np.sum(u)
        stepcount += 1

    return stepcount


def initialize(ny: int, nx: int, nit: int, rho: float, nu: float, F: float) -> Arguments:
    return {
        "nit": nit, "u": np.zeros((ny, nx)), "v": np.zeros((ny, nx)),
        "dt": 0.1 / ((nx - 1) * (ny - 1)), "dx": 2.0 / (nx - 1), "dy": 2.0 / (ny - 1),
        "p": np.ones((ny, nx)), "rho": rho, "nu": nu, "F": F,
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    ny, nx, nit = pick(SIZES, size)
    data = initialize(ny, nx, nit, 1.0 + rng.random(), 0.1 + 0.1 * rng.random(), 1.0 + rng.random())
    # Half the steady profile, so that fewer steps remain; with large perturbations the loop would end at once.
    y = np.linspace(0, 2, ny)[:, np.newaxis]
    steady = data["F"] / (2 * data["nu"]) * y * (2 - y)
    return {
        **data,
        "u": 0.5 * steady + 1e-3 * normal(rng, ny, nx),
        "v": data["v"] + 1e-2 * normal(rng, ny, nx),
        "p": data["p"] + 1e-2 * normal(rng, ny, nx),
    }


KERNEL = Kernel(
    name="channel_flow",
    program=channel_flow,
    initialize=initialize,
    sample=sample,
    wrt=("u", "v", "p"),
    scalars=("dt", "dx", "dy", "rho", "nu", "F"),
    output=("u", "v", "p"),
    literal=jax_port("channel_flow", "literal"),
    idiomatic=jax_port("channel_flow", "idiomatic"),
    gradient="a.e.",
    notes="The number of time steps depends on the data; the gradient keeps it fixed.",
)
