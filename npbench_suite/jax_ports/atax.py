"""atax in JAX."""

from npbench_suite.jax_ports.arrays import Array


def literal(A: Array, x: Array) -> tuple[Array]:
    return ((A @ x) @ A,)


idiomatic = literal
