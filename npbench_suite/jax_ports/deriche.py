"""deriche in JAX."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array


def _coefficients(alpha: float) -> tuple[Array, Array, Array, Array, Array, Array]:
    E, E2 = jnp.exp(-alpha), jnp.exp(-2.0 * alpha)
    k = (1.0 - E) * (1.0 - E) / (1.0 + alpha * E - jnp.exp(2.0 * alpha))
    return k, k * E * (alpha - 1.0), k * E * (alpha + 1.0), -k * E2, jnp.asarray(2.0) ** (-alpha), -E2


def literal(alpha: float, imgIn: Array) -> tuple[Array]:
    a1, a2, a3, a4, b1, b2 = _coefficients(alpha)

    def filtered(x):
        """Both recurrences along axis 1."""
        n = x.shape[1]
        y1 = jnp.zeros_like(x).at[:, 0].set(a1 * x[:, 0])
        y1 = y1.at[:, 1].set(a1 * x[:, 1] + a2 * x[:, 0] + b1 * y1[:, 0])
        y1 = lax.fori_loop(
            2, n, lambda j, y: y.at[:, j].set(
                a1 * x[:, j] + a2 * x[:, j - 1] + b1 * y[:, j - 1] + b2 * y[:, j - 2]), y1)
        y2 = jnp.zeros_like(x).at[:, -2].set(a3 * x[:, -1])
        y2 = lax.fori_loop(
            0, n - 2, lambda k, y: y.at[:, n - 3 - k].set(
                a3 * x[:, n - 2 - k] + a4 * x[:, n - 1 - k]
                + b1 * y[:, n - 2 - k] + b2 * y[:, n - 1 - k]), y2)
        return y1 + y2

    return (filtered(filtered(imgIn).T).T,)


def idiomatic(alpha: float, imgIn: Array) -> tuple[Array]:
    a1, a2, a3, a4, b1, b2 = _coefficients(alpha)

    def step(before: tuple[Array, Array], row: Array) -> tuple[tuple[Array, Array], Array]:
        y = row + b1 * before[0] + b2 * before[1]
        return (y, before[0]), y

    def filtered(x: Array) -> Array:
        """Both recurrences along axis 0, whole rows at a time."""
        zero = jnp.zeros_like(x[:1])
        start = (zero[0], zero[0])
        down = a1 * x + a2 * jnp.concatenate([zero, x[:-1]])
        up = a3 * jnp.concatenate([x[1:], zero]) + a4 * jnp.concatenate([x[2:], zero, zero])
        # One scan per direction: a single one for both would copy the image to turn it round.
        return lax.scan(step, start, down, unroll=2)[1] + lax.scan(step, start, up, reverse=True, unroll=2)[1]

    return (filtered(filtered(imgIn.T).T),)
