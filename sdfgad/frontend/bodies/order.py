"""NumPy functions that sort, search and rank, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np

WRONG = ValueError  # of data: unlike what these bodies do not take, it is raised in the run


def argsort_rows(a, axis):
    rows = np.moveaxis(a, axis, -1)
    flat = np.reshape(rows, (-1, rows.shape[-1]))
    order = np.empty(flat.shape, np.int64)
    for k in range(flat.shape[0]):
        order[k] = np.argsort(flat[k])
    return np.moveaxis(np.reshape(order, rows.shape), -1, axis)


def sort_rows(a, axis):
    return np.take_along_axis(a, np.argsort(a, axis=axis), axis)


def ordered(columns, keys, reverse):
    """The items of lists in the order of keys, the first of which counts first; equal ones stay as they stand."""
    if reverse:  # from the end, so that this holds for what is turned round as well
        return [column[::-1] for column in ordered([c[::-1] for c in columns], [k[::-1] for k in keys], False)]
    order = np.lexsort([np.array(k) for k in keys[::-1]])
    return [[np.array(column)[order[k]] for k in range(len(column))] for column in columns]


def winner(values, better):
    """The place of the best one, of several the first; the first NaN wins, as in NumPy."""
    best, place = values[0], np.int64(0)
    for k in range(1, values.shape[0]):
        if best == best and (better(values[k], best) or values[k] != values[k]):
            best, place = values[k], np.int64(k)
    return place


def take_along_axis(arr, indices, axis=-1):
    if axis is None:
        if np.ndim(indices) != 1:
            raise ValueError("places of several dimensions in the flat array")
        return np.ravel(arr)[indices]
    return arr[_places(arr, indices, axis)]


def put_along_axis(arr, indices, values, axis):
    arr[_places(arr, indices, axis)] = values


def _places(arr, indices, axis):
    """One index array for each axis: the given one, and every position of the others."""
    if np.ndim(indices) != arr.ndim:
        raise ValueError("places of other dimensions than the array")
    last = arr.ndim - 1
    return tuple([indices if k == axis % arr.ndim else np.reshape(np.arange(arr.shape[k]), (-1,) + (1,) * (last - k))
                  for k in range(arr.ndim)])


def along(a, axis):
    """The elements along an axis, or along several as one, first."""
    if axis is None:
        return np.ravel(a)
    if isinstance(axis, tuple):
        moved = np.moveaxis(a, axis, tuple(range(len(axis))))
        return np.reshape(moved, (-1,) + moved.shape[len(axis):])
    return np.moveaxis(a, axis, 0)


POSITIONS = (("interpolated_inverted_cdf", 0.0, 1.0), ("hazen", 0.5, 0.5), ("weibull", 0.0, 0.0),
             ("median_unbiased", 1 / 3, 1 / 3), ("normal_unbiased", 3 / 8, 3 / 8))
"""Methods by how far before the first value, and behind the last one, a quantile may be (Hyndman and Fan 1996)."""


def quantile(a, q, axis=None, keepdims=False, method="linear"):
    chooses = method in ("lower", "higher", "nearest")  # one of the elements, in their dtype
    values = np.asarray(a) if chooses else np.asarray(a) * 1.0
    if values.dtype.kind == "c":
        raise ValueError("quantiles of complex numbers")
    known = settled(q)
    if known is None:
        if values.dtype.kind != "f":
            raise ValueError("an element of integers at a place that is not known before the call")
        # A number of Python's leaves single precision as it is.
        at = np.asarray(q).astype(values.dtype) if type(q) is float else np.asarray(q)
        return _between_ranks(values, at, axis, keepdims, method)
    if isinstance(known, (tuple, list)):
        kind = values.dtype
        if not chooses:
            kind = np.result_type(values.dtype, np.asarray(q).dtype)
        return np.stack([quantile(values.astype(kind), p, axis, keepdims, method) for p in known])
    if not 0 <= known <= 1:
        raise ValueError("quantiles other than those from 0 to 1")
    ordered = np.sort(along(values, axis), axis=0)
    place = _place(known, ordered.shape[0], method)
    low = int(place)
    high = min(low + 1, ordered.shape[0] - 1)
    if method in ("linear", "midpoint") or method in [name for name, _, _ in POSITIONS]:
        share = place - low if method != "midpoint" else 0.5 if place > low else 0.0
        found = ordered[low] + (ordered[high] - ordered[low]) * share
    elif chooses:
        found = ordered[low if method == "lower" else round(place) if method == "nearest" else math.ceil(place)]
    else:
        raise ValueError("this method")
    # What is not a number comes last.
    found = np.where(np.isnan(ordered[-1]), np.nan, found) if values.dtype.kind == "f" else np.asarray(found)
    if keepdims:
        return np.reshape(found, (1,) * values.ndim) if axis is None else np.expand_dims(found, axis)
    return found if ordered.ndim > 1 else found[()]


def settled(q):
    """Numbers that are known before the call, or None: see `frontend/arrays/known.py`."""
    return q


def _place(q, n, method):
    """Where a quantile is among n ordered values, rounded as in NumPy."""
    if method not in [name for name, _, _ in POSITIONS]:
        return q * (n - 1)
    before, behind = [(low, high) for name, low, high in POSITIONS if name == method][0]
    return min(max(n * q + before + q * (1.0 - before - behind) - 1.0, 0.0), n - 1.0)


def _between_ranks(values, q, axis, keepdims, method):
    """Quantiles that data give: linear between the values of two ranks, and exact at both."""
    if method != "linear":
        raise ValueError("this method, with quantiles that are not known before the call")
    if not np.all((q >= 0) & (q <= 1)):
        raise ArithmeticError("quantiles other than those from 0 to 1")
    ordered = np.sort(along(values, axis), axis=0)
    place = q * (ordered.shape[0] - 1)
    rank = np.clip(np.floor(place), 0, max(ordered.shape[0] - 2, 0))
    low = rank.astype(np.int64)
    share = np.reshape(place - rank, q.shape + (1,) * (ordered.ndim - 1))
    below, above = ordered[low], ordered[np.minimum(low + 1, ordered.shape[0] - 1)]
    near = np.where(share < 0.5, below + (above - below) * share, above - (above - below) * (1.0 - share))
    found = np.where(np.isnan(ordered[-1]), np.nan, near)
    if keepdims:
        left = (1,) * values.ndim if axis is None else np.expand_dims(ordered[0], axis).shape
        return np.reshape(found, q.shape + left)
    return found[()]


def percentile(a, q, axis=None, keepdims=False, method="linear"):
    share = [p / 100 for p in q] if isinstance(q, (tuple, list)) else q / 100
    return np.quantile(a, share, axis, keepdims=keepdims, method=method)


def median(a, axis=None, keepdims=False):
    values = np.asarray(a)
    ordered = np.sort(along(values, axis), axis=0)
    n = ordered.shape[0]
    if n == 0:
        return np.mean(values, axis=axis, keepdims=keepdims)
    middle = np.mean(ordered[(n - 1) // 2:n // 2 + 1], axis=0)
    if values.dtype.kind == "f":
        # What is not a number comes last.
        middle = np.where(np.isnan(ordered[n - 1]), ordered[n - 1], middle)
    if keepdims:
        return np.reshape(middle, (1,) * values.ndim) if axis is None else np.expand_dims(middle, axis)
    return middle if ordered.ndim > 1 else middle[()]


def searchsorted(a, v, side="left"):
    line, values = np.asarray(a), np.asarray(v)
    if side not in ("left", "right"):
        raise ValueError("another side")
    n = line.shape[0]
    found = np.zeros(values.shape, np.int64)
    for step in [1 << k for k in range(62, -1, -1) if 1 << k <= n]:
        ahead = found + step
        last = line[np.minimum(ahead, n) - 1]
        # What is not a number comes last.
        behind = (last < values if side == "left" else last <= values) | (
            (values != values) & (last == last if side == "left" else True))
        found = np.where((ahead <= n) & behind, ahead, found)
    return found[()]


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, equal_nan=True):
    """How many numbers there are depends on the data: of equal ones, the first in order is selected."""
    if return_index or return_counts or axis is not None:
        raise ValueError("np.unique of data with the places, the counts, or along an axis")
    given = np.ravel(np.asarray(ar))
    order = np.argsort(given, kind="stable")
    line = given[order]
    first = np.ones(line.shape, np.bool_)
    before, behind = line[:-1], line[1:]
    # What is not a number comes last, and once.
    first[1:] = (before != behind) & ((before == before) | (behind == behind) | (not equal_nan))
    if not return_inverse:
        return line[first]
    inverse = np.empty(line.shape, np.int64)
    inverse[order] = np.cumsum(first) - 1
    return line[first], np.reshape(inverse, np.shape(ar))


def bisect_left(a, x):
    return halved(a, x, lambda item: item < x)


def bisect_right(a, x):
    return halved(a, x, lambda item: not x < item)


def halved(a, x, behind):
    """Where Python's `bisect` ends: it looks at the same items, also in a list without order."""
    line, n = np.asarray(a), len(a)
    if n > 0 and line.ndim != 1 or np.ndim(x) != 0:
        raise ValueError("items that are not numbers")
    low, high = 0, n
    for _ in [k for k in range(63) if 1 << k <= n]:
        middle = (low + high) // 2
        if low < high and behind(line[min(middle, n - 1)]):
            low = middle + 1
        else:
            high = middle
    return low


