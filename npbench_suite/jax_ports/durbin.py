"""durbin in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array, blocks


def literal(r: Array) -> tuple[Array]:
    n = r.shape[0]
    index = jnp.arange(n)

    def step(k, state):
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        mirror = jnp.clip(k - 1 - index, 0, n - 1)
        alpha = -(r[k] + jnp.dot(jnp.where(index < k, r[mirror], 0.0), y)) / beta
        y = y + alpha * jnp.where(index < k, y[mirror], 0.0)
        return y.at[k].set(alpha), alpha, beta

    start = (jnp.zeros_like(r).at[0].set(-r[0]), -r[0], jnp.ones((), r.dtype))
    return (lax.fori_loop(1, n, step, start)[0],)


def idiomatic(r: Array) -> tuple[Array]:
    n = r.shape[0]
    y, state = jnp.zeros(0, r.dtype), (-r[0], jnp.ones((), r.dtype))
    # y grows: each stretch of steps works on, and keeps for the reverse pass, only the length it needs.
    for low, high in blocks(n, 64, 6):
        y = jnp.concatenate([y, jnp.zeros(high - low, r.dtype)])
        if low == 0:
            y, low = y.at[0].set(-r[0]), 1
        if low < high:
            y, state = _stretch(r[:high], y, state, low)
    return (y,)


def _stretch(r: Array, y: Array, state: tuple[Array, Array], low: int) -> tuple[Array, tuple[Array, Array]]:
    n = r.shape[0]
    mirrored = jnp.concatenate([r[::-1], jnp.zeros_like(r)])
    index = jnp.arange(n)

    # Of every step only y is kept; the windows are cut once more on the way back.
    @jax.checkpoint
    def step(carry: tuple[Array, Array, Array], at: tuple[Array, Array]) -> tuple[tuple[Array, Array, Array], None]:
        y, alpha, beta = carry
        k, value = at
        beta = beta * (1.0 - alpha * alpha)
        # From n - k on, the mirrored r is r[k-1], ..., r[0] and then zeros, and so is the mirrored y.
        alpha = -(value + jnp.sum(lax.dynamic_slice(mirrored, (n - k,), (n,)) * y)) / beta
        turned = lax.dynamic_slice(jnp.concatenate([y[::-1], jnp.zeros_like(y)]), (n - k,), (n,))
        return (jnp.where(index == k, alpha, y + alpha * turned), alpha, beta), None

    (y, *rest), _ = lax.scan(step, (y, *state), (jnp.arange(low, n), r[low:]))
    return y, (rest[0], rest[1])
