"""bicg in JAX."""

from npbench_suite.jax_ports.arrays import Array


def literal(A: Array, p: Array, r: Array) -> tuple[Array, Array]:
    return r @ A, A @ p


idiomatic = literal
