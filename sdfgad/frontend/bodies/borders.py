"""`np.pad`, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from sdfgad.frontend.bodies.order import beyond


def pad(array, pad_width, mode="constant", constant_values=0, end_values=0, stat_length=None, reflect_type="even"):
    array = np.asarray(array)
    widths = pairs(pad_width, array.ndim)
    if any(beyond(w, 0, np.inf) for both in widths for w in both):
        raise ValueError("a negative width")
    if mode not in ("constant", "empty") and any(array.shape[k] == 0 and sum(widths[k]) > 0 for k in range(array.ndim)):
        raise ValueError("borders made of the elements of an empty axis")
    if mode == "constant" and np.ndim(constant_values) == 0 or mode == "edge":
        return _at_once(array, widths, mode, constant_values)
    if mode in _FOLDED and reflect_type == "even" and _fits(array.shape, widths, mode):
        return _folded(array, widths, mode)
    # What stands in the corners is what the last axis brings, as in NumPy.
    for k in range(array.ndim):
        rows, (before, after) = np.moveaxis(array, k, 0), widths[k]
        if mode == "constant":
            low, high = pairs(constant_values, array.ndim)[k]
            ends = [np.full((m,) + rows.shape[1:], v, array.dtype) for m, v in ((before, low), (after, high))]
        elif mode in ("reflect", "symmetric", "wrap"):
            ends = _repeated(rows, before, after, mode, reflect_type)
        elif array.dtype.kind != "f":
            raise ValueError("borders that are computed, of other numbers than floats")
        elif mode == "linear_ramp":
            ends = _ramps(rows, before, after, pairs(end_values, array.ndim)[k])
        else:
            ends = _summaries(rows, before, after, mode, (None, None) if stat_length is None else
                              pairs(stat_length, array.ndim)[k])
        array = np.moveaxis(np.concatenate((ends[0], rows, ends[1])).astype(array.dtype), 0, k)
    return array


def pairs(given, count):
    """What `np.pad` takes for all axes at once, for one border and the other, or for each axis."""
    if isinstance(given, dict):
        each = [given.get(k, given.get(k - count, (0, 0))) for k in range(count)]
        return [pairs(w, 1)[0] for w in each]
    if isinstance(given, (int, float)) or np.ndim(given) == 0:
        return [(given, given) for _ in range(count)]
    if isinstance(given[0], (int, float)) or np.ndim(given[0]) == 0:
        if len(given) > 2:
            raise ValueError("more than two borders of an axis")
        return [(given[0], given[-1]) for _ in range(count)]
    found = [(w[0], w[-1]) for w in given]
    if len(found) not in (1, count):
        raise ValueError("borders of another number of axes")
    return [found[0] for _ in range(count)] if len(found) == 1 else found


def _at_once(array, widths, mode, value):
    shape = tuple([array.shape[k] + widths[k][0] + widths[k][1] for k in range(array.ndim)])
    inside = tuple([slice(widths[k][0], widths[k][0] + array.shape[k]) for k in range(array.ndim)])
    out = np.full(shape, value if mode == "constant" else 0, array.dtype)
    out[inside] = array
    if mode == "edge":
        for k in range(array.ndim):
            before, n, rows = widths[k][0], array.shape[k], np.moveaxis(out, k, 0)
            if n == 0:
                raise ValueError("borders of an empty array")
            rows[:before] = rows[before:before + 1]
            rows[before + n:] = rows[before + n - 1:before + n]
    return out


_FOLDED = ("reflect", "symmetric", "wrap")
"""Modes whose borders hold elements of the array, each once."""


def _fits(shape, widths, mode):
    """Whether no border is wider than what it is made of, and parts are few."""
    few = 0 < len([k for k in range(len(shape)) if max(widths[k]) > 0]) <= 3
    return few and all(max(widths[k]) <= shape[k] - (mode == "reflect") for k in range(len(shape)))


def _folded(array, widths, mode):
    """Each part of the borders from the array itself, corners too: what is copied along one axis after the other waits
    for itself."""
    out = np.empty(tuple([array.shape[k] + widths[k][0] + widths[k][1] for k in range(array.ndim)]), array.dtype)
    each = [_places(array.shape[k], widths[k][0], widths[k][1], mode) for k in range(array.ndim)]
    parts = [[place] for place in each[0]]
    for places in each[1:]:
        parts = [part + [place] for part in parts for place in places]
    for part in parts:
        out[tuple([to for to, _ in part])] = array[tuple([of for _, of in part])]
    return out


def _places(n, before, after, mode):
    """Along one axis: where the array goes and its borders, and what they hold."""
    ends = [(slice(0, before), slice(n - before, n)), (slice(before + n, before + n + after), slice(0, after))]
    if mode != "wrap":
        first = 1 if mode == "reflect" else 0
        ends = [(ends[0][0], slice(first, first + before)), (ends[1][0], slice(n - first - after, n - first))]
        ends = [(to, _turned(of)) for to, of in ends]
    return [(slice(before, before + n), slice(0, n))] + [e for e, m in zip(ends, (before, after), strict=True) if m]


def _turned(of):
    """The same places the other way round."""
    return slice(of.stop - 1, of.start - 1 if of.start > 0 else None, -1)


def _repeated(rows, before, after, mode, reflect_type):
    n = rows.shape[0]
    if n == 0 or reflect_type not in ("even", "odd"):
        raise ValueError("borders of an empty array, or another type")
    if mode == "wrap":
        if max(before, after) <= n:
            return rows[n - before:], rows[:after]
        return rows[[k % n for k in range(-before, 0)]], rows[[k % n for k in range(after)]]
    first = 0 if mode == "symmetric" else 1
    if max(before, after) <= n - first:
        ends = rows[first:first + before][::-1], rows[n - first - after:n - first][::-1]
    elif reflect_type == "odd":
        raise ValueError("borders wider than the array")
    else:
        ends = (rows[[_mirrored(k, n, first) for k in range(-before, 0)]],
                rows[[_mirrored(k, n, first) for k in range(n, n + after)]])
    return ends if reflect_type == "even" else (2 * rows[:1] - ends[0], 2 * rows[n - 1:] - ends[1])


def _mirrored(k, n, first):
    """The place of which another one is the mirror image, in mirrors at both ends."""
    period = max(2 * (n - first), 1)
    k = k % period
    return k if k < n else period - k - 1 + first


def _ramps(rows, before, after, values):
    n, across = rows.shape[0], (-1,) + (1,) * (rows.ndim - 1)
    up = np.reshape(np.arange(before) / max(before, 1), across)
    down = np.reshape(np.arange(after, dtype=np.float64)[::-1] / max(after, 1), across)
    return values[0] + up * (rows[:1] - values[0]), values[1] + down * (rows[n - 1:] - values[1])


def _summaries(rows, before, after, mode, lengths):
    n = rows.shape[0]
    parts = (rows if lengths[0] is None else rows[:min(lengths[0], n)],
             rows if lengths[1] is None else rows[n - min(lengths[1], n):])
    if mode == "maximum":
        found = [np.max(p, axis=0) for p in parts]
    elif mode == "minimum":
        found = [np.min(p, axis=0) for p in parts]
    elif mode == "mean":
        found = [np.mean(p, axis=0) for p in parts]
    elif mode == "median":
        found = [np.median(p, axis=0) for p in parts]
    else:
        raise ValueError("this mode of np.pad")
    return [np.repeat(f[None], m, axis=0) for f, m in zip(found, (before, after), strict=True)]
