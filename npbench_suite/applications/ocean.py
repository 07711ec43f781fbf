"""Three kernels of ocean models over (x, y, z) arrays: equation of state, mixing along isopycnals, turbulence closure."""
from __future__ import annotations

import numpy as np


def density(salinity, temperature, pressure):
    """Density of sea water by the international equation of state EOS-80 (UNESCO 1981); kg/m3, of practical
    salinity, degrees Celsius and bar."""
    s, t, p = salinity, temperature, pressure
    root = np.sqrt(s)
    pure = 999.842594 + t * (6.793952e-2 + t * (-9.095290e-3 + t * (1.001685e-4 + t * (-1.120083e-6 + t * 6.536332e-9))))
    first = 8.24493e-1 + t * (-4.0899e-3 + t * (7.6438e-5 + t * (-8.2467e-7 + t * 5.3875e-9)))
    second = -5.72466e-3 + t * (1.0227e-4 - t * 1.6546e-6)
    surface = pure + s * (first + root * second + s * 4.8314e-4)
    bulk = 19652.21 + t * (148.4206 + t * (-2.327105 + t * (1.360477e-2 - t * 5.155288e-5)))
    bulk = bulk + s * (54.6746 + t * (-0.603459 + t * (1.09987e-2 - t * 6.1670e-5)))
    bulk = bulk + s * root * (7.944e-2 + t * (1.6483e-2 - t * 5.3009e-4))
    linear = 3.239908 + t * (1.43713e-3 + t * (1.16092e-4 - t * 5.77905e-7))
    linear = linear + s * (2.2838e-3 + t * (-1.0981e-5 - t * 1.6078e-6)) + 1.91075e-4 * s * root
    square = 8.50935e-5 + t * (-6.12293e-6 + t * 5.2787e-8) + s * (-9.9348e-7 + t * (2.0816e-8 + t * 9.1697e-10))
    return surface / (1.0 - p / (bulk + p * (linear + p * square)))


def equation_of_state(salinity, temperature, pressure):
    """What is differentiated of `density`: its sum."""
    return np.sum(density(salinity, temperature, pressure))


def taper(slope, steepest=0.004, width=0.001):
    """How much of the mixing is left where surfaces of equal density are steep."""
    return 0.5 * (1.0 + np.tanh((steepest - np.abs(slope)) / width))


