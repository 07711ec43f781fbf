"""Lid-driven cavity: incompressible flow in a box, with an inner iteration for the pressure."""

import numpy as np

from npbench_suite.data import normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((5, 6, 3, 2), (6, 4, 2, 3), (4, 7, 4, 1))


def build_up_b(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = rho * (
        1 / dt * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
    )


def pressure_poisson(nit, p, dx, dy, b):
    pn = np.empty_like(p)
    for q in range(nit):
        pn[:] = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]

        p[:, -1] = p[:, -2]  # dp/dx = 0 at x = 2
        p[0, :] = p[1, :]  # dp/dy = 0 at y = 0
        p[:, 0] = p[:, 1]  # dp/dx = 0 at x = 0
        p[-1, :] = 0  # p = 0 at y = 2


def cavity_flow(nx, ny, nt, nit, u, v, dt, dx, dy, p, rho, nu):
    b = np.zeros((ny, nx))
    for n in range(nt):
        un = u.copy()
        vn = v.copy()

        build_up_b(b, rho, dt, u, v, dx, dy)
        pressure_poisson(nit, p, dx, dy, b)

        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + nu
            * (
                dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
                + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
            )
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
            + nu
            * (
                dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, 0:-2])
                + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[0:-2, 1:-1])
            )
        )

        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1  # the lid
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0


def initialize(ny: int, nx: int, nt: int, nit: int, rho: float, nu: float) -> Arguments:
    return {
        "nx": nx, "ny": ny, "nt": nt, "nit": nit,
        "u": np.zeros((ny, nx)), "v": np.zeros((ny, nx)),
        "dt": 0.1 / ((nx - 1) * (ny - 1)), "dx": 2.0 / (nx - 1), "dy": 2.0 / (ny - 1),
        "p": np.zeros((ny, nx)), "rho": rho, "nu": nu,
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    ny, nx, nt, nit = pick(SIZES, size)
    data = initialize(ny, nx, nt, nit, 1.0 + rng.random(), 0.1 + 0.1 * rng.random())
    return {**data, **{name: data[name] + 0.5 * normal(rng, ny, nx) for name in ("u", "v", "p")}}


KERNEL = Kernel(
    name="cavity_flow",
    program=cavity_flow,
    initialize=initialize,
    sample=sample,
    wrt=("u", "v", "p"),
    scalars=("dt", "dx", "dy", "rho", "nu"),
    output=("u", "v", "p"),
    literal=jax_port("cavity_flow", "literal"),
    idiomatic=jax_port("cavity_flow", "idiomatic"),
)
