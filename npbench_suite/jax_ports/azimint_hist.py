"""JAX ports of azimint_hist."""

import jax.numpy as jnp
from jax import Array, lax


def idiomatic(data: Array, radius: Array, npt: int) -> tuple[Array]:
    bins = _bins(lax.stop_gradient(radius), npt)
    counts = jnp.zeros(npt, data.dtype).at[bins].add(1.0)
    return (jnp.zeros(npt, data.dtype).at[bins].add(data) / counts,)


def _bins(radius: Array, npt: int) -> Array:
    """The bin of every element: computed, then put right by at most one where rounding crossed an edge."""
    low, high = jnp.min(radius), jnp.max(radius)
    pad = jnp.where(low == high, 0.5, 0.0)
    low, high = low - pad, high + pad
    edges = jnp.linspace(low, high, npt + 1)
    bins = jnp.minimum(((radius - low) * (npt / (high - low))).astype(jnp.int32), npt - 1)
    bins = bins - (radius < edges[bins])
    return bins + ((radius >= edges[bins + 1]) & (bins != npt - 1))


def literal(data: Array, radius: Array, npt: int) -> tuple[Array]:
    histu = jnp.histogram(radius, npt)[0]
    histw = jnp.histogram(radius, npt, weights=data)[0]
    return (histw / histu,)
