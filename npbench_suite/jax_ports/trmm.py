"""trmm in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array


def literal(alpha: float, A: Array, B: Array) -> tuple[Array]:
    m, n = B.shape
    index = jnp.arange(m)

    def row(i, B):
        after = jnp.where(index > i, A[:, i], 0.0)
        return lax.fori_loop(0, n, lambda j, B: B.at[i, j].add(jnp.dot(after, B[:, j])), B)

    return (lax.fori_loop(0, m, row, B) * alpha,)


def idiomatic(alpha: float, A: Array, B: Array) -> tuple[Array]:
    """A scan over rows: what a row adds is rows below it that no step has changed yet, so the array is not carried."""
    below = jnp.triu(A.T, 1)
    return (alpha * (B + lax.map(lambda row: row @ B, below)),)


def matrix(alpha: float, A: Array, B: Array) -> tuple[Array]:
    return (alpha * (B + jnp.tril(A, -1).T @ B),)
