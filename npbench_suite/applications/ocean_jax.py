"""The ocean kernels in JAX, as its users write them: functional updates, scans over levels."""
from __future__ import annotations

import jax
import jax.numpy as np
from jax import lax

from npbench_suite.applications import ocean

NOW, NEXT = ocean.NOW, ocean.NEXT


taper = type(ocean.taper)(ocean.taper.__code__, {"np": np}, "taper", ocean.taper.__defaults__)
limiter = type(ocean.limiter)(ocean.limiter.__code__, {"np": np}, "limiter")
density = type(ocean.density)(ocean.density.__code__, {"np": np}, "density")


def equation_of_state(salinity, temperature, pressure):
    return np.sum(density(salinity, temperature, pressure))


def isopycnal_mixing(temp, salt, mask, dx, dy, dz, kappa):
    alpha, beta = -0.17 + 0.001 * temp, 0.78 - 0.0005 * salt
    nx, ny, nz = temp.shape
    tx = (temp[1:] - temp[:-1]) / dx * mask[1:] * mask[:-1]
    sx = (salt[1:] - salt[:-1]) / dx * mask[1:] * mask[:-1]
    ty = (temp[:, 1:] - temp[:, :-1]) / dy * mask[:, 1:] * mask[:, :-1]
    sy = (salt[:, 1:] - salt[:, :-1]) / dy * mask[:, 1:] * mask[:, :-1]
    between = 0.5 * (dz[1:] + dz[:-1])
    inside = mask[:, :, 1:] * mask[:, :, :-1]
    tz = np.zeros(temp.shape).at[:, :, :-1].set((temp[:, :, 1:] - temp[:, :, :-1]) / between * inside)
    sz = np.zeros(temp.shape).at[:, :, :-1].set((salt[:, :, 1:] - salt[:, :, :-1]) / between * inside)
    rising = np.zeros((nx, ny, nz))

    def triads(rising, axis, dtx, dsx):
        n = (nx, ny)[axis]
        face = [nx, ny, nz]
        face[axis] -= 1
        across, cross = np.zeros(face), np.zeros(face)
        for kr in range(2):
            below = 1 if kr == 0 else 0
            level = slice(below, nz - 1 + below)
            for ip in range(2):
                cell = (slice(ip, n - 1 + ip),) if axis == 0 else (slice(None), slice(ip, n - 1 + ip))
                at, over = (*cell, level) if axis else (*cell, slice(None), level), \
                    (*cell, slice(0, nz - 1)) if axis else (*cell, slice(None), slice(0, nz - 1))
                a, b = alpha[at], beta[at]
                horizontal = a * dtx[:, :, level] + b * dsx[:, :, level]
                vertical = np.minimum(0.0, a * tz[over] + b * sz[over]) - 1e-8
                slope = -horizontal / vertical
                share = 0.25 * dz[level] / dz[:nz - 1] * kappa * taper(slope)
                across = across.at[:, :, level].add(share)
                cross = cross.at[:, :, level].add(share * slope * tz[over])
                rising = rising.at[over].add(share * slope * dtx[:, :, level])
        return rising, across, cross

    rising, across, east = triads(rising, 0, tx, sx)
    rising, along, north = triads(rising, 1, ty, sy)
    flux_x = across * tx + east
    flux_y = along * ty + north
    new = temp.at[1:-1].add(0.1 * (flux_x[1:] - flux_x[:-1]) / dx)
    new = new.at[:, 1:-1].add(0.1 * (flux_y[:, 1:] - flux_y[:, :-1]) / dy)
    new = new.at[:, :, 1:].add(0.1 * (rising[:, :, 1:] - rising[:, :, :-1]) / dz[1:])
    return np.sum(new * new)


def solve_tridiagonal(a, b, c, d):
    a, b, c, d = (np.moveaxis(x, 2, 0) for x in (a, b, c, d))

    def forward(carry, row):
        upper, right = carry
        ak, bk, ck, dk = row
        pivot = bk - ak * upper
        new = ck / pivot, (dk - ak * right) / pivot
        return new, new

    first = c[0] / b[0], d[0] / b[0]
    _, (upper, right) = lax.scan(forward, first, (a[1:], b[1:], c[1:], d[1:]))
    upper = np.concatenate([first[0][None], upper])
    right = np.concatenate([first[1][None], right])

    def backward(below, row):
        upper, right = row
        x = right - upper * below
        return x, x

    _, x = lax.scan(backward, right[-1], (upper[:-1], right[:-1]), reverse=True)
    return np.moveaxis(np.concatenate([x, right[-1:]]), 0, 2)


