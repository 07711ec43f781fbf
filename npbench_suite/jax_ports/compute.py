"""JAX ports of compute: the program is one expression, and both ports spell it alike."""

import jax.numpy as jnp
from jax import Array


def idiomatic(array_1: Array, array_2: Array, a: float, b: float, c: float) -> tuple[Array]:
    return (jnp.clip(array_1, 2, 10) * a + array_2 * b + c,)


literal = idiomatic
