"""JAX ports of mlp."""

import jax
import jax.numpy as jnp
from jax import Array


def idiomatic(input: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> tuple[Array]:
    x = jax.nn.relu(input @ w1 + b1)
    x = jax.nn.relu(x @ w2 + b2)
    return (jax.nn.softmax(x @ w3 + b3, axis=-1),)


def literal(input: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> tuple[Array]:
    x = jnp.maximum(input @ w1 + b1, 0)
    x = jnp.maximum(x @ w2 + b2, 0)
    x = x @ w3 + b3
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return (e / jnp.sum(e, axis=-1, keepdims=True),)
