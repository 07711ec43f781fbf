"""A function called again and again: the user's by NumPy, or for a batch, and NumPy's own by its methods, which get it
first; in plain NumPy for the interpreter."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np

from sdfgad.frontend.bodies.order import along


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    values = np.asarray(arr)
    where = range(values.ndim)[axis]
    rows = np.moveaxis(values, where, -1)
    flat = np.reshape(rows, (math.prod(rows.shape[:-1]), rows.shape[-1]))
    first = np.asarray(func1d(flat[0], *args, **kwargs))
    out = np.empty((flat.shape[0],) + first.shape, first.dtype)
    out[0] = first
    for k in range(1, flat.shape[0]):
        out[k] = func1d(flat[k], *args, **kwargs)
    found = np.reshape(out, rows.shape[:-1] + first.shape)
    for k in range(first.ndim):
        found = np.moveaxis(found, values.ndim - 1 + k, where + k)
    return found


def fromfunction(function, shape, dtype=float, **kwargs):
    return function(*[np.asarray(p, dtype=dtype) for p in np.indices(shape)], **kwargs)


def reduce(ufunc, array, axis=0, keepdims=False, initial=None):
    values = np.asarray(array)
    if ufunc.nin != 2 or values.dtype.kind not in "fc":
        raise ValueError("a reduction that needs numbers and a function of two")
    _probe(ufunc, values)
    if not isinstance(axis, int) and values.ndim != 1 and ufunc.identity is None and ufunc not in (np.fmax, np.fmin):
        raise ValueError("several axes, of which the order matters")
    rows = along(values, axis)
    first = 1 if initial is None and rows.shape[0] > 0 else 0
    found = rows[0] if first else np.full(rows.shape[1:], ufunc.identity if initial is None else initial, rows.dtype)
    if first and rows.shape[0] == 1:  # NumPy begins with the number that changes nothing, where there is one
        found = np.array(found)[()] if ufunc.identity is None else ufunc(ufunc.identity, found)
    for k in range(first, rows.shape[0]):
        found = ufunc(found, rows[k])
    if keepdims:
        return np.reshape(found, (1,) * values.ndim) if axis is None else np.expand_dims(found, axis)
    return found


def _probe(ufunc, values):
    """The dtype of results; where NumPy has none for such elements, a refusal."""
    none = np.ravel(values)[:0]
    return ufunc(none, none).dtype


def _in_its_dtype(ufunc, array):
    """Elements of the dtype that results have."""
    values = np.asarray(array)
    kind = _probe(ufunc, values)
    if ufunc in (np.logical_and, np.logical_or, np.logical_xor):
        return values != 0
    if kind != values.dtype:
        raise ValueError("results of another dtype")
    return values


def reduceat(ufunc, array, indices, axis=0):
    starts = np.asarray(indices)
    if ufunc.nin != 2 or not (np.asarray(array).dtype.kind in "fc" or np.asarray(array).dtype == np.int64):
        raise ValueError("a reduction that needs numbers and a function of two")
    values = _in_its_dtype(ufunc, array)
    rows = np.moveaxis(values, axis, 0)
    out = np.empty((starts.shape[0],) + rows.shape[1:], rows.dtype)
    last = starts.shape[0] - 1
    for k in range(last):
        out[k] = rows[starts[k]]
        for p in range(starts[k] + 1, starts[k + 1]):
            out[k] = ufunc(out[k], rows[p])
    out[last] = rows[starts[last]]
    for p in range(starts[last] + 1, rows.shape[0]):
        out[last] = ufunc(out[last], rows[p])
    return np.moveaxis(out, 0, axis)


def each_element(function, *arrays):
    parts = np.broadcast_arrays(*arrays)
    rows = [np.ravel(p) for p in parts]
    out = np.empty(rows[0].shape[0])
    for k in range(rows[0].shape[0]):
        out[k] = function(*[r[k] for r in rows])
    return np.reshape(out, parts[0].shape)


def each_row(function, inputs, outputs, loops):
    if loops == 0:
        function(*inputs, *outputs)
    else:
        for k in range(outputs[0].shape[0]):
            each_row(function, [a[k] for a in inputs], [o[k] for o in outputs], loops - 1)


# a function run for every element of a batch

def each_of_batch(batch, arguments, keywords):
    rows = []
    for k in range(size_of(batch, arguments, keywords)):
        rows.append(result_of(batch, arguments, keywords, k))
    return together(batch, rows)


def size_of(batch, arguments, keywords):
    """The number of elements: a rule of `frontend/libraries/batches.py`, as are those below."""


def result_of(batch, arguments, keywords, k):
    """What the function gives for one element, as a tuple of numbers and arrays."""


def together(batch, rows):
    """The results of all elements, with the axis of the batch."""


def item(owner, k):
    return owner[k]


def _at(rows, k):
    return rows.start + k * rows.step if isinstance(rows, range) else rows[k]


def beside(before, generator, behind, most_before, most_behind):
    """`zip` of a generator with what is before and behind it, in the order in which Python asks them."""
    k = 0
    if most_before > 0:
        for made in generator:
            if k >= most_behind:
                break
            yield (*[_at(r, k) for r in before], made, *[_at(r, k) for r in behind])
            k += 1
            if k >= most_before:
                break


# methods of NumPy's elementwise functions

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
    values = _in_its_dtype(ufunc, values)
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


def extremes(reduce):
    def body(array, axis=0, dtype=None, keepdims=False, initial=None, where=True):
        _check_dtype(dtype)
        return reduce(array, axis=axis, keepdims=keepdims, initial=initial, where=where)

    return body


def truths(reduce):
    def body(array, axis=0, dtype=None, keepdims=False):
        _check_dtype(dtype)
        return reduce(array, axis=axis, keepdims=keepdims)

    return body


maximum_reduce, minimum_reduce = extremes(np.max), extremes(np.min)
and_reduce, or_reduce = truths(np.all), truths(np.any)


def _check_dtype(dtype):
    if dtype is not None:
        raise ValueError("results of another dtype")


def is_masked(x):
    return False


def getmask(a):
    return np.ma.nomask