def _bounded(length, dz):
    rows = np.moveaxis(length, 2, 0)

    def down(above, row):
        here, h = row
        new = np.minimum(here, above + h)
        return new, new

    _, low = lax.scan(down, rows[0], (rows[1:], dz[1:]))
    rows = np.concatenate([rows[:1], low])
    rows = rows.at[-1].set(np.minimum(rows[-1], 1e-8 + dz[-1]))
    _, up = lax.scan(down, rows[-1], (rows[:-1], dz[1:]), reverse=True)
    return np.moveaxis(np.concatenate([up, rows[-1:]]), 0, 2)


def turbulence(tke, u, v, w, buoyancy, shear, forcing, mask, dx, dy, dz, dt):
    root = np.sqrt(np.maximum(0.0, tke))
    length = np.sqrt(2.0) * root / np.sqrt(np.maximum(1e-12, buoyancy)) * mask
    length = np.maximum(_bounded(length, dz), 1e-8)
    viscosity = np.minimum(10.0, 0.1 * length * root)
    richardson = np.maximum(0.0, buoyancy / np.maximum(shear, 1e-12))
    prandtl = np.maximum(1.0, np.minimum(10.0, 6.6 * richardson))
    diffusivity = np.maximum(1e-5, viscosity / prandtl)
    zero = np.zeros(tke.shape)
    coupling = zero.at[:, :, :-1].set(dt / dz[1:] * 0.5 * (viscosity[:, :, :-1] + viscosity[:, :, 1:]))
    a = zero.at[:, :, 1:-1].set(-coupling[:, :, :-2] / dz[1:-1])
    a = a.at[:, :, -1].set(-coupling[:, :, -2] / (0.5 * dz[-1]))
    b = zero.at[:, :, 1:-1].set(1.0 + (coupling[:, :, 1:-1] + coupling[:, :, :-2]) / dz[1:-1] +
                                dt * 0.7 / length[:, :, 1:-1] * root[:, :, 1:-1])
    b = b.at[:, :, -1].set(1.0 + coupling[:, :, -2] / (0.5 * dz[-1]) + dt * 0.7 / length[:, :, -1] * root[:, :, -1])
    b = b.at[:, :, 0].set(1.0 + coupling[:, :, 0] / dz[0] + dt * 0.7 / length[:, :, 0] * root[:, :, 0])
    c = zero.at[:, :, :-1].set(-coupling[:, :, :-1] / dz[:-1])
    d = tke + dt * (viscosity * shear - diffusivity * buoyancy)
    d = d.at[:, :, -1].add(dt * forcing / (0.5 * dz[-1]))
    solved = np.where(mask > 0.5, solve_tridiagonal(a, b, c, d), tke)
    solved = solved.at[:, :, -1].set(np.maximum(solved[:, :, -1], 0.0))

    def flux(axis, speed, h):
        def cut(x, lo, hi):
            return lax.slice_in_dim(x, lo, x.shape[axis] + hi, axis=axis)
        speed = cut(speed, 1, -2)
        step = cut(tke, 2, -1) - cut(tke, 1, -2)
        behind = np.where(speed > 0.0, cut(tke, 1, -2) - cut(tke, 0, -3), cut(tke, 3, 0) - cut(tke, 2, -1))
        cr = limiter(behind / np.where(np.abs(step) < 1e-20, 1e-20, step))
        courant = np.abs(speed * dt / h)
        found = speed * 0.5 * (cut(tke, 2, -1) + cut(tke, 1, -2)) - \
            np.abs(speed) * ((1.0 - cr) + courant * cr) * step * 0.5
        at = [slice(None)] * 3
        at[axis] = slice(1, -2)
        return zero.at[tuple(at)].set(found)

    x, y, z = flux(0, u, dx), flux(1, v, dy), flux(2, w, dz[1:-2])
    solved = solved.at[1:-1].add(-dt * (x[1:-1] - x[:-2]) / dx)
    solved = solved.at[:, 1:-1].add(-dt * (y[:, 1:-1] - y[:, :-2]) / dy)
    solved = solved.at[:, :, 1:].add(-dt * (z[:, :, 1:] - z[:, :, :-1]) / dz[1:])
    return np.sum(solved * solved)


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
    """A step of turbulent kinetic energy on a grid with topography (u, v, w, tke: nx, ny, nz, 3 time levels; `bottom`: the lowest wet level of each column). Returns the sum of squares of the next level of tke."""
    nx, ny, nz = tke.shape[:3]
    inner = (slice(2, -2), slice(2, -2))
    wet = bottom[2:-2, 2:-2]
    root = np.sqrt(np.maximum(0.0, tke[:, :, :, NOW]))
    coupling = np.zeros((nx - 4, ny - 4, nz))
    coupling = coupling.at[:, :, :-1].set(dt / depth[np.newaxis, np.newaxis, 1:] * 0.5 *  (viscosity[2:-2, 2:-2, :-1] + viscosity[2:-2, 2:-2, 1:]))
    a = np.zeros((nx - 4, ny - 4, nz))
    b = np.zeros((nx - 4, ny - 4, nz))
    c = np.zeros((nx - 4, ny - 4, nz))
    a = a.at[:, :, 1:-1].set(-coupling[:, :, :-2] / dz[np.newaxis, np.newaxis, 1:-1])
    a = a.at[:, :, -1].set(-coupling[:, :, -2] / (0.5 * dz[-1]))
    b = b.at[:, :, 1:-1].set(1.0 + (coupling[:, :, 1:-1] + coupling[:, :, :-2]) / dz[np.newaxis, np.newaxis, 1:-1] +  dt * 0.7 / length[2:-2, 2:-2, 1:-1] * root[2:-2, 2:-2, 1:-1])
    b = b.at[:, :, -1].set(1.0 + coupling[:, :, -2] / (0.5 * dz[-1]) + dt * 0.7 / length[2:-2, 2:-2, -1] * root[2:-2, 2:-2, -1])
    edge = 1.0 + coupling / dz[np.newaxis, np.newaxis, :] + dt * 0.7 / length[2:-2, 2:-2, :] * root[2:-2, 2:-2, :]
    c = c.at[:, :, :-1].set(-coupling[:, :, :-1] / dz[np.newaxis, np.newaxis, :-1])
    d = tke[2:-2, 2:-2, :, NOW] + dt * forcing[2:-2, 2:-2, :]
    d = d.at[:, :, -1].add(dt * surface[2:-2, 2:-2] / (0.5 * dz[-1]))
    found, water = solve_columns(wet, a, b, c, d, edge)
    tke = tke.at[2:-2, 2:-2, :, NEXT].set(np.where(water, found, tke[2:-2, 2:-2, :, NEXT]))

    lowest = np.zeros((nx, ny))
    lowest = lowest.at[inner].set(np.where((tke[2:-2, 2:-2, -1, NEXT] < 0.0), -tke[2:-2, 2:-2, -1, NEXT] * 0.5 * dz[-1], 0.0))
    tke = tke.at[2:-2, 2:-2, -1, NEXT].set(np.maximum(0.0, tke[2:-2, 2:-2, -1, NEXT]))

    east = np.zeros((nx, ny, nz))
    north = np.zeros((nx, ny, nz))
    east = east.at[:-1].set(2000.0 * (tke[1:, :, :, NOW] - tke[:-1, :, :, NOW]) / dx[:-1, np.newaxis, np.newaxis] * mask_u[:-1])
    north = north.at[:, :-1].set(2000.0 * (tke[:, 1:, :, NOW] - tke[:, :-1, :, NOW]) / dy[np.newaxis, :-1, np.newaxis] * mask_v[:, :-1])
    tke = tke.at[2:-2, 2:-2, :, NEXT].add(dt * mask_w[2:-2, 2:-2, :] * ( (east[2:-2, 2:-2, :] - east[1:-3, 2:-2, :]) / dx[2:-2, np.newaxis, np.newaxis] + (north[2:-2, 2:-2, :] - north[2:-2, 1:-3, :]) / dy[np.newaxis, 2:-2, np.newaxis]))

    flux_x = np.zeros((nx, ny, nz))
    flux_y = np.zeros((nx, ny, nz))
    flux_z = np.zeros((nx, ny, nz))
    field = tke[:, :, :, NOW]
    step = (field[2:-1, 2:-2] - field[1:-2, 2:-2]) * mask_u[1:-2, 2:-2]
    speed = u[1:-2, 2:-2, :, NOW]
    behind = np.where(speed > 0.0, (field[1:-2, 2:-2] - field[:-3, 2:-2]) * mask_u[:-3, 2:-2], (field[3:, 2:-2] - field[2:-1, 2:-2]) * mask_u[2:-1, 2:-2])
    cr = limiter(behind / np.where(np.abs(step) < 1e-20, 1e-20, step))
    courant = np.abs(speed * dt / dx[1:-2, np.newaxis, np.newaxis])
    flux_x = flux_x.at[1:-2, 2:-2].set(speed * 0.5 * (field[2:-1, 2:-2] + field[1:-2, 2:-2]) -  np.abs(speed) * ((1.0 - cr) + courant * cr) * step * 0.5)
    step = (field[2:-2, 2:-1] - field[2:-2, 1:-2]) * mask_v[2:-2, 1:-2]
    speed = v[2:-2, 1:-2, :, NOW]
    behind = np.where(speed > 0.0, (field[2:-2, 1:-2] - field[2:-2, :-3]) * mask_v[2:-2, :-3], (field[2:-2, 3:] - field[2:-2, 2:-1]) * mask_v[2:-2, 2:-1])
    cr = limiter(behind / np.where(np.abs(step) < 1e-20, 1e-20, step))
    courant = np.abs(speed * dt / dy[np.newaxis, 1:-2, np.newaxis])
    flux_y = flux_y.at[2:-2, 1:-2].set(speed * 0.5 * (field[2:-2, 2:-1] + field[2:-2, 1:-2]) -  np.abs(speed) * ((1.0 - cr) + courant * cr) * step * 0.5)
    padded = np.zeros((nx, ny, nz + 2))
    padded = padded.at[:, :, 1:-1].set(field)
    padded = padded.at[:, :, 0].set(field[:, :, 0])
    padded = padded.at[:, :, -1].set(field[:, :, -1])
    step = (padded[2:-2, 2:-2, 2:-1] - padded[2:-2, 2:-2, 1:-2]) * mask_w[2:-2, 2:-2, :-1]
    speed = w[2:-2, 2:-2, :-1, NOW]
    behind = np.where(speed > 0.0, padded[2:-2, 2:-2, 1:-2] - padded[2:-2, 2:-2, :-3], padded[2:-2, 2:-2, 3:] - padded[2:-2, 2:-2, 2:-1])
    cr = limiter(behind / np.where(np.abs(step) < 1e-20, 1e-20, step))
    courant = np.abs(speed * dt / dz[np.newaxis, np.newaxis, :-1])
    flux_z = flux_z.at[2:-2, 2:-2, :-1].set(speed * 0.5 * (padded[2:-2, 2:-2, 2:-1] + padded[2:-2, 2:-2, 1:-2]) -  np.abs(speed) * ((1.0 - cr) + courant * cr) * step * 0.5)
    change = np.zeros((nx, ny, nz))
    change = change.at[inner].set(mask_w[2:-2, 2:-2] * ( -(flux_x[2:-2, 2:-2] - flux_x[1:-3, 2:-2]) / dx[2:-2, np.newaxis, np.newaxis] - (flux_y[2:-2, 2:-2] - flux_y[2:-2, 1:-3]) / dy[np.newaxis, 2:-2, np.newaxis]))
    change = change.at[:, :, 0].add(-flux_z[:, :, 0] / dz[0])
    change = change.at[:, :, 1:-1].add(-(flux_z[:, :, 1:-1] - flux_z[:, :, :-2]) / dz[np.newaxis, np.newaxis, 1:-1])
    change = change.at[:, :, -1].add(-(flux_z[:, :, -1] - flux_z[:, :, -2]) / (0.5 * dz[-1]))
    tke = tke.at[:, :, :, NEXT].add(dt * change)
    return np.sum(tke[:, :, :, NEXT] ** 2) + np.sum(lowest)


jax.config.update("jax_enable_x64", True)
