"""NumPy functions that pick elements by rank or by place, written in plain NumPy for the interpreter to run."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from sdfgad.errors import LengthsDiffer, StepIsZero
from sdfgad.frontend.bodies.order import winner


def ranked(a, axis):
    """The values in order along the first axis, what is not a number last, and how many are numbers."""
    rows = np.reshape(a, (-1,)) if axis is None else np.moveaxis(a, axis, 0)
    return np.sort(rows, axis=0), np.sum((rows == rows).astype(np.int64), axis=0)


def picked(ordered, places):
    """In each column the element at a place of its own."""
    if ordered.ndim == 1:
        return ordered[places]
    return np.take_along_axis(ordered, places[None], axis=0)[0]


def ranked_of_selected(function, values, mask, *options):
    """Ranks among the numbers where a mask is on; nothing is known of them where one is no number."""
    found = function(np.where(mask, values, np.nan), *options)
    return np.where(np.any(np.isnan(values) & mask), np.nan, found)[()]


def first_for_nan(items):
    """What Python's `max` and `min` compare: what is no number never wins, unless it comes first."""
    return np.where(np.isnan(items), items[0], items)


def total(items, start):
    """`sum` of items that are no numbers: their operator adds them."""
    start = start + items[0]
    for item in items[1:]:
        start = start + item
    return start


