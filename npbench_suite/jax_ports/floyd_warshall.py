"""floyd_warshall in JAX."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

from npbench_suite.jax_ports.arrays import Array

# Bytes of masks, one per step and pair, up to which no step is run twice.
MOST_MASKS = 8 * 10**9


def literal(path: Array) -> tuple[Array]:
    def step(k, path):
        return jnp.minimum(path, jnp.add.outer(path[:, k], path[k, :]))

    return (lax.fori_loop(0, path.shape[0], step, path),)


def idiomatic(path: Array) -> tuple[Array]:
    n = path.shape[0]
    steps = jnp.arange(n)
    if n**3 <= MOST_MASKS:
        return (_stretch(path, steps),)
    # Too many masks to keep: keep the paths at every 50th step or so, and run each stretch twice.
    length = math.isqrt(n)
    whole = n - n % length
    again = jax.checkpoint(_stretch)
    path, _ = lax.scan(lambda path, some: (again(path, some), None), path, steps[:whole].reshape(-1, length))
    return (again(path, steps[whole:]),)


def _stretch(path: Array, steps: Array) -> Array:
    def step(path: Array, k: Array) -> tuple[Array, None]:
        through = path[:, k][:, None] + path[k][None, :]
        # A selection keeps one byte per element for the reverse pass, `minimum` two float64 masks.
        return jnp.where(through < path, through, path), None

    return lax.scan(step, path, steps)[0]
