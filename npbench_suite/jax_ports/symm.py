"""symm in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array


def literal(alpha: float, beta: float, C: Array, A: Array, B: Array) -> tuple[Array]:
    index = jnp.arange(C.shape[0])
    C = C * beta

    def row(i, C):
        before = jnp.where(index < i, A[i], 0.0)

        def column(j, state):
            C, temp2 = state
            C = C.at[:, j].add(alpha * B[i, j] * before)
            return C, temp2.at[j].set(jnp.dot(B[:, j], before))

        C, temp2 = lax.fori_loop(0, C.shape[1], column, (C, jnp.zeros_like(C[0])))
        return C.at[i, :].add(alpha * B[i, :] * A[i, i] + alpha * temp2)

    return (lax.fori_loop(0, C.shape[0], row, C),)


def idiomatic(alpha: float, beta: float, C: Array, A: Array, B: Array) -> tuple[Array]:
    """A scan over rows; what the program scatters into the rows above is gathered, so that nothing is carried."""
    symmetric = jnp.tril(A) + jnp.tril(A, -1).T
    return (beta * C + alpha * lax.map(lambda row: row @ B, symmetric),)


def matrix(alpha: float, beta: float, C: Array, A: Array, B: Array) -> tuple[Array]:
    return (beta * C + alpha * ((jnp.tril(A) + jnp.tril(A, -1).T) @ B),)