def number_of_steps(start, stop, step):
    """The length of a range."""
    if step == 0:
        raise StepIsZero("range() arg 3 must not be zero")
    if step > 0:
        return max(0, (stop - start + step - 1) // step)
    return max(0, (start - stop - step - 1) // -step)


def item_of_range(start, step, k):
    return start + k * step


def polyfit_of_selected(x, y, mask, deg):
    if not np.any(mask):
        raise TypeError("expected non-empty vector for x")
    return np.polyfit(np.where(mask, x, 0.0), np.where(mask, y, 0.0), deg, w=mask.astype(np.float64))


def lstsq_of_selected(a, b, mask, rcond):
    return np.linalg.lstsq(np.where(mask[:, None], a, 0.0), np.where(mask, b, 0.0), rcond)[0]


def lstsq_of_columns(rows, b, mask, rcond):
    # Columns of zeros take nothing: of all solutions this is the shortest.
    return np.linalg.lstsq(np.where(mask[:, None], rows, 0.0).T, b, rcond)[0]


def bincount_of_selected(x, weights=None, minlength=0):
    if minlength == 0:
        raise ValueError("without minlength data decide how long the counts are")
    out = np.zeros(minlength, np.int64 if weights is None else np.float64)
    np.add.at(out, np.clip(x, 0, minlength - 1), 1 if weights is None else weights)
    spoilt = np.iinfo(np.int64).min if weights is None else np.nan  # as in `bincount`
    return np.where(np.sum((x < 0) | (x >= minlength)) == 0, out, spoilt)


def average_of_selected(values, weights):
    return np.sum(values * weights) / np.sum(weights)


def shaped(found, a, axis, keepdims):
    if keepdims:
        return np.reshape(found, (1,) * a.ndim) if axis is None else np.expand_dims(found, axis)
    return found if axis is not None and a.ndim > 1 else found[()]


def nanmedian(a, axis=None, keepdims=False):
    values = np.asarray(a) * 1.0
    if axis is not None and not isinstance(axis, int):
        raise ValueError("a median along several axes")
    ordered, count = ranked(values, axis)
    if ordered.shape[0] == 0:
        return np.mean(values, axis=axis, keepdims=keepdims)
    low = picked(ordered, np.maximum((count - 1) // 2, 0))
    high = picked(ordered, np.minimum(count // 2, ordered.shape[0] - 1))
    return shaped(np.asarray(np.where(count > 0, (low + high) / 2, np.nan)), values, axis, keepdims)


def nanquantile(a, q, axis=None, keepdims=False):
    values = np.asarray(a) * 1.0
    if isinstance(q, (tuple, list)):
        return np.stack([nanquantile(values.astype(np.float64), p, axis, keepdims) for p in q])
    if not isinstance(q, (int, float)) or not 0 <= q <= 1 or axis is not None and not isinstance(axis, int):
        raise ValueError("quantiles other than fixed numbers from 0 to 1, along one axis or all")
    ordered, count = ranked(values, axis)
    place = q * (count - 1)
    below = np.floor(place).astype(np.int64)
    low = picked(ordered, np.maximum(below, 0))
    high = picked(ordered, np.maximum(np.minimum(below + 1, count - 1), 0))
    share = place - below  # a number of Python's leaves single precision as it is
    share = share.astype(values.dtype) if type(q) is float or type(q) is int else share
    found = np.where(count > 0, low + (high - low) * share, np.nan)
    return shaped(np.asarray(found), values, axis, keepdims)


def nanpercentile(a, q, axis=None, keepdims=False):
    share = [p / 100 for p in q] if isinstance(q, (tuple, list)) else q / 100
    return nanquantile(a, share, axis, keepdims)


def _within(places, count, mode):
    """Places of `count` elements as a mode of `np.put` and `np.choose` takes them."""
    if mode == "raise":
        return places
    return np.clip(places, 0, count - 1) if mode == "clip" else np.remainder(places, count)


def put(a, ind, v, mode="raise"):
    places = _within(np.ravel(np.asarray(ind)), a.size, mode)
    values = np.resize(np.asarray(v), places.shape)
    a[np.unravel_index(np.where(places < 0, places + a.size, places), a.shape)] = values


def choose(a, choices, mode="raise"):
    which = _within(np.asarray(a), len(choices), mode)
    arrays = np.broadcast_arrays(which, *choices)
    chosen = np.take_along_axis(np.stack(arrays[1:]), arrays[0][None], axis=0)[0]
    return chosen.astype(np.result_type(*choices))  # which numbers of Python's leave as it is


def fromiter(iter, dtype, count=-1):
    values = np.array(iter, dtype=dtype)
    if count > values.shape[0]:
        raise ValueError("fewer items than are asked for")
    return values if count < 0 else values[:count]


def triu_indices_from(arr, k=0):
    return np.triu_indices(arr.shape[0], k, arr.shape[1])


def tril_indices_from(arr, k=0):
    return np.tril_indices(arr.shape[0], k, arr.shape[1])


def diag_indices_from(arr):
    return np.diag_indices(arr.shape[0], arr.ndim)


def poly(seq_of_zeros):
    zeros = np.atleast_1d(np.asarray(seq_of_zeros))
    if zeros.ndim != 1:
        raise ValueError("the characteristic polynomial of a matrix")
    if zeros.shape[0] == 0:
        return 1.0
    out = np.zeros(zeros.shape[0] + 1, zeros.dtype if zeros.dtype.kind in "fc" else np.float64)
    out[0] = 1.0
    for k in range(zeros.shape[0]):
        out[1:k + 2] -= zeros[k] * out[:k + 1]
    return out


def cumulative_sum(x, axis=None, include_initial=False):
    return accumulated(np.cumsum, 0, np.asarray(x), axis, include_initial)


def cumulative_prod(x, axis=None, include_initial=False):
    return accumulated(np.cumprod, 1, np.asarray(x), axis, include_initial)


def accumulated(function, first, values, axis, include_initial):
    if axis is None and values.ndim != 1:
        raise ValueError("an axis has to be given")
    along = 0 if axis is None else axis
    sums = function(values, axis=along)
    if not include_initial:
        return sums
    shape = tuple([1 if k == along % sums.ndim else sums.shape[k] for k in range(sums.ndim)])
    return np.concatenate((np.full(shape, first, sums.dtype), sums), axis=along)


def table_of_places(mask):
    """The places where a mask holds, row by row, in the first rows of a table, and how many there are."""
    table = np.zeros((mask.size, mask.ndim), np.int64)
    flat = np.ravel(mask)
    count = 0
    for k in range(mask.size):
        if flat[k]:
            rest = k
            for d in range(mask.ndim - 1, -1, -1):
                table[count, d] = rest % mask.shape[d]
                rest = rest // mask.shape[d]
            count += 1
    return table, count


def place_in_table(count, k):
    """A place among the first `count`, which may be counted from the last one."""
    place = k + count if k < 0 else k
    if place < 0 or place >= count:
        raise IndexError("there are fewer items")
    return place


def first_best_of_range(first, stop, step, key, greater):
    best, found = first, key(first)
    for k in range(first + step, stop, step):
        value = key(k)
        if (value > found if greater else value < found):
            best, found = k, value
    return best


def first_best(items, key, larger):
    best = items[0]
    found = key(best)
    for item in items[1:]:
        value = key(item)
        if value > found if larger else value < found:
            best, found = item, value
    return best


def isin(element, test_elements, assume_unique=False, invert=False):
    values, among = np.asarray(element), np.ravel(np.asarray(test_elements))
    found = np.any(np.expand_dims(values, -1) == among, axis=-1)
    return np.logical_not(found) if invert else found


def lexsort(keys, axis=-1):
    if np.ndim(keys[0]) != 1 or axis not in (0, -1):
        raise ValueError("an order by keys of several dimensions")
    if any(np.shape(k) != np.shape(keys[0]) for k in keys):
        raise ValueError("keys of different shapes")
    order = np.argsort(keys[0], kind="stable")
    for k in range(1, len(keys)):
        order = order[np.argsort(keys[k][order], kind="stable")]
    return order


def apply_over_axes(func, a, axes):
    values = np.asarray(a)
    for axis in (axes if isinstance(axes, (tuple, list)) else [axes]):
        at = axis if axis >= 0 else np.ndim(a) + axis
        found = func(values, at)
        values = found if np.ndim(found) == np.ndim(values) else np.expand_dims(found, at)
    return values


def mask_indices(n, mask_func, k=0):
    if mask_func is np.triu:
        return np.triu_indices(n, k)
    if mask_func is np.tril:
        return np.tril_indices(n, k)
    raise ValueError("places of a mask other than that of np.triu or np.tril")
def place_in_list(items, k):
    place = k + len(items) if k < 0 else k
    if place < 0 or place >= len(items):
        raise IndexError("list index out of range")
    return place


def item_of_list(items, k):
    place = place_in_list(items, k)
    found = items[0]
    for j, other in enumerate(items):
        found = other if place == j else found
    return found


def put_into_list(items, k, value):
    place = place_in_list(items, k)
    items[:] = [value if place == j else before for j, before in enumerate(items)]


def bounds_of_part(count, start, stop, step):
    """Where `items[start:stop:step]` begins among so many, and how many items it has."""
    low, high = (0, count) if step > 0 else (-1, count - 1)
    first = (low if step > 0 else high) if start is None else bound_of_part(count, start, low, high)
    last = (high if step > 0 else low) if stop is None else bound_of_part(count, stop, low, high)
    far = last - first if step > 0 else first - last
    return first, np.maximum((far + (abs(step) - 1)) // abs(step), 0)


def bound_of_part(count, k, low, high):
    return np.maximum(np.minimum(np.where(k >= 0, k, count + k), high), low)


def rows_from(rows, first, step, room):
    return np.take(rows, np.clip(first + step * np.arange(room), 0, rows.shape[0] - 1), axis=0)


def diff_of_selected(a):
    return a[1:] - a[:-1]


def trapezoid_of_selected(y, x=None, dx=1.0):
    width = dx if x is None else x[1:] - x[:-1]
    return np.sum(width * (y[1:] + y[:-1]) / 2.0)


def argmax_of_selected(a):
    return winner(a, np.greater)


def argmin_of_selected(a):
    return winner(a, np.less)


def first_of(rows, count):
    return rows[:count]


def next_of(items):
    if len(items) == 0:
        raise StopIteration
    return items[0]


def next_or(items, default):
    return items[0] if len(items) > 0 else default


def put_each(base, places, count, values):
    for k in range(count):
        base[places[k]] = values if np.ndim(values) == 0 else values[k]


def sized(rows, count):
    """As many rows: the last ones left out, or zeros behind them."""
    missing = count - rows.shape[0]
    return rows[:count] if missing <= 0 else np.concatenate((rows, np.zeros((missing, *rows.shape[1:]), rows.dtype)))


def check_equal(a, b):
    if a != b:
        raise LengthsDiffer("arrays whose lengths data have decided are of different lengths")


def outer_of_selected(a, b):
    return a[:, None] * b[None, :]


def covariance_of_rows(rows, ddof):
    away = rows - np.mean(rows, axis=0)
    return away.T @ away / (len(rows) - ddof)


def correlation_of(table):
    scale = np.sqrt(np.diag(table))
    return np.clip(table / scale[:, None] / scale, -1, 1)


def numbered(numbers, mask):
    """Those numbers one after the other where a mask holds."""
    return numbers[np.maximum(np.cumsum(mask) - 1, 0)]


def itself(function):
    return function
