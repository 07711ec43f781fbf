"""trmm in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array, blocks


def literal(alpha: float, A: Array, B: Array) -> tuple[Array]:
    m, n = B.shape
    index = jnp.arange(m)

    def row(i, B):
        after = jnp.where(index > i, A[:, i], 0.0)
        return lax.fori_loop(0, n, lambda j, B: B.at[i, j].add(jnp.dot(after, B[:, j])), B)

    return (lax.fori_loop(0, m, row, B) * alpha,)


def idiomatic(alpha: float, A: Array, B: Array) -> tuple[Array]:
    """Blocks of rows, each only as long as the triangle."""
    rows = []
    for low, high in blocks(B.shape[0], 64, 16):
        own = jnp.tril(A[low:high, low:high], -1).T @ B[low:high]
        rows.append(alpha * (B[low:high] + own + A[high:, low:high].T @ B[high:]))
    return (jnp.concatenate(rows),)


def matrix(alpha: float, A: Array, B: Array) -> tuple[Array]:
    return (alpha * (B + jnp.tril(A, -1).T @ B),)
