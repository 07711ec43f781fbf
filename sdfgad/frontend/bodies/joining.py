"""NumPy functions that join, cut and choose, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from sdfgad.frontend.bodies.order import beyond


def vander(x, N=None, increasing=False):
    base = np.asarray(x)
    count = base.shape[0] if N is None else N
    if beyond(count, 0, np.inf):
        raise ValueError("a negative number of columns")
    ones = np.ones_like(base, np.result_type(base.dtype, np.int64))
    if count < 1:
        return np.ones((base.shape[0], 0), ones.dtype)
    columns = [ones]
    for _ in range(1, count):
        columns.append(columns[-1] * base)
    return np.stack(columns if increasing else columns[::-1], axis=1)


def block(arrays):
    if not isinstance(arrays, list):
        return np.array(arrays)
    if not any(isinstance(row, list) for row in arrays):
        return _side_by_side(arrays, 1)
    if any(isinstance(part, list) for row in arrays for part in row):
        raise ValueError("blocks of more than two dimensions")
    return np.concatenate([_side_by_side(row, 2) for row in arrays], axis=-2)


def _side_by_side(parts, ndim):
    return np.concatenate([np.atleast_2d(p) if ndim == 2 else np.atleast_1d(p) for p in parts], axis=-1)


def delete(arr, obj, axis=None):
    rows = np.ravel(arr) if axis is None else np.moveaxis(arr, axis, 0)
    n = rows.shape[0]
    if not isinstance(obj, slice) and np.asarray(obj).dtype == bool:
        if np.shape(obj) != (n,):
            raise ValueError("a mask that is not as long as the axis")
        kept = rows[np.setdiff1d(np.arange(n), np.flatnonzero(obj))]
    else:
        gone = range(n)[obj] if isinstance(obj, slice) else [range(n)[k] for k in ([obj] if np.ndim(obj) == 0 else obj)]
        kept = rows[[k for k in range(n) if k not in gone]]
    return kept if axis is None else np.moveaxis(kept, 0, axis)


def insert(arr, obj, values, axis=None):
    rows = np.ravel(arr) if axis is None else np.moveaxis(arr, axis, 0)
    if isinstance(obj, bool):
        raise ValueError("a boolean as a place")
    if isinstance(obj, slice):
        obj = np.arange(rows.shape[0])[obj]
    count = 1 if np.ndim(obj) == 0 else len(obj)
    new = np.asarray(values).astype(rows.dtype)
    if np.ndim(obj) == 0:
        if beyond(obj, -rows.shape[0], rows.shape[0] + 1):
            raise ValueError("a place that is out of bounds")
        if axis is None or rows.ndim == 1:
            new = np.ravel(new)
        else:  # one row, or several: the first axis of the values is that of the insertion
            new = np.broadcast_to(new, rows.shape[1:])[None] if new.ndim < rows.ndim else new
        whole = np.concatenate((rows[:obj], new, rows[obj:]))
    else:
        if new.ndim < rows.ndim and new.ndim > 0 and rows.ndim > 1:
            raise ValueError("several rows that are not given one by one")
        new = np.moveaxis(new, axis, 0) if new.ndim and axis is not None else new
        if new.ndim > rows.ndim or new.ndim and new.shape[0] not in (1, count):
            raise ValueError("several places, and values of another number")
        if isinstance(obj, list) and any(beyond(k, -rows.shape[0], rows.shape[0] + 1) for k in obj):
            raise ValueError("a place that is out of bounds")
        whole = _inserted(rows, np.asarray(obj), np.broadcast_to(new, (count, *rows.shape[1:])))
    return whole if axis is None else np.moveaxis(whole, 0, axis)


def _inserted(rows, places, new):
    """Row k of `new` before row places[k] of `rows`."""
    n, count = rows.shape[0], places.shape[0]
    if places.ndim != 1:
        raise ValueError("places in several dimensions")
    start = np.where(places < 0, places + n, places)
    order = np.argsort(start)
    whole = np.zeros((n + count, *rows.shape[1:]), rows.dtype)
    whole[np.arange(n) + np.searchsorted(start[order], np.arange(n), side="right")] = rows
    whole[start[order] + np.arange(count)] = new[order]
    return whole


def diagflat(v, k=0):
    return np.diag(np.ravel(np.asarray(v)), k)


def piecewise(x, condlist, funclist, *args, **keywords):
    condlist = [flags(c) for c in condlist]
    if np.ndim(x) == 0:
        alone = [np.reshape(c, (1,)) for c in condlist]
        return np.reshape(np.piecewise(np.reshape(x, (1,)), alone, funclist, *args, **keywords), ())
    out = np.zeros_like(x)
    rest = np.ones_like(x, dtype=bool)
    if len(funclist) not in (len(condlist), len(condlist) + 1):
        raise ValueError("as many functions as conditions, or one more")
    for k in range(len(condlist)):
        rest = rest & ~condlist[k]
    for k in range(len(funclist)):
        chosen = condlist[k] if k < len(condlist) else rest
        if callable(funclist[k]):
            out[chosen] = funclist[k](x[chosen], *args, **keywords)
        else:
            out[chosen] = funclist[k]
    return out


def matrix_power(a, n):
    if a.shape[-1] != a.shape[-2]:
        raise ValueError("Last 2 dimensions of the array must be square")
    if n < 0:
        return np.linalg.matrix_power(np.linalg.inv(a), -n)
    if n == 0:
        return np.zeros_like(a) + np.eye(a.shape[-1], dtype=a.dtype)
    half = np.linalg.matrix_power(a, n // 2) if n > 1 else a
    return a if n == 1 else half @ half if n % 2 == 0 else half @ half @ a


def matrix_transpose(x):
    return np.swapaxes(x, -1, -2)


def vecdot(x1, x2, axis=-1):
    x1, x2 = np.asarray(x1), np.asarray(x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError("vectors of two lengths")
    products = (np.conj(x1) if x1.dtype.kind == "c" else x1) * x2
    return np.any(products, axis) if products.dtype == bool else np.sum(products, axis, products.dtype)


def trace_of_last(x, offset=0):
    return np.sum(np.diagonal(x, offset, -2, -1), axis=-1)


def diagonal_of_last(x, offset=0):
    return np.diagonal(x, offset, -2, -1)


def outer(x1, x2):
    return np.outer(x1, x2)


def matmul(x1, x2):
    return x1 @ x2


def tensordot(x1, x2, axes=2):
    return np.tensordot(x1, x2, axes)


def rollaxis(a, axis, start=0):
    if beyond(start, -a.ndim, a.ndim + 1):
        raise ValueError("a place that is out of bounds")
    where, to = axis % a.ndim, start + a.ndim if start < 0 else start
    return np.moveaxis(a, where, to - 1 if where < to else to)


def resize(a, new_shape):
    shape = new_shape if isinstance(new_shape, tuple) else (new_shape,)
    total = 1
    for n in shape:
        if beyond(n, 0, np.inf):
            raise ValueError("a negative size")
        total = total * n
    flat = np.ravel(a)
    if flat.shape[0] == 0:
        return np.zeros(shape, flat.dtype)
    return np.reshape(flat[np.arange(total) % flat.shape[0]], shape)


def compress(condition, a, axis=None):
    rows = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    known = isinstance(condition, (list, tuple))
    if len(condition) > rows.shape[0] or not known and len(condition) < rows.shape[0]:
        raise ValueError("as many conditions as elements along the axis")
    kept = rows[[k for k in range(len(condition)) if condition[k]] if known else flags(condition)]
    return kept if axis is None or axis == 0 else np.moveaxis(kept, 0, axis)


def flags(condition):
    """Conditions of any dtype as booleans, which are no places then."""
    given = np.asarray(condition)
    return given if given.dtype == bool else given != 0


def extract(condition, arr):
    return np.ravel(arr)[np.ravel(flags(condition))]


def real_if_close(a, tol=100):
    if np.iscomplexobj(a):
        raise ValueError("whether imaginary parts are small depends on the data: use a.real")
    return np.asarray(a)


def putmask(a, mask, values):
    if np.size(values) != 1 and np.shape(values) != a.shape[a.ndim - np.ndim(values):]:
        raise ValueError("values of another shape, which begin again where they end")
    np.copyto(a, values, where=flags(mask))


def place(arr, mask, vals):
    values = np.ravel(np.asarray(vals)).astype(arr.dtype)
    if values.size == 0:
        raise ValueError("no values to be placed")
    where = flags(mask)
    before = np.cumsum(np.ravel(where)) - 1
    np.copyto(arr, values[np.reshape(before % values.size, arr.shape)], where=where)


def fill_wrapped(a, val):
    """A diagonal that begins again below the square."""
    if np.ndim(val) > 0:
        raise ValueError("several numbers for a diagonal that begins again")
    n, m = a.shape
    np.copyto(a, val, "unsafe", np.arange(n)[:, None] % (m + 1) == np.arange(m))


def ravel_multi_index(multi_index, dims):
    found = 0
    if any(isinstance(i, int) and beyond(i, 0, n) for i, n in zip(multi_index, dims, strict=False)):
        raise ValueError("a place that is out of bounds")
    for k in range(len(dims)):
        found = found * dims[k] + np.asarray(multi_index[k])
    return found


def tensorsolve(a, b):
    kept = a.shape[np.ndim(b):]
    return np.reshape(np.linalg.solve(np.reshape(a, (np.size(b), -1)), np.ravel(b)), kept)


def tensorinv(a, ind=2):
    rows = 1
    for n in a.shape[:ind]:
        rows = rows * n
    found = np.linalg.inv(np.reshape(a, (rows, -1)))
    return np.reshape(found, a.shape[ind:] + a.shape[:ind])


def repeat_each(a, repeats, axis):
    rows = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    if len(repeats) != rows.shape[0]:
        raise ValueError("one number of repetitions for each element along the axis")
    places = [k for k in range(len(repeats)) for _ in range(repeats[k])]
    return rows[places] if axis is None else np.moveaxis(rows[places], 0, axis)


def matvec(x1, x2):
    if x1.ndim < 2 or x2.ndim < 1 or x1.shape[-1] != x2.shape[-1]:
        raise ValueError("a matrix and a vector that do not fit")
    return np.matmul(x1, x2[..., None])[..., 0] if x1.ndim > 2 or x2.ndim > 1 else x1 @ x2


def vecmat(x1, x2):
    if x1.ndim < 1 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-2]:
        raise ValueError("a vector and a matrix that do not fit")
    left = np.conj(x1)
    return np.matmul(left[..., None, :], x2)[..., 0, :] if x1.ndim > 1 or x2.ndim > 2 else left @ x2


def astype(x, dtype, /, *, copy=True, device=None):
    return x.astype(dtype)


def unstack(x, /, *, axis=0):
    rows = np.moveaxis(x, axis, 0)
    return tuple([rows[k] for k in range(rows.shape[0])])


def isrealobj(x):
    return np.asarray(x).dtype.kind != "c"


def iscomplexobj(x):
    return np.asarray(x).dtype.kind == "c"


def iterable(y):
    return np.ndim(y) > 0


def isposinf(x):
    return np.isinf(x) & (np.asarray(x) > 0)


def isneginf(x):
    return np.isinf(x) & (np.asarray(x) < 0)


def isreal(x):
    return np.imag(x) == 0


def iscomplex(x):
    return np.imag(x) != 0
