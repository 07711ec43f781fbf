"""NumPy functions written in plain NumPy: the interpreter runs these bodies in place of a call."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np


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


def nan_to_num(x, copy=True, nan=0.0):
    return np.where(np.isnan(x), nan, x)


def deg2rad(x):
    return x * (np.pi / 180.0)


def rad2deg(x):
    return x * (180.0 / np.pi)


def absolute_square(x):
    return np.real(x) * np.real(x) + np.imag(x) * np.imag(x)


def angle(z):
    return np.arctan2(np.imag(z), np.real(z))


def roll(a, shift, axis=None):
    if axis is None:
        return np.reshape(np.roll(np.ravel(a), shift, 0), a.shape)
    if isinstance(axis, tuple):
        out = a
        for k in range(len(axis)):
            out = np.roll(out, shift[k] if isinstance(shift, tuple) else shift, axis[k])
        return out
    out = np.empty(a.shape, a.dtype)
    n = a.shape[axis]
    if n == 0:
        return out
    s = shift % n
    to = np.moveaxis(out, axis, 0)
    rows = np.moveaxis(a, axis, 0)
    if s == 0:
        to[:] = rows
    else:
        to[s:] = rows[:n - s]
        to[:s] = rows[n - s:]
    return out


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


def cross(a, b):
    first = np.stack((a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1], a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
                      a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]), axis=-1)
    return first


def kron(a, b):
    if a.ndim == 1:
        return np.reshape(a[:, None] * b[None, :], (a.shape[0] * b.shape[0],))
    rows, columns = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    return np.reshape(a[:, None, :, None] * b[None, :, None, :], (rows, columns))


def inner(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    return np.tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def hstack(tup):
    parts = [np.atleast_1d(p) for p in tup]
    return np.concatenate(parts, axis=0 if parts[0].ndim == 1 else 1)


def vstack(tup):
    return np.concatenate([np.atleast_2d(p) for p in tup], axis=0)


def dstack(tup):
    return np.concatenate([np.atleast_3d(p) for p in tup], axis=2)


def column_stack(tup):
    return np.concatenate([p[:, None] if np.ndim(p) == 1 else p for p in tup], axis=1)


def append(arr, values, axis=None):
    if axis is None:
        return np.concatenate((np.ravel(arr), np.ravel(np.asarray(values))))
    return np.concatenate((arr, values), axis=axis)


def atleast_1d(a):
    return np.reshape(np.asarray(a), (1,)) if np.ndim(a) == 0 else a


def atleast_2d(a):
    return np.reshape(np.asarray(a), (1, 1)) if np.ndim(a) == 0 else (a[None, :] if np.ndim(a) == 1 else a)


def atleast_3d(a):
    if np.ndim(a) < 2:
        return np.atleast_1d(a)[None, :, None]
    return a[:, :, None] if np.ndim(a) == 2 else a


def fliplr(m):
    return m[:, ::-1]


def flipud(m):
    return m[::-1]


def rot90(m, k=1):
    turns = k % 4
    if turns == 0:
        return m
    if turns == 1:
        return np.transpose(m[:, ::-1])
    return m[::-1, ::-1] if turns == 2 else np.transpose(m)[:, ::-1]


def split(ary, indices_or_sections, axis=0):
    rows = np.moveaxis(ary, axis, 0)
    n = rows.shape[0]
    if isinstance(indices_or_sections, int):
        size = n // indices_or_sections
        cuts = [k * size for k in range(1, indices_or_sections)]
    else:
        cuts = indices_or_sections
    ends = list(cuts) + [n]
    starts = [0] + list(cuts)
    return [np.moveaxis(rows[starts[k]:ends[k]], 0, axis) for k in range(len(ends))]


def pad(array, pad_width, mode="constant", constant_values=0):
    if isinstance(pad_width, int):
        widths = [(pad_width, pad_width) for _ in range(array.ndim)]
    elif isinstance(pad_width[0], int):
        widths = [(pad_width[0], pad_width[-1]) for _ in range(array.ndim)]
    else:
        widths = [(w[0], w[-1]) for w in pad_width]
    if len(widths) == 1:
        widths = [widths[0] for _ in range(array.ndim)]
    shape = tuple([array.shape[k] + widths[k][0] + widths[k][1] for k in range(array.ndim)])
    inside = tuple([slice(widths[k][0], widths[k][0] + array.shape[k]) for k in range(array.ndim)])
    assert mode == "constant"
    out = np.full(shape, constant_values, array.dtype)
    out[inside] = array
    return out


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    parts = num - 1 if endpoint else num
    gap = stop * 1.0 - start
    if parts > 0:
        step = gap / parts
        y = np.arange(0, num) * step + start
    else:
        step = np.nan
        y = np.arange(0, num) * gap + start
    if endpoint and num > 1:
        y[num - 1] = stop
    y = y if dtype is None else y.astype(dtype)
    return (y, step) if retstep else y


def logspace(start, stop, num=50, endpoint=True, base=10.0):
    return np.power(base, np.linspace(start, stop, num, endpoint))


def indices(dimensions):
    return np.stack(np.meshgrid(*[np.arange(n) for n in dimensions], indexing="ij"))


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
    counts = np.zeros(bins, np.int64 if weights is None else weights.dtype)
    for n in _range(values.shape[0]):
        x = values[n]
        if low <= x and x <= high:
            k = int((x - low) / (high - low) * bins)
            if k == bins:
                k = bins - 1
            if x < edges[k]:
                k = k - 1
            elif x >= edges[k + 1] and k != bins - 1:
                k = k + 1
            counts[k] += 1 if weights is None else weights[n]
    return counts, edges


_range = range


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


def multi_dot(arrays):
    product = arrays[0]
    for k in _range(1, len(arrays)):
        product = product @ arrays[k]
    return product


def batched_matmul(a, b):
    if a.ndim == 1:
        a = a[None, :]
        return np.squeeze(np.matmul(a, b), -2)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left = np.broadcast_to(a, lead + a.shape[-2:])
    right = np.broadcast_to(b, lead + b.shape[-2:])
    out = np.empty(lead + (a.shape[-2], b.shape[-1]), np.result_type(a.dtype, b.dtype))
    for k in _range(lead[0]):
        out[k] = left[k] @ right[k]
    return out


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


def subtract_outer(a, b):
    return np.reshape(a, a.shape + (1,) * b.ndim) - b


def add_outer(a, b):
    return np.reshape(a, a.shape + (1,) * b.ndim) + b


def item(a):
    return np.ravel(a)[0] if np.ndim(a) else a



POLYFILLS: Mapping[Any, Callable[..., Any]] = MappingProxyType({
    np.prod: prod, np.cumsum: cumsum, np.cumprod: cumprod, np.var: var, np.std: std, np.average: average, np.ptp: ptp,
    np.argmax: argmax, np.argmin: argmin, np.clip: clip, np.square: square, np.reciprocal: reciprocal,
    np.heaviside: heaviside, np.sinc: sinc, np.logaddexp: logaddexp, np.nan_to_num: nan_to_num, np.deg2rad: deg2rad,
    np.radians: deg2rad, np.rad2deg: rad2deg, np.degrees: rad2deg, np.angle: angle, np.roll: roll, np.diff: diff,
    np.gradient: gradient, np.trapezoid: trapezoid, np.cross: cross, np.kron: kron, np.inner: inner,
    np.hstack: hstack, np.vstack: vstack, np.dstack: dstack, np.column_stack: column_stack, np.append: append,
    np.atleast_1d: atleast_1d, np.atleast_2d: atleast_2d, np.atleast_3d: atleast_3d, np.fliplr: fliplr,
    np.flipud: flipud, np.rot90: rot90, np.split: split, np.array_split: split, np.pad: pad, np.linspace: linspace,
    np.logspace: logspace, np.indices: indices, np.cov: cov, np.corrcoef: corrcoef, np.histogram: histogram,
    np.bincount: bincount, np.interp: interp, np.polyval: polyval, np.linalg.norm: norm, np.linalg.multi_dot: multi_dot,
    np.ediff1d: ediff1d, np.isclose: isclose, np.allclose: allclose, np.array_equal: array_equal,
    np.subtract.outer: subtract_outer, np.add.outer: add_outer, np.add.accumulate: cumsum,
    np.multiply.accumulate: cumprod, np.multiply.reduce: prod, math.hypot: hypot_of, math.fsum: fsum,
    batched_matmul: batched_matmul, item: item,
})
"""NumPy's function -> its body."""
