"""Neighbourhoods in order of size, and sums over labelled parts of arrays, in plain NumPy for the interpreter."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from sdfgad.frontend.bodies.images import around


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
