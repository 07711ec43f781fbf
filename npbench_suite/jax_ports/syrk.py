"""syrk in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array, blocks


def literal(alpha: float, beta: float, C: Array, A: Array) -> tuple[Array]:
    n, m = A.shape
    index = jnp.arange(n)

    def row(i, C):
        C = C.at[i, :].multiply(jnp.where(index <= i, beta, 1.0))

        def term(k, C):
            return C.at[i, :].add(jnp.where(index <= i, alpha * A[i, k] * A[:, k], 0.0))

        return lax.fori_loop(0, m, term, C)

    return (lax.fori_loop(0, n, row, C),)


def idiomatic(alpha: float, beta: float, C: Array, A: Array) -> tuple[Array]:
    """A scan over rows, each one product of the matrix with a row; the triangle is cut out once, at the end."""
    product = lax.map(lambda row: A @ row, A)
    return (jnp.tril(beta * C + alpha * product) + jnp.triu(C, 1),)


def matrix(alpha: float, beta: float, C: Array, A: Array) -> tuple[Array]:
    """Matrix products for blocks of rows, each only as wide as the triangle: faster than one full product."""
    rows = []
    for low, high in blocks(A.shape[0], 64, 16):
        old = C[low:high, :high]
        lower = jnp.tril(jnp.ones((high - low, high), bool), low)
        updated = jnp.where(lower, beta * old + alpha * (A[low:high] @ A[:high].T), old)
        rows.append(jnp.concatenate([updated, C[low:high, high:]], axis=1))
    return (jnp.concatenate(rows),)
