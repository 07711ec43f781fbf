"""covariance in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array


def literal(M: int, float_n: float, data: Array) -> tuple[Array]:
    data = data - jnp.mean(data, axis=0)
    index = jnp.arange(M)

    def row(i, cov):
        products = data[:, i] @ data / (float_n - 1.0)
        cov = cov.at[i, :].set(jnp.where(index >= i, products, cov[i, :]))
        return cov.at[:, i].set(jnp.where(index >= i, products, cov[:, i]))

    return (lax.fori_loop(0, M, row, jnp.zeros((M, M), data.dtype)),)


def idiomatic(M: int, float_n: float, data: Array) -> tuple[Array]:
    data = data - jnp.mean(data, axis=0)
    return (data.T @ data / (float_n - 1.0),)
