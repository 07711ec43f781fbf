"""Triangular factorisations and solves, blocked: short scans inside a block, matrix products between blocks.

A scan over single rows of the whole matrix would keep a copy of the matrix per step for the reverse pass.
Inside a block the update is an outer product, linear in the block, of which only the two vectors are kept.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular

from npbench_suite.jax_ports.arrays import Array, blocks

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
    """x of L x = b; reads the lower triangle only (without the diagonal if `unit`)."""
    parts: list[Array] = []
    for low, high in blocks(L.shape[0], LEAST, MOST):
        right = b[low:high]
        if parts:
            right = right - L[low:high, :low] @ jnp.concatenate(parts)
        parts.append(_substitute(L[low:high, low:high], right, unit))
    return jnp.concatenate(parts)


def backward(U: Array, b: Array) -> Array:
    """x of U x = b; reads the upper triangle only."""
    return forward(U[::-1, ::-1], b[::-1])[::-1]


def _substitute(L: Array, b: Array, unit: bool) -> Array:
    n = L.shape[0]
    index = jnp.arange(n)

    def step(rest: Array, column: tuple[Array, Array]) -> tuple[Array, Array]:
        j, below = column
        x = rest[j] if unit else rest[j] / below[j]
        return rest - jnp.where(index > j, below, 0.0) * x, x

    return lax.scan(step, b, (index, L.T))[1]
