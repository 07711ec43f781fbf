"""JAX ports of hdiff."""

import jax.numpy as jnp
from jax import Array


def idiomatic(in_field: Array, out_field: Array, coeff: Array) -> tuple[Array]:
    f = in_field
    lap = 4.0 * f[1:-1, 1:-1] - (f[2:, 1:-1] + f[:-2, 1:-1] + f[1:-1, 2:] + f[1:-1, :-2])
    flx = _limited(lap[1:, 1:-1] - lap[:-1, 1:-1], f[2:-1, 2:-2] - f[1:-2, 2:-2])
    fly = _limited(lap[1:-1, 1:] - lap[1:-1, :-1], f[2:-2, 2:-1] - f[2:-2, 1:-2])
    return (f[2:-2, 2:-2] - coeff * (flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1]),)


def _limited(flux: Array, slope: Array) -> Array:
    return jnp.where(flux * slope > 0, 0.0, flux)


def literal(in_field: Array, out_field: Array, coeff: Array) -> tuple[Array]:
    n, m = out_field.shape[0], out_field.shape[1]
    lap = 4.0 * in_field[1 : n + 3, 1 : m + 3, :] - (
        in_field[2 : n + 4, 1 : m + 3, :]
        + in_field[0 : n + 2, 1 : m + 3, :]
        + in_field[1 : n + 3, 2 : m + 4, :]
        + in_field[1 : n + 3, 0 : m + 2, :]
    )
    res = lap[1:, 1 : m + 1, :] - lap[:-1, 1 : m + 1, :]
    flx = jnp.where(res * (in_field[2 : n + 3, 2 : m + 2, :] - in_field[1 : n + 2, 2 : m + 2, :]) > 0, 0, res)
    res = lap[1 : n + 1, 1:, :] - lap[1 : n + 1, :-1, :]
    fly = jnp.where(res * (in_field[2 : n + 2, 2 : m + 3, :] - in_field[2 : n + 2, 1 : m + 2, :]) > 0, 0, res)
    out = in_field[2 : n + 2, 2 : m + 2, :] - coeff * (flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1])
    return (out_field.at[:, :, :].set(out),)
