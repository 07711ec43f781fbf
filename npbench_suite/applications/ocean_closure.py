"""ocean_closure: a step of the turbulence closure of an ocean model with topography."""

import numpy as np

from npbench_suite.applications.application import Application, Arguments

NOW, NEXT = 1, 2
"""Time levels, the last axis of what a model steps forward (the first one is the level before)."""


def solve_tridiagonal(a, b, c, d):
    """x with a[k] x[k-1] + b[k] x[k] + c[k] x[k+1] = d[k] along the last axis, all of one shape (Thomas algorithm)."""
    n = a.shape[2]
    upper = np.zeros(a.shape)
    right = np.zeros(a.shape)
    upper[:, :, 0] = c[:, :, 0] / b[:, :, 0]
    right[:, :, 0] = d[:, :, 0] / b[:, :, 0]
    for k in range(1, n):
        pivot = b[:, :, k] - a[:, :, k] * upper[:, :, k - 1]
        upper[:, :, k] = c[:, :, k] / pivot
        right[:, :, k] = (d[:, :, k] - a[:, :, k] * right[:, :, k - 1]) / pivot
    x = np.zeros(a.shape)
    x[:, :, n - 1] = right[:, :, n - 1]
    for k in range(n - 2, -1, -1):
        x[:, :, k] = right[:, :, k] - upper[:, :, k] * x[:, :, k + 1]
    return x


def limiter(ratio):
    """Superbee flux limiter (Roe 1985)."""
    return np.maximum(0.0, np.maximum(np.minimum(1.0, 2.0 * ratio), np.minimum(2.0, ratio)))


def solve_columns(bottom, a, b, c, d, edge):
    """Tridiagonal systems along the last axis, from each column's `bottom` level upwards; `edge` replaces b there.
    Returns the solution and where there is water."""
    level = np.arange(a.shape[2])[np.newaxis, np.newaxis, :]
    land = (bottom >= 0)[:, :, np.newaxis]
    floor = land & (level == bottom[:, :, np.newaxis])
    water = land & (level >= bottom[:, :, np.newaxis])
    lower = water * a * np.logical_not(floor)
    main = np.where(floor, edge, np.where(water, b, 1.0))
    upper = water * c
    right = np.where(water, d, 0.0)
    return solve_tridiagonal(lower, main, upper, right), water


def implicit_system(tke, viscosity, length, forcing, surface, dz, depth, dt):
    """The three diagonals, the right-hand side, and the diagonal at the lowest wet level of each column."""
    coupling = np.zeros(tke.shape)
    coupling[:, :, :-1] = dt / depth[np.newaxis, np.newaxis, 1:] * 0.5 * (viscosity[:, :, :-1] + viscosity[:, :, 1:])
    loss = dt * 0.7 / length * np.sqrt(np.maximum(0.0, tke))
    a = np.zeros(tke.shape)
    b = np.zeros(tke.shape)
    c = np.zeros(tke.shape)
    a[:, :, 1:-1] = -coupling[:, :, :-2] / dz[np.newaxis, np.newaxis, 1:-1]
    a[:, :, -1] = -coupling[:, :, -2] / (0.5 * dz[-1])
    b[:, :, 1:-1] = 1.0 + (coupling[:, :, 1:-1] + coupling[:, :, :-2]) / dz[np.newaxis, np.newaxis, 1:-1] \
        + loss[:, :, 1:-1]
    b[:, :, -1] = 1.0 + coupling[:, :, -2] / (0.5 * dz[-1]) + loss[:, :, -1]
    c[:, :, :-1] = -coupling[:, :, :-1] / dz[np.newaxis, np.newaxis, :-1]
    d = tke + dt * forcing
    d[:, :, -1] += dt * surface / (0.5 * dz[-1])
    return a, b, c, d, 1.0 + coupling / dz[np.newaxis, np.newaxis, :] + loss


def flux(speed, step, before, after, both, spacing, dt):
    """Through faces, given the differences across them and across the faces before and after, and the sum of both
    sides: upwind where the limiter says so."""
    behind = np.where(speed > 0.0, before, after)
    cr = limiter(behind / np.where(np.abs(step) < 1e-20, 1e-20, step))
    courant = np.abs(speed * dt / spacing)
    return speed * 0.5 * both - np.abs(speed) * ((1.0 - cr) + courant * cr) * step * 0.5


