"""cholesky in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports import triangular
from npbench_suite.jax_ports.arrays import Array


def literal(A: Array) -> tuple[Array]:
    n = A.shape[0]
    index = jnp.arange(n)

    def row(i, A):
        def column(j, A):
            done = index < j
            value = (A[i, j] - jnp.dot(jnp.where(done, A[i], 0.0), jnp.where(done, A[j], 0.0))) / A[j, j]
            return A.at[i, j].set(jnp.where(j < i, value, A[i, j]))

        A = lax.fori_loop(0, n, column, A)
        before = jnp.where(index < i, A[i], 0.0)
        return A.at[i, i].set(jnp.sqrt(A[i, i] - jnp.dot(before, before)))

    return (lax.fori_loop(0, n, row, A),)


def idiomatic(A: Array) -> tuple[Array]:
    """A scan over columns with vectorised elimination: `triangular.cholesky` says why not the program's order."""
    return (triangular.cholesky(A) + jnp.triu(A, 1),)


def matrix(A: Array) -> tuple[Array]:
    # Built from the lower triangle alone, so that the derivative does not spread to the upper one.
    symmetric = jnp.tril(A) + jnp.tril(A, -1).T
    return (lax.linalg.cholesky(symmetric, symmetrize_input=False) + jnp.triu(A, 1),)
