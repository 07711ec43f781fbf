"""heat_3d in JAX."""

from __future__ import annotations

from jax import lax

from npbench_suite.jax_ports.arrays import Array, put, repeat

Pair = tuple[Array, Array]


def literal(TSTEPS: int, A: Array, B: Array) -> Pair:
    def heated(X):
        middle = X[1:-1, 1:-1, 1:-1]
        return (0.125 * (X[2:, 1:-1, 1:-1] - 2.0 * middle + X[:-2, 1:-1, 1:-1])
                + 0.125 * (X[1:-1, 2:, 1:-1] - 2.0 * middle + X[1:-1, :-2, 1:-1])
                + 0.125 * (X[1:-1, 1:-1, 2:] - 2.0 * middle + X[1:-1, 1:-1, :-2]) + middle)

    def step(t, state):
        A, B = state
        B = B.at[1:-1, 1:-1, 1:-1].set(heated(A))
        A = A.at[1:-1, 1:-1, 1:-1].set(heated(B))
        return A, B

    return lax.fori_loop(1, TSTEPS, step, (A, B))


def idiomatic(TSTEPS: int, A: Array, B: Array) -> Pair:
    def heated(X: Array) -> Array:
        # One axis after the other: the reverse pass then pads along one axis at a time.
        planes = X[1:-1]
        rows = planes[:, 1:-1]
        total = (2.0 * planes + X[2:] + X[:-2])[:, 1:-1] + planes[:, 2:] + planes[:, :-2]
        return 0.125 * (total[:, :, 1:-1] + rows[:, :, 2:] + rows[:, :, :-2])

    def step(state: Pair) -> Pair:
        A, B = state
        B = put(B, heated(A), 1, 1, 1)
        return put(A, heated(B), 1, 1, 1), B

    return repeat(step, (A, B), TSTEPS - 1)