def isopycnal_mixing(temp, salt, mask, dx, dy, dz, kappa):
    """One explicit step of tracer mixing along surfaces of equal density (Redi 1982, as discretised by Griffies et al.
    1998): four triads of slopes per face. Returns the sum of squares of the temperature afterwards."""
    alpha, beta = -0.17 + 0.001 * temp, 0.78 - 0.0005 * salt
    nx, ny, nz = temp.shape
    tx = (temp[1:] - temp[:-1]) / dx * mask[1:] * mask[:-1]
    sx = (salt[1:] - salt[:-1]) / dx * mask[1:] * mask[:-1]
    ty = (temp[:, 1:] - temp[:, :-1]) / dy * mask[:, 1:] * mask[:, :-1]
    sy = (salt[:, 1:] - salt[:, :-1]) / dy * mask[:, 1:] * mask[:, :-1]
    tz = np.zeros(temp.shape)
    sz = np.zeros(temp.shape)
    between = 0.5 * (dz[1:] + dz[:-1])
    tz[:, :, :-1] = (temp[:, :, 1:] - temp[:, :, :-1]) / between * mask[:, :, 1:] * mask[:, :, :-1]
    sz[:, :, :-1] = (salt[:, :, 1:] - salt[:, :, :-1]) / between * mask[:, :, 1:] * mask[:, :, :-1]

    across = np.zeros((nx - 1, ny, nz))          # faces in x
    rising = np.zeros((nx, ny, nz))              # faces in z
    east = np.zeros((nx - 1, ny, nz))
    for kr in range(2):
        below = 1 if kr == 0 else 0
        for ip in range(2):
            a = alpha[ip:nx - 1 + ip, :, below:nz - 1 + below]
            b = beta[ip:nx - 1 + ip, :, below:nz - 1 + below]
            horizontal = a * tx[:, :, below:nz - 1 + below] + b * sx[:, :, below:nz - 1 + below]
            vertical = np.minimum(0.0, a * tz[ip:nx - 1 + ip, :, :nz - 1] + b * sz[ip:nx - 1 + ip, :, :nz - 1]) - 1e-8
            slope = -horizontal / vertical
            part = taper(slope)
            share = 0.25 * dz[below:nz - 1 + below] / dz[:nz - 1] * kappa * part
            across[:, :, below:nz - 1 + below] += share
            east[:, :, below:nz - 1 + below] += share * slope * tz[ip:nx - 1 + ip, :, :nz - 1]
            rising[ip:nx - 1 + ip, :, :nz - 1] += share * slope * tx[:, :, below:nz - 1 + below]

    along = np.zeros((nx, ny - 1, nz))
    north = np.zeros((nx, ny - 1, nz))
    for kr in range(2):
        below = 1 if kr == 0 else 0
        for jp in range(2):
            a = alpha[:, jp:ny - 1 + jp, below:nz - 1 + below]
            b = beta[:, jp:ny - 1 + jp, below:nz - 1 + below]
            horizontal = a * ty[:, :, below:nz - 1 + below] + b * sy[:, :, below:nz - 1 + below]
            vertical = np.minimum(0.0, a * tz[:, jp:ny - 1 + jp, :nz - 1] + b * sz[:, jp:ny - 1 + jp, :nz - 1]) - 1e-8
            slope = -horizontal / vertical
            part = taper(slope)
            share = 0.25 * dz[below:nz - 1 + below] / dz[:nz - 1] * kappa * part
            along[:, :, below:nz - 1 + below] += share
            north[:, :, below:nz - 1 + below] += share * slope * tz[:, jp:ny - 1 + jp, :nz - 1]
            rising[:, jp:ny - 1 + jp, :nz - 1] += share * slope * ty[:, :, below:nz - 1 + below]

    flux_x = across * tx + east
    flux_y = along * ty + north
    new = temp.copy()
    new[1:-1] += 0.1 * (flux_x[1:] - flux_x[:-1]) / dx
    new[:, 1:-1] += 0.1 * (flux_y[:, 1:] - flux_y[:, :-1]) / dy
    new[:, :, 1:] += 0.1 * (rising[:, :, 1:] - rising[:, :, :-1]) / dz[1:]
    return np.sum(new * new)


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


