"""Functions of `scipy.ndimage`: filters, and sums over labels, in plain NumPy for the interpreter to run."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,call-overload,no-untyped-call,assignment"
from __future__ import annotations

import numpy as np

_BORDERS = (("reflect", "symmetric"), ("grid-mirror", "symmetric"), ("mirror", "reflect"), ("nearest", "edge"),
            ("wrap", "wrap"), ("grid-wrap", "wrap"), ("constant", "constant"), ("grid-constant", "constant"))
"""What SciPy calls a border, and what `np.pad` calls it."""


def around(rows, before, after, mode, cval):
    """The rows of an array with what a filter sees beyond the first and the last one."""
    widths = [(before, after)] + [(0, 0) for _ in range(rows.ndim - 1)]
    for name, ours in _BORDERS:
        if mode == name:
            if ours == "constant":
                return np.pad(rows, widths, mode="constant", constant_values=cval)
            return np.pad(rows, widths, mode=ours)
    raise ValueError("this border")


def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    weights = np.asarray(weights)
    if output is not None or input.dtype.kind != "f":
        raise ValueError("an output, or numbers other than real ones")
    rows = np.moveaxis(input, axis, 0)
    n, m = rows.shape[0], weights.shape[0]
    before = m // 2 + origin
    if not 0 <= before < m:
        raise ValueError("an origin outside of the weights")
    seen = around(rows, before, m - before - 1, mode, cval)
    found = weights[0] * seen[:n]
    for k in range(1, m):
        found = found + weights[k] * seen[k:k + n]
    return np.moveaxis(found.astype(input.dtype), 0, axis)


def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    weights = np.asarray(weights)
    turned = -origin if weights.shape[0] % 2 else -origin - 1
    return correlate1d(input, weights[::-1], axis, output, mode, cval, turned)


def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    weights = np.asarray(weights)
    if output is not None or input.dtype.kind != "f" or input.ndim != weights.ndim:
        raise ValueError("an output, weights of other dimensions, or numbers other than real ones")
    axes = range(input.ndim)
    shifts = [origin for _ in axes] if isinstance(origin, int) else origin
    seen = input
    for k in axes:
        m, before = weights.shape[k], weights.shape[k] // 2 + shifts[k]
        if not 0 <= before < m:
            raise ValueError("an origin outside of the weights")
        seen = np.moveaxis(around(np.moveaxis(seen, k, 0), before, m - before - 1, mode, cval), 0, k)
    found = np.zeros(input.shape, np.result_type(input.dtype, weights.dtype))
    for place in np.ndindex(weights.shape):
        found += weights[place] * seen[tuple([slice(place[k], place[k] + input.shape[k]) for k in axes])]
    return found.astype(input.dtype)


def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    weights = np.asarray(weights)
    shifts = [origin for _ in weights.shape] if isinstance(origin, int) else origin
    turned = [-shifts[k] if weights.shape[k] % 2 else -shifts[k] - 1 for k in range(weights.ndim)]
    return correlate(input, np.flip(weights), output, mode, cval, turned)


def laplace(input, output=None, mode="reflect", cval=0.0):
    found = correlate1d(input, [1.0, -2.0, 1.0], 0, output, mode, cval)
    for k in range(1, input.ndim):
        found = found + correlate1d(input, [1.0, -2.0, 1.0], k, None, mode, cval)
    return found


def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    return correlate1d(input, np.full(size, 1.0 / size), axis, output, mode, cval, origin)


def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0):
    found = input
    for k in range(input.ndim):
        found = uniform_filter1d(found, size if isinstance(size, int) else size[k], k, output, mode, cval, origin)
    return found


def gaussian_filter1d(input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *,
                      radius=None):
    reach = int(truncate * float(sigma) + 0.5) if radius is None else radius
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 / (sigma * sigma) * places ** 2)
    weights = weights / np.sum(weights)
    # A derivative of the bell is the bell times a polynomial.
    terms = [1.0]
    for _ in range(order):
        slopes = [(k + 1) * terms[k + 1] for k in range(len(terms) - 1)] + [0.0, 0.0]
        terms = [slopes[k] - (terms[k - 1] / (sigma * sigma) if k > 0 else 0.0) for k in range(len(terms) + 1)]
    factor = 0.0
    for k in range(len(terms) - 1, -1, -1):
        factor = factor * places + terms[k]
    return correlate1d(input, (weights * factor)[::-1], axis, output, mode, cval)


def gaussian_filter(input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0):
    found = input
    for k in range(input.ndim):
        width = sigma if isinstance(sigma, (int, float)) or np.ndim(sigma) == 0 else sigma[k]
        degree = order if isinstance(order, int) else order[k]
        found = gaussian_filter1d(found, width, k, degree, output, mode, cval, truncate)
    return found


def gaussian_laplace(input, sigma, output=None, mode="reflect", cval=0.0):
    found = gaussian_filter(input, sigma, [2 if j == 0 else 0 for j in range(input.ndim)], output, mode, cval)
    for k in range(1, input.ndim):
        found = found + gaussian_filter(input, sigma, [2 if j == k else 0 for j in range(input.ndim)], None, mode, cval)
    return found


def gaussian_gradient_magnitude(input, sigma, output=None, mode="reflect", cval=0.0):
    total = 0.0
    for k in range(input.ndim):
        slope = gaussian_filter(input, sigma, [1 if j == k else 0 for j in range(input.ndim)], output, mode, cval)
        total = total + slope * slope
    return np.sqrt(total)


def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    return _slope(input, axis, output, mode, cval, [1.0, 2.0, 1.0])


def prewitt(input, axis=-1, output=None, mode="reflect", cval=0.0):
    return _slope(input, axis, output, mode, cval, [1.0, 1.0, 1.0])


def _slope(input, axis, output, mode, cval, across):
    found = correlate1d(input, [-1.0, 0.0, 1.0], axis, output, mode, cval)
    for k in range(input.ndim):
        if k != axis % input.ndim:
            found = correlate1d(found, across, k, None, mode, cval)
    return found


def maximum_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    return _extreme(np.maximum, input, size, axis, output, mode, cval, origin)


def minimum_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    return _extreme(np.minimum, input, size, axis, output, mode, cval, origin)


def maximum_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0):
    return _extremes(np.maximum, input, size, footprint, output, mode, cval, origin)


def minimum_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0):
    return _extremes(np.minimum, input, size, footprint, output, mode, cval, origin)


def _extremes(pick, input, size, footprint, output, mode, cval, origin):
    if size is None or footprint is not None:
        raise ValueError("a neighbourhood other than a box")
    found = input
    for k in range(input.ndim):
        found = _extreme(pick, found, size if isinstance(size, int) else size[k], k, output, mode, cval, origin)
    return found


def _extreme(pick, input, size, axis, output, mode, cval, origin):
    rows = np.moveaxis(input, axis, 0)
    n, before = rows.shape[0], size // 2 + origin
    if output is not None or not 0 <= before < size:
        raise ValueError("an output, or an origin outside of the box")
    seen = around(rows, before, size - before - 1, mode, cval)
    found = seen[:n]
    for k in range(1, size):
        found = pick(found, seen[k:k + n])
    return np.moveaxis(found, 0, axis)


# neighbourhoods in order of size

def _of_rank(input, rank, size, footprint, output, mode, cval, origin):
    """The element at a place in the order of those in a box. rank: of the number of elements in the box."""
    if size is None or footprint is not None or output is not None or input.dtype.kind != "f":
        raise ValueError("a neighbourhood other than a box, an output, or other numbers")
    axes = range(input.ndim)
    sizes = [size if isinstance(size, int) else size[k] for k in axes]
    seen, count = input, 1
    for k in axes:
        before, count = sizes[k] // 2 + (origin if isinstance(origin, int) else origin[k]), count * sizes[k]
        if not 0 <= before < sizes[k]:
            raise ValueError("an origin outside of the box")
        seen = np.moveaxis(around(np.moveaxis(seen, k, 0), before, sizes[k] - before - 1, mode, cval), 0, k)
    near = [seen[tuple([slice(place[k], place[k] + input.shape[k]) for k in axes])] for place in np.ndindex(*sizes)]
    return np.sort(np.stack(near), axis=0)[rank(count)]


def median_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    if axes is not None:
        raise ValueError("a filter along some axes")
    return _of_rank(input, lambda n: n // 2, size, footprint, output, mode, cval, origin)


def rank_filter(input, rank, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    if axes is not None:
        raise ValueError("a filter along some axes")
    return _of_rank(input, lambda n: rank, size, footprint, output, mode, cval, origin)


def percentile_filter(input, percentile, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *,
                      axes=None):
    if axes is not None or isinstance(percentile, float):
        raise ValueError("a filter along some axes, or a share that is no whole number")
    share = percentile + 100 if percentile < 0 else percentile
    return _of_rank(input, lambda n: n - 1 if share == 100 else n * share // 100, size, footprint, output, mode, cval,
                    origin)


def medfilt(volume, kernel_size=None):
    size = 3 if kernel_size is None else kernel_size
    if any(s % 2 == 0 for s in (size if isinstance(size, (tuple, list)) else [size])):
        raise ValueError("a window of an even size")
    return _of_rank(volume, lambda n: n // 2, size, None, None, "constant", 0.0, 0)


def medfilt2d(input, kernel_size=3):
    return medfilt(input, kernel_size)


def _odd_box(size, others):
    sizes = size if isinstance(size, (tuple, list)) else [size]
    if any(s is None or s % 2 == 0 for s in sizes) or any(o is not None for o in others):
        raise ValueError("a neighbourhood other than a box of odd sizes")
    return size


def grey_dilation(input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0):
    box = _odd_box(size, (footprint, structure, output, origin or None))
    return _of_rank(input, lambda n: n - 1, box, None, None, mode, cval, 0)


def grey_erosion(input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0):
    box = _odd_box(size, (footprint, structure, output, origin or None))
    return _of_rank(input, lambda n: 0, box, None, None, mode, cval, 0)


def grey_opening(input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0):
    eroded = grey_erosion(input, size, footprint, structure, output, mode, cval, origin)
    return grey_dilation(eroded, size, None, None, None, mode, cval, 0)


def grey_closing(input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0):
    dilated = grey_dilation(input, size, footprint, structure, output, mode, cval, origin)
    return grey_erosion(dilated, size, None, None, None, mode, cval, 0)


# what labels select

def _each(of_part, input, labels, index):
    """What a function makes of the elements with a label, of which it gets a mask; without labels of all of them."""
    input = np.asarray(input)
    if labels is None:
        return of_part(input, np.ones(input.shape, bool))
    labels = np.broadcast_to(np.asarray(labels), input.shape)
    if index is None:
        return of_part(input, labels > 0)
    wanted = np.asarray(index)
    if wanted.ndim == 0:
        return of_part(input, labels == wanted)
    if wanted.ndim != 1:
        raise ValueError("labels in several dimensions")
    return np.stack([of_part(input, labels == wanted[k]) for k in range(wanted.shape[0])])


def _sum(input, part):
    return np.sum(np.where(part, input, 0.0))


def _mean(input, part):
    return _sum(input, part) / np.sum(part)


def _variance(input, part):
    return _mean((input - _mean(input, part)) ** 2, part)


def _largest(input, part):
    # A part without elements has the largest number 0 in SciPy.
    return np.where(np.any(part), np.max(np.where(part, input, -np.inf)), 0.0)


def sum_labels(input, labels=None, index=None):
    return _each(_sum, input, labels, index)


def mean(input, labels=None, index=None):
    return _each(_mean, input, labels, index)


def variance(input, labels=None, index=None):
    return _each(_variance, input, labels, index)


def standard_deviation(input, labels=None, index=None):
    return np.sqrt(_each(_variance, input, labels, index))


def maximum(input, labels=None, index=None):
    return _each(_largest, input, labels, index)


def minimum(input, labels=None, index=None):
    return -_each(_largest, -np.asarray(input), labels, index)


def center_of_mass(input, labels=None, index=None):
    input = np.asarray(input)
    if index is not None and np.ndim(index) > 0:
        raise ValueError("centers of several labels")
    whole, n = sum_labels(input, labels, index), input.ndim
    places = [np.reshape(np.arange(input.shape[d]), (1,) * d + (-1,) + (1,) * (n - d - 1)) for d in range(n)]
    return tuple([sum_labels(input * places[d], labels, index) / whole for d in range(n)])


FILTERS = ("median_filter", "rank_filter", "percentile_filter", "grey_dilation", "grey_erosion", "grey_opening",
           "grey_closing", "sum_labels", "mean", "variance", "standard_deviation", "maximum", "minimum",
           "center_of_mass")