def digitize(x, bins, right=False):
    line = np.asarray(bins)
    if line.shape[0] == 0:
        return np.searchsorted(line, x)
    if np.any(line[1:] < line[:-1]) and np.any(line[1:] > line[:-1]):
        raise WRONG("bins must be monotonically increasing or decreasing")
    if right:
        rising, falling = np.searchsorted(line, x), np.searchsorted(line[::-1], x)
    else:
        rising, falling = np.searchsorted(line, x, "right"), np.searchsorted(line[::-1], x, "right")
    falling = line.shape[0] - falling
    return np.where(line[0] <= line[-1], rising, falling)


def unravel_index(indices, shape, order="C"):
    if order != "C":
        raise ValueError("another order than that of rows")
    sizes = shape if isinstance(shape, tuple) else (shape,)
    if isinstance(indices, int) and beyond(indices, 0, np.prod(sizes)):
        raise ValueError("a place that is out of bounds")
    indices = indices if isinstance(indices, int) else np.asarray(indices).astype(np.int64)[()]
    if len(sizes) == 1:
        return (indices % sizes[0],)
    return unravel_index(indices // sizes[-1], sizes[:-1]) + (indices % sizes[-1],)


def nanmax(a, axis=None, keepdims=False):
    if np.asarray(a).dtype.kind in "iub":
        return np.max(a, axis=axis, keepdims=keepdims)
    high = np.max(np.where(np.isnan(a), -np.inf, a), axis=axis, keepdims=keepdims)
    return np.where(np.all(np.isnan(a), axis=axis, keepdims=keepdims), np.nan, high)[()]


def nanmin(a, axis=None, keepdims=False):
    if np.asarray(a).dtype.kind in "iub":
        return np.min(a, axis=axis, keepdims=keepdims)
    low = np.min(np.where(np.isnan(a), np.inf, a), axis=axis, keepdims=keepdims)
    return np.where(np.all(np.isnan(a), axis=axis, keepdims=keepdims), np.nan, low)[()]


def nanvar(a, axis=None, ddof=0, keepdims=False):
    kind = np.asarray(a).dtype
    if kind.kind in "iub":
        return np.var(a, axis=axis, ddof=ddof, keepdims=keepdims)
    size = kind if kind.kind == "f" else np.float32 if kind == np.complex64 else np.float64
    left = np.sum(np.where(np.isnan(a), 0.0, 1.0).astype(size), axis=axis, keepdims=keepdims) - ddof
    away = np.where(np.isnan(a), 0.0, a - np.nanmean(a, axis=axis, keepdims=True))
    total = np.sum(np.real(away * np.conj(away)), axis=axis, keepdims=keepdims)
    return np.where(left > 0, total / np.where(left > 0, left, 1), np.nan)[()]


def nanstd(a, axis=None, ddof=0, keepdims=False):
    return np.sqrt(np.nanvar(a, axis=axis, ddof=ddof, keepdims=keepdims))


def ones_elsewhere(a, where):
    """The factors of a product with `where=`."""
    if np.asarray(where).dtype != bool:
        raise ValueError("where= of other than booleans")
    return np.where(np.broadcast_to(where, np.shape(a)), a, 1)


def nanprod(a, axis=None, dtype=None, keepdims=False, initial=1, where=True):
    return np.prod(np.where(np.isnan(a), 1, a), axis, dtype, keepdims=keepdims, initial=initial, where=where)


def nancumsum(a, axis=None):
    return np.cumsum(np.where(np.isnan(a), 0, a), axis=axis)


def partition(a, kth, axis=-1, kind="introselect"):
    """Sorted data is partitioned everywhere."""
    _check_places(a, kth, axis)
    return np.sort(a, axis=axis)


def argpartition(a, kth, axis=-1, kind="introselect"):
    _check_places(a, kth, axis)
    return np.argsort(a, axis=axis)


def _check_places(a, kth, axis):
    n = np.size(a) if axis is None else np.shape(a)[axis]
    if any(beyond(k, -n, n) for k in ([kth] if np.ndim(kth) == 0 else kth)):
        raise ValueError("a place that is out of bounds")


def beyond(k, low, high):
    """Whether a place that is known while translating is out of bounds; of others the front end answers False."""
    return not low <= k < high
