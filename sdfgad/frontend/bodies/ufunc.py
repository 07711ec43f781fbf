"""Methods of NumPy's elementwise functions, written in plain NumPy for the interpreter to run in place of a call.

The function whose method is called comes first.
"""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np


def outer(ufunc, a, b):
    left, right = np.asarray(a), np.asarray(b)
    return ufunc(np.reshape(left, left.shape + (1,) * right.ndim), right)


def accumulate(ufunc, array, axis=0, dtype=None):
    values = np.asarray(array)
    if ufunc is np.add:
        return np.cumsum(values, axis=axis, dtype=dtype)
    if ufunc is np.multiply:
        return np.cumprod(values, axis=axis, dtype=dtype)
    if dtype is not None or not (ufunc is np.maximum or ufunc is np.minimum or values.dtype.kind in "fc"):
        raise ValueError("results of another dtype")
    rows = np.moveaxis(values, axis, 0)
    out = np.empty(rows.shape, rows.dtype)
    if rows.shape[0] > 0:
        out[0] = rows[0]
    for k in range(1, rows.shape[0]):
        out[k] = ufunc(out[k - 1], rows[k])
    return np.moveaxis(out, 0, axis)


def add_reduce(array, axis=0, dtype=None, keepdims=False, initial=0, where=True):
    return np.sum(array, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def multiply_reduce(array, axis=0, dtype=None, keepdims=False, initial=1, where=True):
    return np.prod(array, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def maximum_reduce(array, axis=0, dtype=None, keepdims=False, initial=None, where=True):
    _check_dtype(dtype)
    return np.max(array, axis=axis, keepdims=keepdims, initial=initial, where=where)


def minimum_reduce(array, axis=0, dtype=None, keepdims=False, initial=None, where=True):
    _check_dtype(dtype)
    return np.min(array, axis=axis, keepdims=keepdims, initial=initial, where=where)


def and_reduce(array, axis=0, dtype=None, keepdims=False):
    _check_dtype(dtype)
    return np.all(array, axis=axis, keepdims=keepdims)


def or_reduce(array, axis=0, dtype=None, keepdims=False):
    _check_dtype(dtype)
    return np.any(array, axis=axis, keepdims=keepdims)


def _check_dtype(dtype):
    if dtype is not None:
        raise ValueError("results of another dtype")


def is_masked(x):
    return False


def getmask(a):
    return np.ma.nomask
