"""k3mm in JAX."""

from npbench_suite.jax_ports.arrays import Array


def literal(A: Array, B: Array, C: Array, D: Array) -> tuple[Array]:
    return (A @ B @ C @ D,)


idiomatic = literal
