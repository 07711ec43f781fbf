"""Triangular factorisations and solves: scans over rows with vectorised updates.

The programs compute an entry from dot products with the rows that are done. As a scan that carries those rows, this
keeps a copy of the matrix per step for the reverse pass. Eliminating with one row at a time does the same operations
in another order and is linear in the carried matrix, of which nothing is kept but the row and the column of a step.
The carried matrix shrinks a few times on the way, which spares most of the work on rows that are done.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular

from npbench_suite.jax_ports.arrays import Array, blocks, put

# Rows per scan at the least, scans at the most: more of them take longer to compile and are not faster.
LEAST, MOST = 16, 4


def cholesky(A: Array) -> Array:
    """The lower Cholesky factor; reads the lower triangle only."""
    n = A.shape[0]
    columns = []
    rest = jnp.tril(A).T
    for low, high in blocks(n, LEAST, MOST):
        rest, found = lax.scan(_cholesky_step, rest, jnp.arange(high - low))
        rest = rest[high - low:, high - low:]
        columns.append(jnp.pad(found, ((0, 0), (low, 0))))
    return jnp.concatenate(columns).T


def _cholesky_step(rest: Array, j: Array) -> tuple[Array, Array]:
    """Only the upper triangle of what is left is read."""
    column = jnp.where(jnp.arange(rest.shape[0]) >= j, rest[j], 0.0) / jnp.sqrt(rest[j, j])
    return rest - jnp.outer(column, column), column


def lu(A: Array) -> Array:
    """Both factors without pivoting in one matrix, the unit diagonal of the first implied."""
    lower, upper = [], []
    rest = A
    for low, high in blocks(A.shape[0], LEAST, MOST):
        rest, (columns, rows) = lax.scan(_lu_step, rest, jnp.arange(high - low))
        rest = rest[high - low:, high - low:]
        lower.append(jnp.pad(columns, ((0, 0), (low, 0))))
        upper.append(jnp.pad(rows, ((0, 0), (low, 0))))
    return jnp.concatenate(lower).T + jnp.concatenate(upper)


def _lu_step(rest: Array, j: Array) -> tuple[Array, tuple[Array, Array]]:
    index = jnp.arange(rest.shape[0])
    row = jnp.where(index >= j, rest[j], 0.0)
    column = jnp.where(index > j, rest[:, j] / rest[j, j], 0.0)
    return rest - jnp.outer(column, row), (column, row)


def lu_recursive(A: Array) -> Array:
    """The same factors by halving: triangular solves and matrix products only, down to small blocks."""
    n = A.shape[0]
    if n <= 32:
        return lu(A)
    half = n // 2
    first = lu_recursive(A[:half, :half])
    right = solve_triangular(first, A[:half, half:], lower=True, unit_diagonal=True)
    left = solve_triangular(first, A[half:, :half].T, trans=1).T
    last = lu_recursive(A[half:, half:] - left @ right)
    return jnp.block([[first, right], [left, last]])


def forward(L: Array, b: Array, unit: bool = False) -> Array:
    """x of L x = b; the upper triangle (and the diagonal, if `unit`) has no effect."""
    return _substitute(L, b, unit, reverse=False)


def backward(U: Array, b: Array) -> Array:
    """x of U x = b; the lower triangle has no effect."""
    return _substitute(U, b, unit=False, reverse=True)


def _substitute(T: Array, b: Array, unit: bool, reverse: bool) -> Array:
    # A scan over whole rows. Blocks cut out of T would each be padded to a full matrix in the reverse pass.
    pivots = jnp.ones_like(b) if unit else jnp.diagonal(T)

    def step(x: Array, at: tuple[Array, Array, Array, Array]) -> tuple[Array, None]:
        i, row, right, pivot = at
        # What is not solved yet is still zero in x: no mask.
        return put(x, ((right - row @ x) / pivot)[None], i), None

    return lax.scan(step, jnp.zeros_like(b), (jnp.arange(b.shape[0]), T, b, pivots), reverse=reverse)[0]
