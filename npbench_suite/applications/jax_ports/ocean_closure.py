"""JAX port of ocean_closure: functional updates, scans over levels."""

import jax.numpy as jnp
from jax import lax

NOW, NEXT = 1, 2


def solve_tridiagonal(a, b, c, d):
    a, b, c, d = (jnp.moveaxis(x, 2, 0) for x in (a, b, c, d))

    def forward(carry, row):
        upper, right = carry
        ak, bk, ck, dk = row
        pivot = bk - ak * upper
        new = ck / pivot, (dk - ak * right) / pivot
        return new, new

    first = c[0] / b[0], d[0] / b[0]
    _, (upper, right) = lax.scan(forward, first, (a[1:], b[1:], c[1:], d[1:]))
    upper = jnp.concatenate([first[0][None], upper])
    right = jnp.concatenate([first[1][None], right])

    def backward(below, row):
        upper, right = row
        x = right - upper * below
        return x, x

    _, x = lax.scan(backward, right[-1], (upper[:-1], right[:-1]), reverse=True)
    return jnp.moveaxis(jnp.concatenate([x, right[-1:]]), 0, 2)


def limiter(ratio):
    """Superbee flux limiter (Roe 1985)."""
    return jnp.maximum(0.0, jnp.maximum(jnp.minimum(1.0, 2.0 * ratio), jnp.minimum(2.0, ratio)))


def solve_columns(bottom, a, b, c, d, edge):
    level = jnp.arange(a.shape[2])
    land = (bottom >= 0)[:, :, None]
    floor = land & (level == bottom[:, :, None])
    water = land & (level >= bottom[:, :, None])
    lower = water * a * jnp.logical_not(floor)
    main = jnp.where(floor, edge, jnp.where(water, b, 1.0))
    upper = water * c
    right = jnp.where(water, d, 0.0)
    return solve_tridiagonal(lower, main, upper, right), water


def implicit_system(tke, viscosity, length, forcing, surface, dz, depth, dt):
    coupling = jnp.zeros(tke.shape)
    coupling = coupling.at[:, :, :-1].set(dt / depth[1:] * 0.5 * (viscosity[:, :, :-1] + viscosity[:, :, 1:]))
    loss = dt * 0.7 / length * jnp.sqrt(jnp.maximum(0.0, tke))
    a = jnp.zeros(tke.shape)
    b = jnp.zeros(tke.shape)
    c = jnp.zeros(tke.shape)
    a = a.at[:, :, 1:-1].set(-coupling[:, :, :-2] / dz[1:-1])
    a = a.at[:, :, -1].set(-coupling[:, :, -2] / (0.5 * dz[-1]))
    b = b.at[:, :, 1:-1].set(1.0 + (coupling[:, :, 1:-1] + coupling[:, :, :-2]) / dz[1:-1] + loss[:, :, 1:-1])
    b = b.at[:, :, -1].set(1.0 + coupling[:, :, -2] / (0.5 * dz[-1]) + loss[:, :, -1])
    c = c.at[:, :, :-1].set(-coupling[:, :, :-1] / dz[:-1])
    d = tke + dt * forcing
    d = d.at[:, :, -1].add(dt * surface / (0.5 * dz[-1]))
    return a, b, c, d, 1.0 + coupling / dz[:] + loss


def flux(speed, step, before, after, both, spacing, dt):
    behind = jnp.where(speed > 0.0, before, after)
    cr = limiter(behind / jnp.where(jnp.abs(step) < 1e-20, 1e-20, step))
    courant = jnp.abs(speed * dt / spacing)
    return speed * 0.5 * both - jnp.abs(speed) * ((1.0 - cr) + courant * cr) * step * 0.5


