"""Triangular factorisations and solves.

The factorisations are blocked: short scans inside a block, matrix products between blocks. A scan over single rows
of the whole matrix would keep a copy of the matrix per step for the reverse pass.
Inside a block the update is an outer product, linear in the block, of which only the two vectors are kept.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular

from npbench_suite.jax_ports.arrays import Array, blocks, put

LEAST, MOST = 64, 32


def cholesky(A: Array) -> Array:
    """The lower Cholesky factor; reads the lower triangle only."""
    n = A.shape[0]
    columns: list[tuple[int, Array]] = []
    rest = A
    for low, high in blocks(n, LEAST, MOST):
        width = high - low
        panel = _cholesky_panel(rest[:, :width])
        columns.append((low, panel))
        below = panel[width:]
        rest = rest[width:, width:] - below @ below.T
    return jnp.concatenate([jnp.pad(panel, ((low, 0), (0, 0))) for low, panel in columns], axis=1)


def _cholesky_panel(panel: Array) -> Array:
    height, width = panel.shape
    rows, inner = jnp.arange(height), jnp.arange(width)

    def step(rest: Array, j: Array) -> tuple[Array, Array]:
        column = jnp.where(rows >= j, rest[j], 0.0) / jnp.sqrt(rest[j, j])
        return rest - jnp.outer(jnp.where(inner > j, column[:width], 0.0), column), column

    return lax.scan(step, panel.T, inner)[1].T


def lu(A: Array) -> Array:
    """Both factors without pivoting in one matrix, the unit diagonal of the first implied."""
    spans = blocks(A.shape[0], LEAST, MOST)
    lower: list[tuple[int, Array]] = []
    rows: list[Array] = []
    rest = A
    for low, high in spans:
        width = high - low
        panel = _lu_panel(rest[:, :width])
        diagonal, below = panel[:width], panel[width:]
        right = solve_triangular(diagonal, rest[:width, width:], lower=True, unit_diagonal=True)
        left = [part[low - top:high - top] for top, part in lower]
        rows.append(jnp.concatenate([*left, diagonal, right], axis=1))
        lower.append((low, panel))
        rest = rest[width:, width:] - below @ right
    return jnp.concatenate(rows)


def _lu_panel(panel: Array) -> Array:
    height, width = panel.shape
    rows, inner = jnp.arange(height), jnp.arange(width)

    def step(rest: Array, j: Array) -> tuple[Array, tuple[Array, Array]]:
        column = jnp.where(rows > j, rest[j], 0.0) / rest[j, j]
        row = rest[:, j]
        return rest - jnp.outer(jnp.where(inner > j, row, 0.0), column), (column, row)

    columns, upper = lax.scan(step, panel.T, inner)[1]
    return columns.T + jnp.pad(jnp.triu(upper), ((0, height - width), (0, 0)))


def lu_recursive(A: Array) -> Array:
    """The same factors by halving: triangular solves and matrix products only, down to small blocks."""
    n = A.shape[0]
    if n <= 32:
        return _lu_panel(A)
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
