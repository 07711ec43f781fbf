"""JAX ports of spmv."""

import jax.numpy as jnp
from jax import Array, lax
from jax.ops import segment_sum


def _rows(A_row: Array, count: int) -> Array:
    """The row of every stored element."""
    return jnp.repeat(jnp.arange(A_row.size - 1), jnp.diff(A_row.astype(jnp.int32)), total_repeat_length=count)


def idiomatic(A_row: Array, A_col: Array, A_val: Array, x: Array) -> tuple[Array]:
    rows = _rows(A_row, A_val.size)
    return (segment_sum(A_val * x[A_col], rows, A_row.size - 1, indices_are_sorted=True),)


def literal(A_row: Array, A_col: Array, A_val: Array, x: Array) -> tuple[Array]:
    rows = _rows(A_row, A_val.size)

    def element(t: Array, y: Array) -> Array:
        return y.at[rows[t]].add(A_val[t] * x[A_col[t]])

    return (lax.fori_loop(0, A_val.size, element, jnp.zeros(A_row.size - 1, A_val.dtype)),)
