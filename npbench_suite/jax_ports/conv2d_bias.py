"""JAX ports of conv2d_bias, and the convolutions of the other networks."""

import jax.numpy as jnp
from jax import Array, lax


def convolution(input: Array, weights: Array) -> Array:
    """Stride 1, no padding, channels last."""
    return lax.conv_general_dilated(input, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def convolution_by_pixels(input: Array, weights: Array) -> Array:
    """One window of the input per pixel of the output."""
    size, channels = weights.shape[0], weights.shape[3]
    batch, height, width = input.shape[0], input.shape[1] - size + 1, input.shape[2] - size + 1

    def pixel(n: Array, output: Array) -> Array:
        i, j = n // width, n % width
        window = lax.dynamic_slice(input, (0, i, j, 0), (batch, size, size, input.shape[3]))
        summed = jnp.sum(window[..., None] * weights[None], axis=(1, 2, 3))
        return output.at[:, i, j, :].set(summed.astype(output.dtype))

    return lax.fori_loop(0, height * width, pixel, jnp.zeros((batch, height, width, channels), weights.dtype))


def idiomatic(input: Array, weights: Array, bias: Array) -> tuple[Array]:
    return (convolution(input, weights) + bias,)


def literal(input: Array, weights: Array, bias: Array) -> tuple[Array]:
    return (convolution_by_pixels(input, weights) + bias,)