def advection(u, v, w, field, mask_u, mask_v, mask_w, dx, dy, dz, dt):
    """What the flow changes in unit time."""
    flux_x = np.zeros(field.shape)
    flux_y = np.zeros(field.shape)
    flux_z = np.zeros(field.shape)
    x = (field[1:, 2:-2] - field[:-1, 2:-2]) * mask_u[:-1, 2:-2]
    flux_x[1:-2, 2:-2] = flux(u[1:-2, 2:-2, :, NOW], x[1:-1], x[:-2], x[2:], field[2:-1, 2:-2] + field[1:-2, 2:-2],
                              dx[1:-2, np.newaxis, np.newaxis], dt)
    y = (field[2:-2, 1:] - field[2:-2, :-1]) * mask_v[2:-2, :-1]
    flux_y[2:-2, 1:-2] = flux(v[2:-2, 1:-2, :, NOW], y[:, 1:-1], y[:, :-2], y[:, 2:],
                              field[2:-2, 2:-1] + field[2:-2, 1:-2], dy[np.newaxis, 1:-2, np.newaxis], dt)
    padded = np.zeros((field.shape[0], field.shape[1], field.shape[2] + 2))
    padded[:, :, 1:-1] = field
    padded[:, :, 0] = field[:, :, 0]
    padded[:, :, -1] = field[:, :, -1]
    z = padded[2:-2, 2:-2, 1:] - padded[2:-2, 2:-2, :-1]
    flux_z[2:-2, 2:-2, :-1] = flux(w[2:-2, 2:-2, :-1, NOW], z[:, :, 1:-1] * mask_w[2:-2, 2:-2, :-1], z[:, :, :-2],
                                   z[:, :, 2:], padded[2:-2, 2:-2, 2:-1] + padded[2:-2, 2:-2, 1:-2],
                                   dz[np.newaxis, np.newaxis, :-1], dt)
    change = np.zeros(field.shape)
    change[2:-2, 2:-2] = mask_w[2:-2, 2:-2] * (
        -(flux_x[2:-2, 2:-2] - flux_x[1:-3, 2:-2]) / dx[2:-2, np.newaxis, np.newaxis] -
        (flux_y[2:-2, 2:-2] - flux_y[2:-2, 1:-3]) / dy[np.newaxis, 2:-2, np.newaxis])
    change[:, :, 0] += -flux_z[:, :, 0] / dz[0]
    change[:, :, 1:-1] += -(flux_z[:, :, 1:-1] - flux_z[:, :, :-2]) / dz[np.newaxis, np.newaxis, 1:-1]
    change[:, :, -1] += -(flux_z[:, :, -1] - flux_z[:, :, -2]) / (0.5 * dz[-1])
    return change


def columns(u, v, w, tke, mask_u, mask_v, mask_w, dx, dy, dz, depth, bottom, viscosity, length, forcing, surface, dt):
    """A step of turbulent kinetic energy on a grid with topography (u, v, w, tke: nx, ny, nz, 3 time levels; `bottom`:
    the lowest wet level of each column). Returns the sum of squares of the next level of tke."""
    nx, ny, nz = tke.shape[:3]
    inner = (slice(2, -2), slice(2, -2))
    system = implicit_system(tke[2:-2, 2:-2, :, NOW], viscosity[inner], length[inner], forcing[inner], surface[inner],
                             dz, depth, dt)
    found, water = solve_columns(bottom[inner], *system)
    tke[2:-2, 2:-2, :, NEXT] = np.where(water, found, tke[2:-2, 2:-2, :, NEXT])

    lowest = np.zeros((nx, ny))
    lowest[inner] = np.where((tke[2:-2, 2:-2, -1, NEXT] < 0.0), -tke[2:-2, 2:-2, -1, NEXT] * 0.5 * dz[-1], 0.0)
    tke[2:-2, 2:-2, -1, NEXT] = np.maximum(0.0, tke[2:-2, 2:-2, -1, NEXT])

    east = np.zeros((nx, ny, nz))
    north = np.zeros((nx, ny, nz))
    east[:-1] = 2000.0 * (tke[1:, :, :, NOW] - tke[:-1, :, :, NOW]) / dx[:-1, np.newaxis, np.newaxis] * mask_u[:-1]
    north[:, :-1] = 2000.0 * (tke[:, 1:, :, NOW] - tke[:, :-1, :, NOW]) / dy[np.newaxis, :-1, np.newaxis] \
        * mask_v[:, :-1]
    tke[2:-2, 2:-2, :, NEXT] += dt * mask_w[2:-2, 2:-2, :] * (
        (east[2:-2, 2:-2, :] - east[1:-3, 2:-2, :]) / dx[2:-2, np.newaxis, np.newaxis] +
        (north[2:-2, 2:-2, :] - north[2:-2, 1:-3, :]) / dy[np.newaxis, 2:-2, np.newaxis])
    tke[:, :, :, NEXT] += dt * advection(u, v, w, tke[:, :, :, NOW], mask_u, mask_v, mask_w, dx, dy, dz, dt)
    return np.sum(tke[:, :, :, NEXT] ** 2) + np.sum(lowest)


def arguments(nx: int, ny: int, nz: int) -> Arguments:
    rng = np.random.default_rng(41)

    def between(low: float, high: float, *shape: int) -> np.ndarray:
        return low + (high - low) * rng.random(shape)

    grid, levels = (nx, ny, nz), (nx, ny, nz, 3)
    mask, dz = np.ones(grid), between(10.0, 15.0, nz)
    mask[:, :, :nz // 8] = (rng.random((nx, ny)) > 0.3)[:, :, None]
    return {"u": between(-0.1, 0.1, *levels), "v": between(-0.1, 0.1, *levels), "w": between(-1e-4, 1e-4, *levels),
            "tke": between(1e-6, 1e-2, *levels), "mask_u": mask, "mask_v": mask.copy(), "mask_w": mask.copy(),
            "dx": between(1e4, 2e4, nx), "dy": between(1e4, 2e4, ny), "dz": dz, "depth": 1.01 * dz,
            "bottom": rng.integers(-1, nz // 2, (nx, ny)), "viscosity": between(1e-4, 1e-1, *grid),
            "length": between(1e-2, 10.0, *grid), "forcing": between(-1e-6, 1e-6, *grid),
            "surface": between(0.0, 1e-5, nx, ny), "dt": 600.0}


APPLICATION = Application(
    name="ocean_closure",
    program=columns,
    arguments=arguments,
    wrt=("u", "v", "w", "tke", "viscosity", "length", "forcing"),
    sizes={"tiny": {"nx": 6, "ny": 7, "nz": 5}, "usual": {"nx": 66, "ny": 66, "nz": 40}},
    about="Turbulent kinetic energy of Gaspar, Gregoris and Lefevre, J. Geophys. Res. 95 (1990): implicit mixing down "
          "the columns, advection with a flux limiter.",
    ported=True,
)
