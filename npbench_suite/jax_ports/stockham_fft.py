"""JAX ports of stockham_fft."""

import jax.numpy as jnp
import numpy as np
from jax import Array


def _unit_roots(rows: int, columns: int, order: int) -> Array:
    angle = (-2.0 * np.pi / order) * jnp.outer(jnp.arange(rows), jnp.arange(columns))
    return jnp.exp(1j * angle)


def idiomatic(N: int, R: int, K: int, x: Array, y: Array) -> tuple[Array]:
    # R terms by broadcasting: XLA fuses them with the twiddle factors, unlike a product of matrices.
    dft = np.exp(-2.0j * np.pi * np.outer(np.arange(R), np.arange(R)) / R)
    for s in range(K):
        blocks = x.reshape(R**s, R, R ** (K - 1 - s))
        twiddle = _unit_roots(R, R**s, R ** (s + 1))
        terms = [blocks[:, b, :] * twiddle[b, :, None] for b in range(R)]
        x = jnp.stack([sum(dft[a, b] * terms[b] for b in range(R)) for a in range(R)])
    return (x.reshape(N),)


def literal(N: int, R: int, K: int, x: Array, y: Array) -> tuple[Array]:
    dft = _unit_roots(R, R, R)
    y = y.at[:].set(x)
    for i in range(K):
        permuted = jnp.transpose(y.reshape(R**i, R, R ** (K - i - 1)), (1, 0, 2))
        twiddled = permuted * _unit_roots(R, R**i, R ** (i + 1))[:, :, None]
        y = y.at[:].set((dft @ twiddled.reshape(R, R ** (K - 1))).reshape(N))
    return (y,)


def matrix(N: int, R: int, K: int, x: Array, y: Array) -> tuple[Array]:
    return (jnp.fft.fft(x),)
