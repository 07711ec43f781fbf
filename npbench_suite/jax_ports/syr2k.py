"""syr2k in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array, blocks


def literal(alpha: float, beta: float, C: Array, A: Array, B: Array) -> tuple[Array]:
    n, m = A.shape
    index = jnp.arange(n)

    def row(i, C):
        C = C.at[i, :].multiply(jnp.where(index <= i, beta, 1.0))

        def term(k, C):
            update = A[:, k] * alpha * B[i, k] + B[:, k] * alpha * A[i, k]
            return C.at[i, :].add(jnp.where(index <= i, update, 0.0))

        return lax.fori_loop(0, m, term, C)

    return (lax.fori_loop(0, n, row, C),)


def idiomatic(alpha: float, beta: float, C: Array, A: Array, B: Array) -> tuple[Array]:
    """A scan over rows, each two products of a matrix with a row; the triangle is cut out once, at the end."""
    product = lax.map(lambda rows: A @ rows[1] + B @ rows[0], (A, B))
    return (jnp.tril(beta * C + alpha * product) + jnp.triu(C, 1),)


def matrix(alpha: float, beta: float, C: Array, A: Array, B: Array) -> tuple[Array]:
    """Matrix products for blocks of rows, each only as wide as the triangle: faster than one full product."""
    rows = []
    for low, high in blocks(A.shape[0], 64, 16):
        update = A[low:high] @ B[:high].T + B[low:high] @ A[:high].T
        old = C[low:high, :high]
        lower = jnp.tril(jnp.ones((high - low, high), bool), low)
        rows.append(jnp.concatenate([jnp.where(lower, beta * old + alpha * update, old), C[low:high, high:]], axis=1))
    return (jnp.concatenate(rows),)
