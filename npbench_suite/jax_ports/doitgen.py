"""doitgen in JAX."""

from npbench_suite.jax_ports.arrays import Array


def literal(NR: int, NQ: int, NP: int, A: Array, C4: Array) -> tuple[Array]:
    return ((A.reshape(NR, NQ, 1, NP) @ C4).reshape(NR, NQ, NP),)


def idiomatic(NR: int, NQ: int, NP: int, A: Array, C4: Array) -> tuple[Array]:
    return ((A.reshape(NR * NQ, NP) @ C4).reshape(NR, NQ, NP),)