def turbulence(tke, u, v, w, buoyancy, shear, forcing, mask, dx, dy, dz, dt):
    """One step of the turbulence closure of Gaspar, Gregoris and Lefevre (1990): mixing lengths bounded by the
    distance to boundaries, an implicit vertical diffusion, and advection with a flux limiter. Returns the sum of
    squares of the turbulent kinetic energy."""
    nx, ny, nz = tke.shape
    root = np.sqrt(np.maximum(0.0, tke))
    length = np.sqrt(2.0) * root / np.sqrt(np.maximum(1e-12, buoyancy)) * mask
    for k in range(1, nz):
        length[:, :, k] = np.minimum(length[:, :, k], length[:, :, k - 1] + dz[k])
    length[:, :, nz - 1] = np.minimum(length[:, :, nz - 1], 1e-8 + dz[nz - 1])
    for k in range(nz - 2, -1, -1):
        length[:, :, k] = np.minimum(length[:, :, k], length[:, :, k + 1] + dz[k + 1])
    length = np.maximum(length, 1e-8)
    viscosity = np.minimum(10.0, 0.1 * length * root)
    richardson = np.maximum(0.0, buoyancy / np.maximum(shear, 1e-12))
    prandtl = np.maximum(1.0, np.minimum(10.0, 6.6 * richardson))
    diffusivity = np.maximum(1e-5, viscosity / prandtl)

    coupling = np.zeros(tke.shape)
    coupling[:, :, :-1] = dt / dz[1:] * 0.5 * (viscosity[:, :, :-1] + viscosity[:, :, 1:])
    a = np.zeros(tke.shape)
    b = np.zeros(tke.shape)
    c = np.zeros(tke.shape)
    a[:, :, 1:-1] = -coupling[:, :, :-2] / dz[1:-1]
    a[:, :, -1] = -coupling[:, :, -2] / (0.5 * dz[-1])
    b[:, :, 1:-1] = 1.0 + (coupling[:, :, 1:-1] + coupling[:, :, :-2]) / dz[1:-1] + \
        dt * 0.7 / length[:, :, 1:-1] * root[:, :, 1:-1]
    b[:, :, -1] = 1.0 + coupling[:, :, -2] / (0.5 * dz[-1]) + dt * 0.7 / length[:, :, -1] * root[:, :, -1]
    b[:, :, 0] = 1.0 + coupling[:, :, 0] / dz[0] + dt * 0.7 / length[:, :, 0] * root[:, :, 0]
    c[:, :, :-1] = -coupling[:, :, :-1] / dz[:-1]
    d = tke + dt * (viscosity * shear - diffusivity * buoyancy)
    d[:, :, -1] += dt * forcing / (0.5 * dz[-1])
    solved = solve_tridiagonal(a, b, c, d)
    solved = np.where(mask > 0.5, solved, tke)
    solved[:, :, -1] = np.maximum(solved[:, :, -1], 0.0)

    flux_x = np.zeros(tke.shape)
    flux_y = np.zeros(tke.shape)
    flux_z = np.zeros(tke.shape)
    step = tke[2:-1] - tke[1:-2]
    behind = np.where(u[1:-2] > 0.0, tke[1:-2] - tke[:-3], tke[3:] - tke[2:-1])
    cr = limiter(behind / np.where(np.abs(step) < 1e-20, 1e-20, step))
    courant = np.abs(u[1:-2] * dt / dx)
    flux_x[1:-2] = u[1:-2] * 0.5 * (tke[2:-1] + tke[1:-2]) - np.abs(u[1:-2]) * ((1.0 - cr) + courant * cr) * step * 0.5
    step = tke[:, 2:-1] - tke[:, 1:-2]
    behind = np.where(v[:, 1:-2] > 0.0, tke[:, 1:-2] - tke[:, :-3], tke[:, 3:] - tke[:, 2:-1])
    cr = limiter(behind / np.where(np.abs(step) < 1e-20, 1e-20, step))
    courant = np.abs(v[:, 1:-2] * dt / dy)
    flux_y[:, 1:-2] = v[:, 1:-2] * 0.5 * (tke[:, 2:-1] + tke[:, 1:-2]) - \
        np.abs(v[:, 1:-2]) * ((1.0 - cr) + courant * cr) * step * 0.5
    step = tke[:, :, 2:-1] - tke[:, :, 1:-2]
    behind = np.where(w[:, :, 1:-2] > 0.0, tke[:, :, 1:-2] - tke[:, :, :-3], tke[:, :, 3:] - tke[:, :, 2:-1])
    cr = limiter(behind / np.where(np.abs(step) < 1e-20, 1e-20, step))
    courant = np.abs(w[:, :, 1:-2] * dt / dz[1:-2])
    flux_z[:, :, 1:-2] = w[:, :, 1:-2] * 0.5 * (tke[:, :, 2:-1] + tke[:, :, 1:-2]) - \
        np.abs(w[:, :, 1:-2]) * ((1.0 - cr) + courant * cr) * step * 0.5
    solved[1:-1] += -dt * (flux_x[1:-1] - flux_x[:-2]) / dx
    solved[:, 1:-1] += -dt * (flux_y[:, 1:-1] - flux_y[:, :-2]) / dy
    solved[:, :, 1:] += -dt * (flux_z[:, :, 1:] - flux_z[:, :, :-1]) / dz[1:]
    return np.sum(solved * solved)


NOW, NEXT = 1, 2
"""Time levels, the last axis of what a model steps forward (the first one is the level before)."""


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


