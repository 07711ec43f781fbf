"""JAX ports of arc_distance: the program is one expression, and both ports spell it alike."""

import jax.numpy as jnp
from jax import Array


def idiomatic(theta_1: Array, phi_1: Array, theta_2: Array, phi_2: Array) -> tuple[Array]:
    t = jnp.sin((theta_2 - theta_1) / 2) ** 2 + jnp.cos(theta_1) * jnp.cos(theta_2) * jnp.sin((phi_2 - phi_1) / 2) ** 2
    return (2 * jnp.arctan2(jnp.sqrt(t), jnp.sqrt(1 - t)),)


literal = idiomatic
