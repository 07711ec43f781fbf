"""trisolv in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular

from npbench_suite.jax_ports import triangular
from npbench_suite.jax_ports.arrays import Array


def literal(L: Array, x: Array, b: Array) -> tuple[Array]:
    index = jnp.arange(L.shape[0])

    def row(i, x):
        known = jnp.where(index < i, x, 0.0)
        return x.at[i].set((b[i] - jnp.dot(jnp.where(index < i, L[i], 0.0), known)) / L[i, i])

    return (lax.fori_loop(0, L.shape[0], row, x),)


def idiomatic(L: Array, x: Array, b: Array) -> tuple[Array]:
    """A scan over rows, each one dot product with all of x: what is not solved yet is zero there, so no mask."""
    return (triangular.forward(L, b),)


def matrix(L: Array, x: Array, b: Array) -> tuple[Array]:
    return (solve_triangular(L, b, lower=True),)
