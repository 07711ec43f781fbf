"""gemver in JAX."""

import jax.numpy as jnp

from npbench_suite.jax_ports.arrays import Array

Results = tuple[Array, Array, Array]


def literal(
    alpha: float, beta: float, A: Array, u1: Array, v1: Array, u2: Array, v2: Array,
    w: Array, x: Array, y: Array, z: Array,
) -> Results:
    A = A + jnp.outer(u1, v1) + jnp.outer(u2, v2)
    x = x + beta * y @ A + z
    return A, w + alpha * A @ x, x


def idiomatic(
    alpha: float, beta: float, A: Array, u1: Array, v1: Array, u2: Array, v2: Array,
    w: Array, x: Array, y: Array, z: Array,
) -> Results:
    A = A + u1[:, None] * v1 + u2[:, None] * v2
    x = x + beta * (y @ A) + z
    return A, w + alpha * (A @ x), x
