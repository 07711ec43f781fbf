"""JAX port of ocean_mixing: functional updates."""

import jax.numpy as jnp


def taper(slope, steepest=0.004, width=0.001):
    """How much of the mixing is left where surfaces of equal density are steep."""
    return 0.5 * (1.0 + jnp.tanh((steepest - jnp.abs(slope)) / width))


def program(temp, salt, mask, dx, dy, dz, kappa):
    alpha, beta = -0.17 + 0.001 * temp, 0.78 - 0.0005 * salt
    nx, ny, nz = temp.shape
    tx = (temp[1:] - temp[:-1]) / dx * mask[1:] * mask[:-1]
    sx = (salt[1:] - salt[:-1]) / dx * mask[1:] * mask[:-1]
    ty = (temp[:, 1:] - temp[:, :-1]) / dy * mask[:, 1:] * mask[:, :-1]
    sy = (salt[:, 1:] - salt[:, :-1]) / dy * mask[:, 1:] * mask[:, :-1]
    between = 0.5 * (dz[1:] + dz[:-1])
    inside = mask[:, :, 1:] * mask[:, :, :-1]
    tz = jnp.zeros(temp.shape).at[:, :, :-1].set((temp[:, :, 1:] - temp[:, :, :-1]) / between * inside)
    sz = jnp.zeros(temp.shape).at[:, :, :-1].set((salt[:, :, 1:] - salt[:, :, :-1]) / between * inside)
    rising = jnp.zeros((nx, ny, nz))

    def triads(rising, axis, dtx, dsx):
        n = (nx, ny)[axis]
        face = [nx, ny, nz]
        face[axis] -= 1
        across, cross = jnp.zeros(face), jnp.zeros(face)
        for kr in range(2):
            below = 1 if kr == 0 else 0
            level = slice(below, nz - 1 + below)
            for ip in range(2):
                cell = (slice(ip, n - 1 + ip),) if axis == 0 else (slice(None), slice(ip, n - 1 + ip))
                at, over = (
                    (*cell, level) if axis else (*cell, slice(None), level),
                    (*cell, slice(0, nz - 1)) if axis else (*cell, slice(None), slice(0, nz - 1)),
                )
                a, b = alpha[at], beta[at]
                horizontal = a * dtx[:, :, level] + b * dsx[:, :, level]
                vertical = jnp.minimum(0.0, a * tz[over] + b * sz[over]) - 1e-8
                slope = -horizontal / vertical
                share = 0.25 * dz[level] / dz[: nz - 1] * kappa * taper(slope)
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
    return jnp.sum(new * new)
