"""gesummv in JAX."""

from npbench_suite.jax_ports.arrays import Array


def literal(alpha: float, beta: float, A: Array, B: Array, x: Array) -> tuple[Array]:
    return (alpha * A @ x + beta * B @ x,)


def idiomatic(alpha: float, beta: float, A: Array, B: Array, x: Array) -> tuple[Array]:
    return (alpha * (A @ x) + beta * (B @ x),)
