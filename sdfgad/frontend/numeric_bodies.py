"""NumPy functions that compute, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np

_range = range


def prod(a, axis=None, dtype=None, keepdims=False):
    if axis is None:
        rows = np.ravel(a)
        shape = (1,) * np.ndim(a)
    else:
        rows = np.moveaxis(a, axis, 0)
        shape = rows.shape[1:]
    total = np.ones(rows.shape[1:], np.sum(np.zeros(1, rows.dtype)).dtype if dtype is None else dtype)
    for k in range(rows.shape[0]):
        total *= rows[k]
    if axis is None:
        return np.reshape(total, shape) if keepdims else total[()]
    return np.expand_dims(total, axis) if keepdims else (total if len(shape) else total[()])


def cumsum(a, axis=None, dtype=None):
    if axis is None:
        a = np.ravel(a)
        axis = 0
    rows = np.moveaxis(a, axis, 0)
    out = np.empty(rows.shape, np.sum(np.zeros(1, rows.dtype)).dtype if dtype is None else dtype)
    if rows.shape[0] > 0:
        out[0] = rows[0]
    for k in range(1, rows.shape[0]):
        out[k] = out[k - 1] + rows[k]
    return np.moveaxis(out, 0, axis)


def cumprod(a, axis=None, dtype=None):
    if axis is None:
        a = np.ravel(a)
        axis = 0
    rows = np.moveaxis(a, axis, 0)
    out = np.empty(rows.shape, np.sum(np.zeros(1, rows.dtype)).dtype if dtype is None else dtype)
    if rows.shape[0] > 0:
        out[0] = rows[0]
    for k in range(1, rows.shape[0]):
        out[k] = out[k - 1] * rows[k]
    return np.moveaxis(out, 0, axis)


def var(a, axis=None, dtype=None, ddof=0, keepdims=False):
    centre = np.mean(a, axis=axis, dtype=dtype, keepdims=True)
    away = a - centre
    count = np.size(a, axis)
    total = np.sum(np.real(away * np.conj(away)), axis=axis, keepdims=keepdims)
    return total / (count - ddof)


def std(a, axis=None, dtype=None, ddof=0, keepdims=False):
    return np.sqrt(np.var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims))


def average(a, axis=None, weights=None):
    if weights is None:
        return np.mean(a, axis=axis)
    return np.sum(a * weights, axis=axis) / np.sum(weights * np.ones_like(a), axis=axis)


def ptp(a, axis=None, keepdims=False):
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def argmax(a, axis=None):
    if axis is None:
        return _winner(np.ravel(a), np.greater)
    return _winners(np.moveaxis(a, axis, -1), np.greater)


def argmin(a, axis=None):
    if axis is None:
        return _winner(np.ravel(a), np.less)
    return _winners(np.moveaxis(a, axis, -1), np.less)


def _winner(values, better):
    best = values[0]
    place = np.int64(0)
    for k in range(1, values.shape[0]):
        # The first NaN wins, as in NumPy.
        if best == best and (better(values[k], best) or values[k] != values[k]):
            best = values[k]
            place = np.int64(k)
    return place


def _winners(rows, better):
    if rows.ndim == 1:
        return _winner(rows, better)
    out = np.zeros(rows.shape[:-1], np.int64)
    for k in range(rows.shape[0]):
        out[k] = _winners(rows[k], better)
    return out


def clip(a, a_min=None, a_max=None, min=None, max=None):
    low = a_min if min is None else min
    high = a_max if max is None else max
    if low is None:
        return np.minimum(a, high)
    if high is None:
        return np.maximum(a, low)
    return np.minimum(np.maximum(a, low), high)


def square(x):
    return x * x


def reciprocal(x):
    return 1 / x


def heaviside(x1, x2):
    return np.where(x1 == 0, x2, np.where(x1 < 0, 0.0, np.where(x1 > 0, 1.0, x1)))


def sinc(x):
    y = np.pi * np.where(x == 0, 1.0e-20, x)
    return np.sin(y) / y


def logaddexp(x1, x2):
    high = np.maximum(x1, x2)
    return high + np.log1p(np.exp(-np.abs(x1 - x2)))


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if x.dtype.kind not in "fc":
        return x
    if x.dtype.kind == "c":
        raise ValueError("np.nan_to_num of complex numbers")
    largest = np.finfo(x.dtype).max
    above = largest if posinf is None else posinf
    below = -largest if neginf is None else neginf
    result = np.where(np.isnan(x), nan, np.where(x == np.inf, above, np.where(x == -np.inf, below, x)))
    if copy:
        return result
    x[...] = result
    return x


def deg2rad(x):
    return x * (np.pi / 180.0)


def rad2deg(x):
    return x * (180.0 / np.pi)


def absolute_square(x):
    return np.real(x) * np.real(x) + np.imag(x) * np.imag(x)


def angle(z):
    return np.arctan2(np.imag(z), np.real(z))


def diff(a, n=1, axis=-1):
    rows = np.moveaxis(a, axis, 0)
    for _ in range(n):
        rows = rows[1:] - rows[:-1]
    return np.moveaxis(rows, 0, axis)


def gradient(f, *varargs, axis=None):
    step = varargs[0] if len(varargs) == 1 else 1.0
    if axis is None and f.ndim > 1:
        return [np.gradient(f, step if len(varargs) < 2 else varargs[k], axis=k) for k in range(f.ndim)]
    rows = np.moveaxis(f, 0 if axis is None else axis, 0)
    out = np.empty(rows.shape)
    out[1:-1] = (rows[2:] - rows[:-2]) / (2.0 * step)
    out[0] = (rows[1] - rows[0]) / step
    out[-1] = (rows[-1] - rows[-2]) / step
    return np.moveaxis(out, 0, 0 if axis is None else axis)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    rows = np.moveaxis(y, axis, 0)
    if x is None:
        return np.sum(dx * (rows[1:] + rows[:-1]) / 2.0, axis=0)
    widths = np.reshape(x[1:] - x[:-1], (-1,) + (1,) * (rows.ndim - 1))
    return np.sum(widths * (rows[1:] + rows[:-1]) / 2.0, axis=0)


def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    data = np.atleast_2d(m)
    if not rowvar and np.ndim(m) > 1:
        data = data.T
    if y is not None:
        other = np.atleast_2d(y)
        data = np.concatenate((data, other if rowvar or np.ndim(y) == 1 else other.T), axis=0)
    less = (0 if bias else 1) if ddof is None else ddof
    away = data - np.mean(data, axis=1, keepdims=True)
    table = away @ np.conj(away.T) / (data.shape[1] - less)
    return np.reshape(table, ()) if table.shape == (1, 1) else table


def corrcoef(x, rowvar=True):
    c = np.cov(x, rowvar=rowvar)
    d = np.sqrt(np.diag(c))
    return c / d[:, None] / d[None, :]


def histogram(a, bins=10, range=None, weights=None, density=None):
    values = np.ravel(a)
    low, high = (np.min(values), np.max(values)) if range is None else range
    low, high = low * 1.0, high * 1.0
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1)
    counts = np.zeros(bins + 1, np.int64 if weights is None else weights.dtype)
    k = np.minimum(((values - low) / (high - low) * bins).astype(np.int64), bins - 1)
    k = k - (values < edges[k])
    k = k + ((values >= edges[k + 1]) & (k != bins - 1))
    # What is out of range goes to a bin of its own.
    k = np.where((low <= values) & (values <= high), k, bins)
    np.add.at(counts, k, 1 if weights is None else np.ravel(weights))
    if density:
        return counts[:-1] / np.diff(edges) / np.sum(counts[:-1]), edges
    return counts[:-1], edges


def bincount(x, weights=None, minlength=0):
    out = np.zeros(minlength, np.int64 if weights is None else np.float64)
    np.add.at(out, x, 1 if weights is None else weights)
    return out


def interp(x, xp, fp):
    flat = np.ravel(np.asarray(x))
    out = np.empty(flat.shape)
    for n in _range(flat.shape[0]):
        v = flat[n]
        k = 0
        for j in _range(1, xp.shape[0] - 1):
            if v >= xp[j]:
                k = j
        t = (v - xp[k]) / (xp[k + 1] - xp[k])
        inside = fp[k] + t * (fp[k + 1] - fp[k])
        out[n] = fp[0] if v <= xp[0] else (fp[-1] if v >= xp[-1] else inside)
    return np.reshape(out, np.shape(x)) if np.ndim(x) else out[0]


def polyval(p, x):
    y = np.zeros_like(x)
    for k in _range(len(p)):
        y = y * x + p[k]
    return y


def norm(x, ord=None, axis=None, keepdims=False):
    if ord is None or ord == 2 or ord == "fro":
        assert ord is None or axis is not None or (x.ndim == 1) == (ord == 2)
        return np.sqrt(np.sum(absolute_square(x), axis=axis, keepdims=keepdims))
    assert axis is not None or x.ndim == 1
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    return np.sum(np.abs(x) ** ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


def ediff1d(ary):
    flat = np.ravel(ary)
    return flat[1:] - flat[:-1]


def fsum(values):
    return float(np.sum(values))


def hypot_of(*coordinates):
    total = 0.0
    for c in coordinates:
        total = total + c * c
    return math.sqrt(total)


def isclose(a, b, rtol=1e-5, atol=1e-8):
    return np.abs(a - b) <= atol + rtol * np.abs(b)


def allclose(a, b, rtol=1e-5, atol=1e-8):
    return np.all(np.isclose(a, b, rtol, atol))


def array_equal(a1, a2):
    return np.all(a1 == a2)
