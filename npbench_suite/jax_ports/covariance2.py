"""covariance2 in JAX: the library function."""

import jax.numpy as jnp

from npbench_suite.jax_ports.arrays import Array


def literal(M: int, float_n: float, data: Array) -> tuple[Array]:
    return (jnp.cov(data, rowvar=False),)


def idiomatic(M: int, float_n: float, data: Array) -> tuple[Array]:
    data = data - jnp.mean(data, axis=0)
    return (data.T @ data / (data.shape[0] - 1.0),)
