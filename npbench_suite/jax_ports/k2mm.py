"""k2mm in JAX."""

from npbench_suite.jax_ports.arrays import Array


def literal(alpha: float, beta: float, A: Array, B: Array, C: Array, D: Array) -> tuple[Array]:
    return (alpha * A @ B @ C + beta * D,)


def idiomatic(alpha: float, beta: float, A: Array, B: Array, C: Array, D: Array) -> tuple[Array]:
    return (alpha * (A @ B @ C) + beta * D,)
