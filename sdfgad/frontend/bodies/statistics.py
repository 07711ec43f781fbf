"""NumPy functions of samples and lines, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from types import MappingProxyType

import numpy as np

from sdfgad.frontend.bodies.order import beyond

_range = range


def average(a, axis=None, weights=None, returned=False, keepdims=False):
    values = np.asarray(a)
    if weights is None:
        mean = np.mean(values, axis=axis, keepdims=keepdims)
        total = np.size(values, axis) * 1.0
    else:
        spread = _along(np.asarray(weights), values, axis)
        if values.dtype.kind not in "fc":  # products and sums of integers would wrap around
            values = values.astype(np.result_type(values.dtype, spread.dtype, np.float64))
        total = np.sum(spread * np.ones_like(values), axis=axis, keepdims=keepdims)
        mean = np.sum(values * spread, axis=axis, keepdims=keepdims) / total
    return (mean, total * np.ones_like(mean)) if returned else mean


def _along(weights, values, axis):
    """Weights in the shape of the values, or ready to broadcast to it along some axes."""
    if weights.shape == values.shape:
        return weights
    axes = [k % values.ndim for k in (axis if isinstance(axis, (tuple, list)) else () if axis is None else (axis,))]
    if weights.shape != tuple([values.shape[k] for k in axes]):
        raise ValueError("weights of another shape than the values have along the axes")
    ordered = np.transpose(weights, [axes.index(k) for k in sorted(axes)])
    return np.reshape(ordered, tuple([n if k in axes else 1 for k, n in enumerate(values.shape)]))


def gradient(f, *varargs, axis=None, edge_order=1):
    values = np.asarray(f)
    axes = range(values.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    same = len(varargs) == 1 and np.ndim(varargs[0]) == 0
    if len({k % values.ndim for k in axes}) < len(axes):
        raise ValueError("an axis that is named twice")
    if edge_order not in (1, 2) or not same and len(varargs) not in (0, len(axes)):
        raise ValueError("another number of distances than of axes, or another order at the edges")
    if values.dtype.kind not in "fc":
        values = values.astype(np.float64)
    slopes = []
    for k in _range(len(axes)):
        step = varargs[0] if same else varargs[k] if len(varargs) > 0 else 1.0
        slopes.append(_slope(np.moveaxis(values, axes[k], 0), step, axes[k], edge_order))
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slope(rows, step, axis, edge_order):
    if rows.shape[0] < edge_order + 1:
        raise ValueError("too few values for a slope")
    out = np.empty(rows.shape, rows.dtype)
    gaps = (step, step) if np.ndim(step) == 0 else step[1:] - step[:-1]
    if np.ndim(step) == 0:
        out[1:-1] = (rows[2:] - rows[:-2]) / (2.0 * step)
    else:
        wide = np.reshape(gaps, (rows.shape[0] - 1,) + (1,) * (rows.ndim - 1))
        p, q = wide[:-1], wide[1:]
        out[1:-1] = (p * p * rows[2:] + (q * q - p * p) * rows[1:-1] - q * q * rows[:-2]) / (p * q * (p + q))
    if edge_order == 1:
        out[0] = (rows[1] - rows[0]) / gaps[0]
        out[-1] = (rows[-1] - rows[-2]) / gaps[-1]
    else:
        out[0] = _end_slope(rows[0], rows[1], rows[2], gaps[0], gaps[1])
        out[-1] = -_end_slope(rows[-1], rows[-2], rows[-3], gaps[-1], gaps[-2])
    return np.moveaxis(out, 0, axis)


def _end_slope(a, b, c, p, q):
    """The slope at `a` of the parabola through three values, `p` and `p + q` away from each other."""
    return (b - a) * (p + q) / (p * q) - (c - a) * p / (q * (p + q))


def trapezoid(y, x=None, dx=1.0, axis=-1):
    rows = np.moveaxis(np.asarray(y), axis, 0)
    if x is None:
        return np.sum(dx * (rows[1:] + rows[:-1]) / 2.0, axis=0)
    places = np.asarray(x)
    if places.ndim == 1:
        widths = np.reshape(places[1:] - places[:-1], (-1,) + (1,) * (rows.ndim - 1))
    else:
        across = np.moveaxis(places, axis, 0)
        widths = across[1:] - across[:-1]
    return np.sum(widths * (rows[1:] + rows[:-1]) / 2.0, axis=0)


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None):
    data = np.atleast_2d(np.asarray(m))
    data = data.astype(np.complex128 if data.dtype.kind == "c" else np.float64)
    if not rowvar and np.ndim(m) > 1:
        data = data.T
    if y is not None:
        other = np.atleast_2d(y)
        data = np.concatenate((data, other if rowvar or np.ndim(y) == 1 else other.T), axis=0)
    less = (0 if bias else 1) if ddof is None else ddof
    if less != int(less):
        raise ValueError("ddof must be integer")
    if fweights is not None or aweights is not None:
        return _weighted_cov(data, less, fweights, aweights)
    away = data - np.mean(data, axis=1, keepdims=True)
    table = away @ np.conj(away.T) / (data.shape[1] - less if data.shape[1] > less else 0)
    return np.reshape(table, ()) if table.shape == (1, 1) else table


def _weighted_cov(data, less, fweights, aweights):
    weights = np.ones(data.shape[1])
    if fweights is not None:
        weights = weights * np.asarray(fweights)
    if aweights is not None:
        weights = weights * np.asarray(aweights)
    total = np.sum(weights)
    lost = less if aweights is None else less * np.sum(weights * np.asarray(aweights)) / total
    away = data - np.reshape(np.sum(data * weights, axis=1) / total, (-1, 1))
    table = away @ np.conj((away * weights).T) / (total - lost)
    return np.reshape(table, ()) if table.shape == (1, 1) else table


def corrcoef(x, y=None, rowvar=True):
    c = np.cov(x, y, rowvar)
    if np.ndim(c) == 0:
        return c / c
    d = np.sqrt(np.real(np.diag(c)))
    c = c / d[:, None] / d[None, :]
    # Rounding may leave the range, where distances (`sqrt(1 - c)`) have no value.
    if c.dtype.kind == "c":
        return np.clip(np.real(c), -1, 1) + 1j * np.clip(np.imag(c), -1, 1)
    return np.clip(c, -1, 1)


def histogram(a, bins=10, range=None, weights=None, density=None):
    values = np.ravel(np.asarray(a))
    if np.ndim(bins) == 0:
        if beyond(bins, 1, np.inf):
            raise ValueError("no bins")
        edges, places, low, high = _even_bins(values, bins, range)
    else:
        edges = np.asarray(bins)
        low, high = edges[0], edges[-1]
        places = np.sum((values[:, None] >= edges[None, :]).astype(np.int64), axis=1) - 1
        places = np.where(values == high, edges.shape[0] - 2, places)
    # What is out of range goes to a bin of its own.
    last = edges.shape[0] - 1
    places = np.where((low <= values) & (values <= high), places, last)
    counts = np.zeros(last + 1, np.int64 if weights is None else np.asarray(weights).dtype)
    np.add.at(counts, places, 1 if weights is None else np.ravel(np.asarray(weights)))
    if not density:
        return counts[:-1], edges
    return counts[:-1] / (edges[1:] - edges[:-1]) / np.sum(counts[:-1]), edges


def _even_bins(values, bins, range):
    low, high = _ends(values, range)
    edges = np.linspace(low, high, bins + 1).astype(values.dtype if values.dtype.kind == "f" else np.float64)
    k = np.minimum(((values - low) / (high - low) * bins).astype(np.int64), bins - 1)
    k = k - (values < edges[k])
    return edges, k + ((values >= edges[k + 1]) & (k != bins - 1)), low, high


def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    each = bins if isinstance(bins, (list, tuple)) and len(bins) == 2 else (bins, bins)
    edges, places = [], []
    for k, values in enumerate((np.ravel(np.asarray(x)), np.ravel(np.asarray(y)))):
        line = _edges(values, each[k], None if range is None else range[k])
        at = np.searchsorted(line, values, "right")
        edges.append(line)
        places.append(np.where(values == line[-1], at - 1, at))
    # What is out of range goes to a rim of bins.
    counts = np.zeros((edges[0].shape[0] + 1, edges[1].shape[0] + 1))
    np.add.at(counts, (places[0], places[1]), 1.0 if weights is None else np.ravel(np.asarray(weights)))
    counts = counts[1:-1, 1:-1]
    if density:
        widths = [line[1:] - line[:-1] for line in edges]
        counts = counts / widths[0][:, None] / widths[1] / np.sum(counts)
    return counts, edges[0], edges[1]


def _edges(values, bins, range):
    """The ends of bins, which are given themselves or by their number."""
    if np.ndim(bins) > 0:
        return np.asarray(bins)
    if beyond(bins, 1, np.inf):
        raise ValueError("no bins")
    low, high = _ends(values, range)
    return np.linspace(low, high, bins + 1)


def _ends(values, range):
    low, high = (np.min(values), np.max(values)) if range is None else range
    low, high = low * 1.0, high * 1.0
    if low == high:
        low, high = low - 0.5, high + 0.5
    return low, high


def _periodic(x, xp, fp, period):
    """Interpolation between points that come back after a period: one more on either side."""
    places = xp % period
    order = np.argsort(places)
    places, values = places[order], fp[order]
    around = np.concatenate((places[-1:] - period, places, places[:1] + period))
    return np.interp(x % period, around, np.concatenate((values[-1:], values, values[:1])))


def number_of_bins(x):
    """One more than the largest index, which the table has under this name where the indices are known."""
    raise NotImplementedError


def bincount(x, weights=None, minlength=0):
    known, places = minlength == 0, np.asarray(x)
    if known:
        minlength = number_of_bins(x)
    out = np.zeros(minlength, np.int64 if weights is None else np.float64)
    if places.size == 0:
        return out
    if weights is not None and np.size(weights) != places.size:
        raise ValueError("a weight for each place is needed")
    within = places if known else np.clip(places.astype(np.int64), 0, minlength - 1)
    np.add.at(out, within, 1 if weights is None else weights)
    # With a larger index NumPy's result would be longer, and a negative one is an error: neither looks like a count.
    spoilt = np.iinfo(np.int64).min if weights is None else np.nan
    return np.where((np.max(places) < minlength) & (np.min(places) >= 0), out, spoilt)


def interp(x, xp, fp, left=None, right=None, period=None):
    v, places = np.asarray(x, np.float64), np.asarray(xp, np.float64)
    values = np.asarray(fp)
    if values.shape != places.shape:
        raise ValueError("as many values as places are needed")
    values = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    if period is not None:
        return _periodic(v, places, values, abs(period))
    before, after = values[0] if left is None else left, values[-1] if right is None else right
    if places.shape[0] == 1:
        inside = values[0]
    else:
        k = np.searchsorted(places[1:-1], v, "right")
        slope = (values[k + 1] - values[k]) / (places[k + 1] - places[k])
        inside = slope * (v - places[k]) + values[k]
    # The ends as they stand: beside an infinity, or equal places, the formula gives no number.
    inside = np.where(v == places[0], values[0], np.where(v == places[-1], values[-1], inside))
    return np.where(v < places[0], before, np.where(v > places[-1], after, inside))[()] * 1.0


def mean_of_numbers(data):
    values = list(data)
    return sum(values) / len(values)


def _squares(data):
    values = list(data)
    middle = sum(values) / len(values)
    return sum([(v - middle) ** 2 for v in values]), len(values)


def variance_of_numbers(data):
    squares, count = _squares(data)
    return squares / (count - 1)


def variance_of_all_numbers(data):
    squares, count = _squares(data)
    return squares / count


def float_mean(data):
    return float(mean_of_numbers(data))


def deviation_of_numbers(data):
    return float(variance_of_numbers(data) ** 0.5)


def deviation_of_all_numbers(data):
    return float(variance_of_all_numbers(data) ** 0.5)


FUNCTIONS = MappingProxyType({
    "mean": mean_of_numbers, "fmean": float_mean, "variance": variance_of_numbers,
    "pvariance": variance_of_all_numbers, "stdev": deviation_of_numbers, "pstdev": deviation_of_all_numbers})
"""Those of Python: what they are made of decides whether results are numbers of Python or of NumPy."""
