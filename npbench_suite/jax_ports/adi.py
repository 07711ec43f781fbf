"""adi in JAX."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from npbench_suite.jax_ports.arrays import Array, repeat


def literal(TSTEPS: int, N: int, u: Array) -> tuple[Array]:
    m1, m2 = 2.0 * N * N / TSTEPS, 1.0 * N * N / TSTEPS
    a, b, d, e = -m1 / 2.0, 1.0 + m2, -m2 / 2.0, 1.0 + m2
    c, f = a, d
    inner = slice(1, N - 1)

    def time_step(t, state):
        u, v, p, q = state
        v = v.at[0, inner].set(1.0)
        p = p.at[inner, 0].set(0.0)
        q = q.at[inner, 0].set(1.0)

        def first_down(j, state):
            p, q = state
            den = a * p[inner, j - 1] + b
            right = -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[inner, j - 1]
            return p.at[inner, j].set(-c / den), q.at[inner, j].set(right / den)

        p, q = lax.fori_loop(1, N - 1, first_down, (p, q))
        v = v.at[N - 1, inner].set(1.0)
        v = lax.fori_loop(
            0, N - 2, lambda k, v: v.at[N - 2 - k, inner].set(
                p[inner, N - 2 - k] * v[N - 1 - k, inner] + q[inner, N - 2 - k]), v)
        u = u.at[inner, 0].set(1.0)
        p = p.at[inner, 0].set(0.0)
        q = q.at[inner, 0].set(1.0)

        def second_down(j, state):
            p, q = state
            den = d * p[inner, j - 1] + e
            right = -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - c * v[2:, j] - d * q[inner, j - 1]
            return p.at[inner, j].set(-f / den), q.at[inner, j].set(right / den)

        p, q = lax.fori_loop(1, N - 1, second_down, (p, q))
        u = u.at[inner, N - 1].set(1.0)
        u = lax.fori_loop(
            0, N - 2, lambda k, u: u.at[inner, N - 2 - k].set(
                p[inner, N - 2 - k] * u[inner, N - 1 - k] + q[inner, N - 2 - k]), u)
        return u, v, p, q

    zero = jnp.zeros_like(u)
    return (lax.fori_loop(0, TSTEPS, time_step, (u, zero, zero, zero))[0],)


def idiomatic(TSTEPS: int, N: int, u: Array) -> tuple[Array]:
    m1, m2 = 2.0 * N * N / TSTEPS, 1.0 * N * N / TSTEPS
    a, d = -m1 / 2.0, -m2 / 2.0
    first = _coefficients(a, 1.0 + m2, N)
    second = _coefficients(d, 1.0 + m2, N)

    def time_step(rows: Array) -> Array:
        right = -d * (rows[:, :-2] + rows[:, 2:]) + (1.0 + 2.0 * d) * rows[:, 1:-1]
        v = jnp.pad(_thomas(right, a, *first), ((1, 1), (0, 0)), constant_values=1.0)
        right = -a * (v[:-2] + v[2:]) + (1.0 + 2.0 * a) * v[1:-1]
        columns = _thomas(right.T, d, *second)
        return jnp.pad(columns, ((1, 1), (0, 0)), constant_values=1.0).T

    return (jnp.concatenate([u[:1], repeat(time_step, u[1:-1], TSTEPS), u[-1:]]),)


def _coefficients(a: float, b: float, N: int) -> tuple[np.ndarray, np.ndarray]:
    """p and the reciprocal pivots: they depend on the sizes only."""
    p, inverse = np.zeros(N - 1), np.zeros(N - 1)
    for j in range(1, N - 1):
        inverse[j] = 1.0 / (a * p[j - 1] + b)
        p[j] = -a * inverse[j]
    return p[1:], inverse[1:]


def _thomas(right: Array, a: float, p: np.ndarray, inverse: np.ndarray) -> Array:
    """The recurrences along axis 0, whole rows at a time; both start from rows of ones."""
    one = jnp.ones_like(right[0])

    def down(q: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        r, factor = row
        q = (r - a * q) * factor
        return q, q

    def up(x: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        q, factor = row
        x = factor * x + q
        return x, x

    q = lax.scan(down, one, (right, jnp.asarray(inverse)))[1]
    return lax.scan(up, one, (q, jnp.asarray(p)), reverse=True)[1]
