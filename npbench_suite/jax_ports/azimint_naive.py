"""JAX ports of azimint_naive."""

import jax.numpy as jnp
from jax import Array, lax


def idiomatic(data: Array, radius: Array, npt: int) -> tuple[Array]:
    bins = _bins(lax.stop_gradient(radius), npt)
    counts = jnp.zeros(npt, data.dtype).at[bins].add(1.0, mode="drop")
    return (jnp.zeros(npt, data.dtype).at[bins].add(data, mode="drop") / counts,)


def _bins(radius: Array, npt: int) -> Array:
    """The bin of every element, npt for none: computed, then put right where rounding crossed an edge."""
    rmax = jnp.max(radius)
    edges = rmax * jnp.arange(npt + 1) / npt
    bins = jnp.minimum((radius * (npt / rmax)).astype(jnp.int32), npt - 1)
    bins = bins - (radius < edges[bins])
    return bins + (radius >= edges[bins + 1])


def literal(data: Array, radius: Array, npt: int) -> tuple[Array]:
    rmax = jnp.max(radius)

    def mean_of_bin(i: Array, res: Array) -> Array:
        inside = (rmax * i / npt <= radius) & (radius < rmax * (i + 1) / npt)
        return res.at[i].set(jnp.sum(jnp.where(inside, data, 0.0)) / jnp.sum(inside))

    return (lax.fori_loop(0, npt, mean_of_bin, jnp.zeros(npt, data.dtype)),)
