"""jacobi_1d in JAX."""

from __future__ import annotations

from jax import lax

from npbench_suite.jax_ports.arrays import Array, put, repeat

Pair = tuple[Array, Array]


def literal(TSTEPS: int, A: Array, B: Array) -> Pair:
    def step(t, state):
        A, B = state
        B = B.at[1:-1].set(0.33333 * (A[:-2] + A[1:-1] + A[2:]))
        A = A.at[1:-1].set(0.33333 * (B[:-2] + B[1:-1] + B[2:]))
        return A, B

    return lax.fori_loop(1, TSTEPS, step, (A, B))


def idiomatic(TSTEPS: int, A: Array, B: Array) -> Pair:
    def step(state: Pair) -> Pair:
        A, B = state
        B = put(B, 0.33333 * (A[:-2] + A[1:-1] + A[2:]), 1)
        return put(A, 0.33333 * (B[:-2] + B[1:-1] + B[2:]), 1), B

    return repeat(step, (A, B), TSTEPS - 1)
