"""gramschmidt in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array, blocks

Results = tuple[Array, Array, Array]


def literal(A: Array) -> Results:
    n = A.shape[1]

    def step(k, state):
        A, Q, R = state
        R = R.at[k, k].set(jnp.sqrt(jnp.dot(A[:, k], A[:, k])))
        Q = Q.at[:, k].set(A[:, k] / R[k, k])

        def project(j, state):
            A, R = state
            product = jnp.where(j > k, jnp.dot(Q[:, k], A[:, j]), 0.0)
            R = R.at[k, j].add(product)
            return A.at[:, j].add(-Q[:, k] * product), R

        A, R = lax.fori_loop(0, n, project, (A, R))
        return A, Q, R

    A, Q, R = lax.fori_loop(0, n, step, (A, jnp.zeros_like(A), jnp.zeros((n, n), A.dtype)))
    return Q, R, A


def idiomatic(A: Array) -> Results:
    """Blocks of columns: inside a block one projection per scan step, then one matrix product for all later columns."""
    n = A.shape[1]
    rest = A.T  # columns as contiguous rows
    directions, coefficients = [], []
    for low, high in blocks(n, 24, 24):
        width = high - low
        q, r = _panel(rest[:width])
        later = rest[width:]
        products = q @ later.T
        rest = later - products.T @ q
        directions.append(q)
        coefficients.append(jnp.concatenate([jnp.zeros((width, low), A.dtype), r, products], axis=1))
    Q, R = jnp.concatenate(directions).T, jnp.concatenate(coefficients)
    # What remains of column j is its own part, R[j, j] times direction j.
    return Q, R, Q * jnp.diagonal(R)


def matrix(A: Array) -> Results:
    Q, R = jnp.linalg.qr(A)
    # Gram-Schmidt is the decomposition with a positive diagonal.
    sign = jnp.sign(jnp.diagonal(R))
    return Q * sign, sign[:, None] * R, Q * jnp.diagonal(R)


def _panel(panel: Array) -> tuple[Array, Array]:
    index = jnp.arange(panel.shape[0])

    def step(rest: Array, k: Array) -> tuple[Array, tuple[Array, Array]]:
        norm = jnp.sqrt(jnp.dot(rest[k], rest[k]))
        q = rest[k] / norm
        products = jnp.where(index > k, rest @ q, 0.0)
        return rest - products[:, None] * q, (q, jnp.where(index == k, norm, products))

    return lax.scan(step, panel, index)[1]
