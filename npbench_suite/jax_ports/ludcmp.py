"""ludcmp in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular

from npbench_suite.jax_ports import lu, triangular
from npbench_suite.jax_ports.arrays import Array

Results = tuple[Array, Array, Array]


def literal(A: Array, b: Array) -> Results:
    n = A.shape[0]
    index = jnp.arange(n)
    (A,) = lu.literal(A)

    def forward(i, y):
        return y.at[i].set(b[i] - jnp.dot(jnp.where(index < i, A[i], 0.0), y))

    y = lax.fori_loop(0, n, forward, jnp.zeros_like(b))

    def backward(k, x):
        i = n - 1 - k
        return x.at[i].set((y[i] - jnp.dot(jnp.where(index > i, A[i], 0.0), x)) / A[i, i])

    return lax.fori_loop(0, n, backward, jnp.zeros_like(b)), y, A


def idiomatic(A: Array, b: Array) -> Results:
    """Scans over rows: elimination, then both substitutions."""
    A = triangular.lu(A)
    y = triangular.forward(A, b, unit=True)
    return triangular.backward(A, y), y, A


def matrix(A: Array, b: Array) -> Results:
    A = triangular.lu_recursive(A)
    y = solve_triangular(A, b, lower=True, unit_diagonal=True)
    return solve_triangular(A, y), y, A
