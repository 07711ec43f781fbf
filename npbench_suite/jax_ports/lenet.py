"""JAX ports of lenet."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax
from jax.nn import relu

from npbench_suite.jax_ports.conv2d_bias import convolution, convolution_by_pixels

Operation = Callable[..., Array]


def _pool(x: Array) -> Array:
    batch, height, width, channels = x.shape
    even = x[:, : height // 2 * 2, : width // 2 * 2]
    return even.reshape(batch, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))


def _pool_by_pixels(x: Array) -> Array:
    batch, height, width, channels = x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]

    def pixel(n: Array, output: Array) -> Array:
        i, j = n // width, n % width
        window = lax.dynamic_slice(x, (0, 2 * i, 2 * j, 0), (batch, 2, 2, channels))
        return output.at[:, i, j, :].set(jnp.max(window, axis=(1, 2)))

    return lax.fori_loop(0, height * width, pixel, jnp.zeros((batch, height, width, channels), x.dtype))


def idiomatic(*, input: Array, N: int, C_before_fc1: int, **weights: Array) -> tuple[Array]:
    return _network(convolution, _pool, input, N, C_before_fc1, **weights)


def literal(*, input: Array, N: int, C_before_fc1: int, **weights: Array) -> tuple[Array]:
    return _network(convolution_by_pixels, _pool_by_pixels, input, N, C_before_fc1, **weights)


def _network(
    conv: Operation, pool: Operation, input: Array, N: int, C_before_fc1: int, *,
    conv1: Array, conv1bias: Array, conv2: Array, conv2bias: Array,
    fc1w: Array, fc1b: Array, fc2w: Array, fc2b: Array, fc3w: Array, fc3b: Array,
) -> tuple[Array]:
    x = pool(relu(conv(input, conv1) + conv1bias))
    x = pool(relu(conv(x, conv2) + conv2bias))
    x = x.reshape(N, C_before_fc1)
    x = relu(x @ fc1w + fc1b)
    x = relu(x @ fc2w + fc2b)
    return (x @ fc3w + fc3b,)
