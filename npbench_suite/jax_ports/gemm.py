"""gemm in JAX."""

from npbench_suite.jax_ports.arrays import Array


def literal(alpha: float, beta: float, C: Array, A: Array, B: Array) -> tuple[Array]:
    return (alpha * A @ B + beta * C,)


def idiomatic(alpha: float, beta: float, C: Array, A: Array, B: Array) -> tuple[Array]:
    return (alpha * (A @ B) + beta * C,)
