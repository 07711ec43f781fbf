"""mvt in JAX."""

from npbench_suite.jax_ports.arrays import Array


def literal(x1: Array, x2: Array, y_1: Array, y_2: Array, A: Array) -> tuple[Array, Array]:
    return x1 + A @ y_1, x2 + y_2 @ A


idiomatic = literal