def advection(u, v, w, field, mask_u, mask_v, mask_w, dx, dy, dz, dt):
    flux_x = jnp.zeros(field.shape)
    flux_y = jnp.zeros(field.shape)
    flux_z = jnp.zeros(field.shape)
    x = (field[1:, 2:-2] - field[:-1, 2:-2]) * mask_u[:-1, 2:-2]
    flux_x = flux_x.at[1:-2, 2:-2].set(
        flux(
            u[1:-2, 2:-2, :, NOW],
            x[1:-1],
            x[:-2],
            x[2:],
            field[2:-1, 2:-2] + field[1:-2, 2:-2],
            dx[1:-2, None, None],
            dt,
        )
    )
    y = (field[2:-2, 1:] - field[2:-2, :-1]) * mask_v[2:-2, :-1]
    flux_y = flux_y.at[2:-2, 1:-2].set(
        flux(
            v[2:-2, 1:-2, :, NOW],
            y[:, 1:-1],
            y[:, :-2],
            y[:, 2:],
            field[2:-2, 2:-1] + field[2:-2, 1:-2],
            dy[None, 1:-2, None],
            dt,
        )
    )
    padded = jnp.zeros((field.shape[0], field.shape[1], field.shape[2] + 2))
    padded = padded.at[:, :, 1:-1].set(field)
    padded = padded.at[:, :, 0].set(field[:, :, 0])
    padded = padded.at[:, :, -1].set(field[:, :, -1])
    z = padded[2:-2, 2:-2, 1:] - padded[2:-2, 2:-2, :-1]
    flux_z = flux_z.at[2:-2, 2:-2, :-1].set(
        flux(
            w[2:-2, 2:-2, :-1, NOW],
            z[:, :, 1:-1] * mask_w[2:-2, 2:-2, :-1],
            z[:, :, :-2],
            z[:, :, 2:],
            padded[2:-2, 2:-2, 2:-1] + padded[2:-2, 2:-2, 1:-2],
            dz[:-1],
            dt,
        )
    )
    change = jnp.zeros(field.shape)
    change = change.at[2:-2, 2:-2].set(
        mask_w[2:-2, 2:-2]
        * (
            -(flux_x[2:-2, 2:-2] - flux_x[1:-3, 2:-2]) / dx[2:-2, None, None]
            - (flux_y[2:-2, 2:-2] - flux_y[2:-2, 1:-3]) / dy[None, 2:-2, None]
        )
    )
    change = change.at[:, :, 0].add(-flux_z[:, :, 0] / dz[0])
    change = change.at[:, :, 1:-1].add(-(flux_z[:, :, 1:-1] - flux_z[:, :, :-2]) / dz[1:-1])
    return change.at[:, :, -1].add(-(flux_z[:, :, -1] - flux_z[:, :, -2]) / (0.5 * dz[-1]))


def program(u, v, w, tke, mask_u, mask_v, mask_w, dx, dy, dz, depth, bottom, viscosity, length, forcing, surface, dt):
    nx, ny, nz = tke.shape[:3]
    inner = (slice(2, -2), slice(2, -2))
    system = implicit_system(
        tke[2:-2, 2:-2, :, NOW], viscosity[inner], length[inner], forcing[inner], surface[inner], dz, depth, dt
    )
    found, water = solve_columns(bottom[inner], *system)
    tke = tke.at[2:-2, 2:-2, :, NEXT].set(jnp.where(water, found, tke[2:-2, 2:-2, :, NEXT]))

    lowest = jnp.zeros((nx, ny))
    lowest = lowest.at[inner].set(
        jnp.where((tke[2:-2, 2:-2, -1, NEXT] < 0.0), -tke[2:-2, 2:-2, -1, NEXT] * 0.5 * dz[-1], 0.0)
    )
    tke = tke.at[2:-2, 2:-2, -1, NEXT].set(jnp.maximum(0.0, tke[2:-2, 2:-2, -1, NEXT]))

    east = jnp.zeros((nx, ny, nz))
    north = jnp.zeros((nx, ny, nz))
    east = east.at[:-1].set(2000.0 * (tke[1:, :, :, NOW] - tke[:-1, :, :, NOW]) / dx[:-1, None, None] * mask_u[:-1])
    north = north.at[:, :-1].set(
        2000.0 * (tke[:, 1:, :, NOW] - tke[:, :-1, :, NOW]) / dy[None, :-1, None] * mask_v[:, :-1]
    )
    tke = tke.at[2:-2, 2:-2, :, NEXT].add(
        dt
        * mask_w[2:-2, 2:-2, :]
        * (
            (east[2:-2, 2:-2, :] - east[1:-3, 2:-2, :]) / dx[2:-2, None, None]
            + (north[2:-2, 2:-2, :] - north[2:-2, 1:-3, :]) / dy[None, 2:-2, None]
        )
    )
    tke = tke.at[:, :, :, NEXT].add(dt * advection(u, v, w, tke[:, :, :, NOW], mask_u, mask_v, mask_w, dx, dy, dz, dt))
    return jnp.sum(tke[:, :, :, NEXT] ** 2) + jnp.sum(lowest)
