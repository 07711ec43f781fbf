"""Products with sparse matrices, in plain NumPy for the interpreter to run: by rows, by columns, entry by entry."""
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
