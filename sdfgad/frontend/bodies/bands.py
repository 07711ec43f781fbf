"""Linear systems of SciPy with few diagonals, in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import numpy as np


def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    low, high = l_and_u
    right = np.asarray(b)
    rows = _rows(ab, low, high, right.dtype)
    out = np.zeros((rows.shape[0], 1) if right.ndim == 1 else right.shape, rows.dtype)
    out[...] = right[:, None] if right.ndim == 1 else right
    if rows.shape[0] != right.shape[0]:
        raise ValueError("as many right-hand sides as columns")
    _eliminate(rows, out, low)
    _substitute(rows, out)
    return out[:, 0] if right.ndim == 1 else out


def _rows(ab, low, high, dtype):
    """Each row of the matrix from its first element on that is stored: in column i - low of row i, or in column 0."""
    bands = np.asarray(ab)
    if bands.shape[0] != low + high + 1:
        raise ValueError("as many rows as diagonals")
    n = bands.shape[1]
    kind = np.result_type(bands.dtype, dtype, np.float32)
    rows = np.zeros((n, low + high + 1), kind if kind.kind == "c" or dtype == kind else np.float64)
    for d in range(-high, low + 1):
        first, last = max(low, d), min(n, n + d)
        if first < last:
            rows[first:last, low - d] = bands[high + d, first - d:last - d]
    for i in range(min(low, n)):
        for j in range(min(n, i + high + 1)):
            rows[i, j] = bands[high + i - j, j]
    return rows


def _eliminate(rows, right, low):
    """Rows change places so that the largest candidate is the pivot; what is left of a row moves one place on."""
    n, width = rows.shape
    for k in range(n):
        for i in range(k + 1, min(k + low + 1, n)):
            swap = np.abs(rows[i, 0]) > np.abs(rows[k, 0])
            upper, lower = np.where(swap, rows[i], rows[k]), np.where(swap, rows[k], rows[i])
            rows[k] = upper
            rows[i] = lower
            upper, lower = np.where(swap, right[i], right[k]), np.where(swap, right[k], right[i])
            right[k] = upper
            right[i] = lower
        if rows[k, 0] == 0:
            raise np.linalg.LinAlgError("singular matrix")
        for i in range(k + 1, min(k + low + 1, n)):
            factor = rows[i, 0] / rows[k, 0]
            for j in range(1, width):
                rows[i, j - 1] = rows[i, j] - factor * rows[k, j]
            rows[i, width - 1] = 0
            right[i] -= factor * right[k]


def _substitute(rows, right):
    n, width = rows.shape
    for k in range(n - 1, -1, -1):
        for j in range(1, min(width, n - k)):
            right[k] -= rows[k, j] * right[k + j]
        right[k] /= rows[k, 0]


def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    bands, right = np.asarray(ab), np.asarray(b)
    if bands.dtype.kind == "c":
        raise ValueError("a complex matrix")
    m, n = bands.shape[0] - 1, bands.shape[1]
    factor = np.zeros((m + 1, n + m), np.result_type(bands.dtype, right.dtype, np.float64))
    for d in range(m + 1):
        factor[d, :n - d] = bands[d, :n - d] if lower else bands[m - d, d:]
    out = np.zeros((n + m, 1) if right.ndim == 1 else (n + m, right.shape[1]), factor.dtype)
    out[:n] = right[:, None] if right.ndim == 1 else right
    for j in range(n):
        if not factor[0, j] > 0:
            raise np.linalg.LinAlgError("leading minor not positive definite")
        root = np.sqrt(factor[0, j])
        for p in range(m + 1):
            factor[p, j] = factor[p, j] / root
        for p in range(1, m + 1):
            for q in range(p, m + 1):
                factor[q - p, j + p] -= factor[q, j] * factor[p, j]
        out[j] /= factor[0, j]
        for p in range(1, m + 1):
            out[j + p] -= factor[p, j] * out[j]
    for j in range(n - 1, -1, -1):
        for p in range(1, min(m + 1, n - j)):
            out[j] -= factor[p, j] * out[j + p]
        out[j] /= factor[0, j]
    return out[:n, 0] if right.ndim == 1 else out[:n]
