"""NumPy functions that arrange data, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from sdfgad.frontend.bodies.order import WRONG, beyond

_range = range


def as_long_as(array, resized, k):
    """Stands for a rule: the array, which has the shape that it is to have after k iterations."""
    raise NotImplementedError


def roll(a, shift, axis=None):
    a = np.asarray(a)
    if axis is None:
        return np.reshape(np.roll(np.ravel(a), shift, 0), a.shape)
    shifts = isinstance(shift, (tuple, list)) or isinstance(shift, np.ndarray) and shift.ndim > 0
    if shifts or isinstance(axis, (tuple, list)):
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        count = len(shift) if shifts else 1
        out = a
        for k in range(max(count, len(axes))):
            by = shift[k if count > 1 else 0] if shifts else shift
            out = np.roll(out, by, axes[k if len(axes) > 1 else 0])
        return out
    out = np.empty(a.shape, a.dtype)
    n = a.shape[axis]
    if n == 0:
        return out
    s = shift % n
    to = np.moveaxis(out, axis, 0)
    rows = np.moveaxis(a, axis, 0)
    to[s:] = rows[:n - s]
    to[:s] = rows[n - s:]
    return out


def asfortranarray(a, dtype=None):
    return np.transpose(np.ascontiguousarray(np.transpose(np.asarray(a)), dtype))


def kron(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    rank = max(a.ndim, b.ndim)
    outer, inside = (1,) * (rank - a.ndim) + a.shape, (1,) * (rank - b.ndim) + b.shape
    blocks, within = [], []
    for m, n in zip(outer, inside, strict=True):
        blocks += [m, 1]
        within += [1, n]
    product = np.reshape(a, tuple(blocks)) * np.reshape(b, tuple(within))
    return np.reshape(product, tuple([m * n for m, n in zip(outer, inside, strict=True)]))


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


def atleast_1d(*arys):
    if len(arys) != 1:
        return tuple([np.atleast_1d(a) for a in arys])
    a = np.asarray(arys[0])
    return np.reshape(a, (1,)) if np.ndim(a) == 0 else a


def atleast_2d(*arys):
    if len(arys) != 1:
        return tuple([np.atleast_2d(a) for a in arys])
    a = np.asarray(arys[0])
    return np.reshape(a, (1, 1)) if np.ndim(a) == 0 else (a[None, :] if np.ndim(a) == 1 else a)


def atleast_3d(*arys):
    if len(arys) != 1:
        return tuple([np.atleast_3d(a) for a in arys])
    a = np.asarray(arys[0])
    if np.ndim(a) < 2:
        return np.atleast_1d(a)[None, :, None]
    return a[:, :, None] if np.ndim(a) == 2 else a


def fliplr(m):
    return np.asarray(m)[:, ::-1]


def flipud(m):
    return m[::-1]


def rot90(m, k=1, axes=(0, 1)):
    first, second = axes
    if first % np.ndim(m) == second % np.ndim(m):
        raise ValueError("a plane of one axis")
    turns = k % 4
    if turns == 0:
        return m
    if turns == 1:
        return np.swapaxes(np.flip(m, second), first, second)
    return np.flip(m, (first, second)) if turns == 2 else np.flip(np.swapaxes(m, first, second), second)


def split(ary, indices_or_sections, axis=0):
    if np.ndim(indices_or_sections) == 0 and ary.shape[axis] % int(indices_or_sections) != 0:
        raise ValueError("sections of unequal size")
    return np.array_split(ary, indices_or_sections, axis)


def array_split(ary, indices_or_sections, axis=0):
    rows = np.moveaxis(ary, axis, 0)
    n = rows.shape[0]
    if np.ndim(indices_or_sections) == 0:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0")
        size, more = divmod(n, sections)
        cuts = [k * size + min(k, more) for k in range(1, sections)]
    else:
        cuts = indices_or_sections
    ends = list(cuts) + [n]
    starts = [0] + list(cuts)
    return [np.moveaxis(rows[starts[k]:ends[k]], 0, axis) for k in range(len(ends))]


def hsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 2)


def vsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 0)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    if beyond(num, 0, np.inf):
        raise ValueError("a negative number of samples")
    parts = num - 1 if endpoint else num
    gap = np.subtract(stop * 1.0, start * 1.0)  # a number of NumPy's, as the step is
    k = np.arange(0, num).astype(np.asarray(gap).dtype)
    if np.ndim(gap):
        k = np.reshape(k, (num,) + (1,) * np.ndim(gap))
    if parts > 0:
        step = gap / parts
        y = k * step + start
    else:
        step = np.nan
        y = k * gap + start
    if endpoint and num > 1:
        y[num - 1] = stop
    y = np.moveaxis(y, 0, axis) if axis else y
    if dtype is not None:
        y = (np.floor(y) if np.dtype(dtype).kind in "iu" else y).astype(dtype)
    return (y, step) if retstep else y


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    start, stop = start * np.float64(1.0), stop * np.float64(1.0)
    if np.any(start == 0) or np.any(stop == 0):
        raise WRONG("Geometric sequence cannot include zero")
    sign = np.sign(start)
    y = sign * np.power(10.0, np.linspace(np.log10(start * sign), np.log10(stop * sign), num, endpoint, axis=axis))
    if num > 0:
        ends = np.moveaxis(y, axis, 0) if axis else y
        ends[0] = start
        if endpoint and num > 1:
            ends[num - 1] = stop
    return y if dtype is None else y.astype(dtype)


def logspace(start, stop, num=50, endpoint=True, base=10.0):
    return np.power(base, np.linspace(start, stop, num, endpoint))


def indices(dimensions):
    if len(dimensions) == 0:
        raise ValueError("no dimension")
    return np.stack(np.meshgrid(*[np.arange(n) for n in dimensions], indexing="ij"))


def ix_(*parts):
    n = len(parts)
    places = [np.nonzero(p)[0] if np.asarray(p).dtype == bool else np.asarray(p) for p in parts]
    if any(np.ndim(p) != 1 for p in places):
        raise ValueError("places in several dimensions")
    return tuple([np.reshape(p, (1,) * k + (-1,) + (1,) * (n - k - 1)) for k, p in enumerate(places)])


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    a = np.moveaxis(np.asarray(a), axisa if axis is None else axis, -1)
    b = np.moveaxis(np.asarray(b), axisb if axis is None else axis, -1)
    if a.shape[-1] == 2 and b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError("vectors of other spaces than the plane and space")
    a, b = _in_space(a), _in_space(b)
    made = np.stack((a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1], a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
                     a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]), axis=-1)
    return np.moveaxis(made, -1, axisc if axis is None else axis)


def cross_in_space(x1, x2, axis=-1):
    if np.shape(x1)[axis] != 3 or np.shape(x2)[axis] != 3:
        raise ValueError("np.linalg.cross of vectors that have not three components")
    return cross(x1, x2, axis=axis)


def _in_space(vectors):
    """Vectors of a plane have no third component."""
    return np.concatenate((vectors, np.zeros_like(vectors[..., :1])), axis=-1) if vectors.shape[-1] == 2 else vectors


def inner(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.dot(a, b)
    return np.tensordot(a, b, ((np.ndim(a) - 1,), (np.ndim(b) - 1,)))


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
