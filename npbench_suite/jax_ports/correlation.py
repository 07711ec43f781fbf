"""correlation in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array


def _standardised(float_n: float, data: Array) -> Array:
    centred = data - jnp.mean(data, axis=0)
    variance = jnp.mean(centred * centred, axis=0)
    small = variance <= 0.1 * 0.1
    # The inner selection keeps the derivative of the root away from 0.
    stddev = jnp.where(small, 1.0, jnp.sqrt(jnp.where(small, 1.0, variance)))
    return centred / (jnp.sqrt(float_n) * stddev)


def literal(M: int, float_n: float, data: Array) -> tuple[Array]:
    data = _standardised(float_n, data)
    index = jnp.arange(M)

    def row(i, corr):
        products = data[:, i] @ data
        corr = corr.at[i, :].set(jnp.where(index > i, products, corr[i, :]))
        return corr.at[:, i].set(jnp.where(index > i, products, corr[:, i]))

    return (lax.fori_loop(0, M - 1, row, jnp.eye(M, dtype=data.dtype)),)


def idiomatic(M: int, float_n: float, data: Array) -> tuple[Array]:
    data = _standardised(float_n, data)
    return (jnp.where(jnp.eye(M, dtype=bool), 1.0, data.T @ data),)
