"""Products with sparse matrices, by rows, by columns or entry by entry, and systems of their factors, in plain NumPy
for the interpreter to run."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np


def by_rows(data, indices, starts, size, x):
    out = np.zeros((size,) + x.shape[1:], np.result_type(data.dtype, x.dtype))
    for i in range(size):
        out[i] = data[starts[i]:starts[i + 1]] @ x[indices[starts[i]:starts[i + 1]]]
    return out


def by_columns(data, indices, starts, size, x):
    out = np.zeros((size,) + x.shape[1:], np.result_type(data.dtype, x.dtype))
    for j in range(x.shape[0]):
        for k in range(starts[j], starts[j + 1]):
            out[indices[k]] += data[k] * x[j]
    return out


def by_entries(data, rows, columns, size, x):
    out = np.zeros((size,) + x.shape[1:], np.result_type(data.dtype, x.dtype))
    for k in range(data.shape[0]):
        out[rows[k]] += data[k] * x[columns[k]]
    return out


def triangles(low, low_indices, low_starts, low_diagonal, high, high_indices, high_starts, high_diagonal, before, after,
              b):
    """Two triangular systems one after the other, by rows."""
    n = low_diagonal.shape[0]
    x = b[before].astype(np.result_type(low.dtype, b.dtype))
    for i in range(n):
        s, e = low_starts[i], low_starts[i + 1]
        x[i] = (x[i] - low[s:e] @ x[low_indices[s:e]]) / low_diagonal[i]
    for i in range(n - 1, -1, -1):
        s, e = high_starts[i], high_starts[i + 1]
        x[i] = (x[i] - high[s:e] @ x[high_indices[s:e]]) / high_diagonal[i]
    return x[after]
