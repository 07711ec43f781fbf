"""lu in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports import triangular
from npbench_suite.jax_ports.arrays import Array


def literal(A: Array) -> tuple[Array]:
    n = A.shape[0]
    index = jnp.arange(n)

    def row(i, A):
        def element(j, A):
            limit = jnp.minimum(i, j)
            done = index < limit
            value = A[i, j] - jnp.dot(jnp.where(done, A[i], 0.0), jnp.where(done, A[:, j], 0.0))
            return A.at[i, j].set(jnp.where(j < i, value / A[j, j], value))

        return lax.fori_loop(0, n, element, A)

    return (lax.fori_loop(0, n, row, A),)


def idiomatic(A: Array) -> tuple[Array]:
    """A scan over rows with vectorised elimination: `triangular.lu` says why not the program's order."""
    return (triangular.lu(A),)


def matrix(A: Array) -> tuple[Array]:
    # JAX's own factorisation pivots, which gives other factors.
    return (triangular.lu_recursive(A),)
