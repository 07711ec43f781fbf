"""NumPy functions of matrices and vectors, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from sdfgad.frontend.numeric_bodies import absolute_square


def norm(x, ord=None, axis=None, keepdims=False):
    values = np.asarray(x)
    if values.dtype.kind not in "fc":
        values = values.astype(np.float64)
    if axis is None and (ord is None or values.ndim == 1 and ord == 2):
        return np.sqrt(np.sum(absolute_square(values), axis=None, keepdims=keepdims))
    axes = tuple(range(values.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) == 1:
        return _vector_norm(values, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError("the norm of neither a vector nor a matrix")
    return _matrix_norm(values, ord, axes, keepdims)


def _vector_norm(x, ord, axis, keepdims):
    if ord is None or ord == 2:
        return np.sqrt(np.sum(absolute_square(x), axis=axis, keepdims=keepdims))
    if isinstance(ord, str):
        raise ValueError("a matrix norm of a vector")
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0).astype(np.abs(x).dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    return np.sum(np.abs(x) ** ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


def _matrix_norm(x, ord, axes, keepdims):
    if ord is None or ord == "fro":
        return np.sqrt(np.sum(absolute_square(x), axis=axes, keepdims=keepdims))
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("a norm made of singular values")
    sums = np.sum(np.abs(x), axis=axes[0] if ord in (1, -1) else axes[1], keepdims=True)
    if ord > 0:
        return np.max(sums, axis=axes, keepdims=keepdims)
    return np.min(sums, axis=axes, keepdims=keepdims)
