"""JAX ports of resnet."""

import jax.numpy as jnp
from jax import Array
from jax.nn import relu

from npbench_suite.jax_ports.conv2d_bias import convolution_by_pixels

EPSILON = 1e-5


def _convolution(x: Array, weights: Array) -> Array:
    """A sum of shifted matrix products: XLA has no fast convolution in double precision on CPUs."""
    size = weights.shape[0]
    height, width = x.shape[1] - size + 1, x.shape[2] - size + 1
    products = [x[:, p : p + height, q : q + width] @ weights[p, q] for p in range(size) for q in range(size)]
    return sum(products[1:], products[0])


def _normalised(x: Array) -> Array:
    centred = x - jnp.mean(x, axis=0)
    return centred / jnp.sqrt(jnp.sqrt(jnp.mean(centred**2, axis=0)) + EPSILON)


def _normalised_with_constants(x: Array) -> Array:
    """As `_normalised` where a pixel may be the same in the whole batch: the root is not taken at 0."""
    variance = jnp.var(x, axis=0, keepdims=True)
    constant = variance == 0
    deviation = jnp.where(constant, 0.0, jnp.sqrt(jnp.where(constant, 1.0, variance)))
    return (x - jnp.mean(x, axis=0, keepdims=True)) / jnp.sqrt(deviation + EPSILON)


def idiomatic(input: Array, conv1: Array, conv2: Array, conv3: Array) -> tuple[Array]:
    # The margin is 0 before and after the normalisation, so it can come last.
    x = _convolution(input, conv1).astype(jnp.float64)
    x = jnp.pad(relu(_normalised(x)), ((0, 0), (1, 1), (1, 1), (0, 0)))
    x = _convolution(x, conv2.astype(x.dtype)).astype(conv2.dtype)
    x = relu(_normalised(x))
    x = _normalised(_convolution(x, conv3))
    return (relu(x + input),)


def literal(input: Array, conv1: Array, conv2: Array, conv3: Array) -> tuple[Array]:
    n, h, w, _ = input.shape
    padded = jnp.zeros((n, h + 2, w + 2, conv1.shape[3]), jnp.float64)
    padded = padded.at[:, 1:-1, 1:-1, :].set(convolution_by_pixels(input, conv1).astype(jnp.float64))
    x = relu(_normalised_with_constants(padded))
    x = relu(_normalised_with_constants(convolution_by_pixels(x, conv2)))
    x = _normalised_with_constants(convolution_by_pixels(x, conv3))
    return (relu(x + input),)