def columns(u, v, w, tke, mask_u, mask_v, mask_w, dx, dy, dz, depth, bottom, viscosity, length, forcing, surface, dt):
    """A step of turbulent kinetic energy on a grid with topography (u, v, w, tke: nx, ny, nz, 3 time levels; `bottom`:
    the lowest wet level of each column). Returns the sum of squares of the next level of tke."""
    nx, ny, nz = tke.shape[:3]
    inner = (slice(2, -2), slice(2, -2))
    wet = bottom[2:-2, 2:-2]
    root = np.sqrt(np.maximum(0.0, tke[:, :, :, NOW]))
    coupling = np.zeros((nx - 4, ny - 4, nz))
    coupling[:, :, :-1] = dt / depth[np.newaxis, np.newaxis, 1:] * 0.5 * \
        (viscosity[2:-2, 2:-2, :-1] + viscosity[2:-2, 2:-2, 1:])
    a = np.zeros((nx - 4, ny - 4, nz))
    b = np.zeros((nx - 4, ny - 4, nz))
    c = np.zeros((nx - 4, ny - 4, nz))
    a[:, :, 1:-1] = -coupling[:, :, :-2] / dz[np.newaxis, np.newaxis, 1:-1]
    a[:, :, -1] = -coupling[:, :, -2] / (0.5 * dz[-1])
    b[:, :, 1:-1] = 1.0 + (coupling[:, :, 1:-1] + coupling[:, :, :-2]) / dz[np.newaxis, np.newaxis, 1:-1] + \
        dt * 0.7 / length[2:-2, 2:-2, 1:-1] * root[2:-2, 2:-2, 1:-1]
    b[:, :, -1] = 1.0 + coupling[:, :, -2] / (0.5 * dz[-1]) + dt * 0.7 / length[2:-2, 2:-2, -1] * root[2:-2, 2:-2, -1]
    edge = 1.0 + coupling / dz[np.newaxis, np.newaxis, :] + dt * 0.7 / length[2:-2, 2:-2, :] * root[2:-2, 2:-2, :]
    c[:, :, :-1] = -coupling[:, :, :-1] / dz[np.newaxis, np.newaxis, :-1]
    d = tke[2:-2, 2:-2, :, NOW] + dt * forcing[2:-2, 2:-2, :]
    d[:, :, -1] += dt * surface[2:-2, 2:-2] / (0.5 * dz[-1])
    found, water = solve_columns(wet, a, b, c, d, edge)
    tke[2:-2, 2:-2, :, NEXT] = np.where(water, found, tke[2:-2, 2:-2, :, NEXT])

    lowest = np.zeros((nx, ny))
    lowest[inner] = np.where((tke[2:-2, 2:-2, -1, NEXT] < 0.0), -tke[2:-2, 2:-2, -1, NEXT] * 0.5 * dz[-1], 0.0)
    tke[2:-2, 2:-2, -1, NEXT] = np.maximum(0.0, tke[2:-2, 2:-2, -1, NEXT])

    east = np.zeros((nx, ny, nz))
    north = np.zeros((nx, ny, nz))
    east[:-1] = 2000.0 * (tke[1:, :, :, NOW] - tke[:-1, :, :, NOW]) / dx[:-1, np.newaxis, np.newaxis] * mask_u[:-1]
    north[:, :-1] = 2000.0 * (tke[:, 1:, :, NOW] - tke[:, :-1, :, NOW]) / dy[np.newaxis, :-1, np.newaxis] * mask_v[:, :-1]
    tke[2:-2, 2:-2, :, NEXT] += dt * mask_w[2:-2, 2:-2, :] * (
        (east[2:-2, 2:-2, :] - east[1:-3, 2:-2, :]) / dx[2:-2, np.newaxis, np.newaxis] +
        (north[2:-2, 2:-2, :] - north[2:-2, 1:-3, :]) / dy[np.newaxis, 2:-2, np.newaxis])

    flux_x = np.zeros((nx, ny, nz))
    flux_y = np.zeros((nx, ny, nz))
    flux_z = np.zeros((nx, ny, nz))
    field = tke[:, :, :, NOW]
    step = (field[2:-1, 2:-2] - field[1:-2, 2:-2]) * mask_u[1:-2, 2:-2]
    speed = u[1:-2, 2:-2, :, NOW]
    behind = np.where(speed > 0.0, (field[1:-2, 2:-2] - field[:-3, 2:-2]) * mask_u[:-3, 2:-2],
                      (field[3:, 2:-2] - field[2:-1, 2:-2]) * mask_u[2:-1, 2:-2])
    cr = limiter(behind / np.where(np.abs(step) < 1e-20, 1e-20, step))
    courant = np.abs(speed * dt / dx[1:-2, np.newaxis, np.newaxis])
    flux_x[1:-2, 2:-2] = speed * 0.5 * (field[2:-1, 2:-2] + field[1:-2, 2:-2]) - \
        np.abs(speed) * ((1.0 - cr) + courant * cr) * step * 0.5
    step = (field[2:-2, 2:-1] - field[2:-2, 1:-2]) * mask_v[2:-2, 1:-2]
    speed = v[2:-2, 1:-2, :, NOW]
    behind = np.where(speed > 0.0, (field[2:-2, 1:-2] - field[2:-2, :-3]) * mask_v[2:-2, :-3],
                      (field[2:-2, 3:] - field[2:-2, 2:-1]) * mask_v[2:-2, 2:-1])
    cr = limiter(behind / np.where(np.abs(step) < 1e-20, 1e-20, step))
    courant = np.abs(speed * dt / dy[np.newaxis, 1:-2, np.newaxis])
    flux_y[2:-2, 1:-2] = speed * 0.5 * (field[2:-2, 2:-1] + field[2:-2, 1:-2]) - \
        np.abs(speed) * ((1.0 - cr) + courant * cr) * step * 0.5
    padded = np.zeros((nx, ny, nz + 2))
    padded[:, :, 1:-1] = field
    padded[:, :, 0] = field[:, :, 0]
    padded[:, :, -1] = field[:, :, -1]
    step = (padded[2:-2, 2:-2, 2:-1] - padded[2:-2, 2:-2, 1:-2]) * mask_w[2:-2, 2:-2, :-1]
    speed = w[2:-2, 2:-2, :-1, NOW]
    behind = np.where(speed > 0.0, padded[2:-2, 2:-2, 1:-2] - padded[2:-2, 2:-2, :-3],
                      padded[2:-2, 2:-2, 3:] - padded[2:-2, 2:-2, 2:-1])
    cr = limiter(behind / np.where(np.abs(step) < 1e-20, 1e-20, step))
    courant = np.abs(speed * dt / dz[np.newaxis, np.newaxis, :-1])
    flux_z[2:-2, 2:-2, :-1] = speed * 0.5 * (padded[2:-2, 2:-2, 2:-1] + padded[2:-2, 2:-2, 1:-2]) - \
        np.abs(speed) * ((1.0 - cr) + courant * cr) * step * 0.5
    change = np.zeros((nx, ny, nz))
    change[inner] = mask_w[2:-2, 2:-2] * (
        -(flux_x[2:-2, 2:-2] - flux_x[1:-3, 2:-2]) / dx[2:-2, np.newaxis, np.newaxis] -
        (flux_y[2:-2, 2:-2] - flux_y[2:-2, 1:-3]) / dy[np.newaxis, 2:-2, np.newaxis])
    change[:, :, 0] += -flux_z[:, :, 0] / dz[0]
    change[:, :, 1:-1] += -(flux_z[:, :, 1:-1] - flux_z[:, :, :-2]) / dz[np.newaxis, np.newaxis, 1:-1]
    change[:, :, -1] += -(flux_z[:, :, -1] - flux_z[:, :, -2]) / (0.5 * dz[-1])
    tke[:, :, :, NEXT] += dt * change
    return np.sum(tke[:, :, :, NEXT] ** 2) + np.sum(lowest)
