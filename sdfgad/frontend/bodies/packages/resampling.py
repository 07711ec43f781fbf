"""Pictures of `scipy.ndimage` at other places: splines through their elements, in plain NumPy for the interpreter."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,assignment,attr-defined"
from __future__ import annotations

from importlib import import_module

import numpy as np

from sdfgad.frontend.bodies.matrix import solve_banded

_PADDING = 12
"""How many elements SciPy puts around an array before it finds splines that stay level beyond its borders."""


def spline_filter1d(input, order=3, axis=-1, output=np.float64, mode="mirror"):
    """The coefficients of cubic B-splines through the rows: one system with three diagonals.

    Unser, "Splines: a perfect fit for signal and image processing", 1999.
    """
    if order not in (0, 1, 3) or input.dtype.kind != "f" or mode not in ("mirror", "constant", "nearest"):
        raise ValueError("splines of another degree than 0, 1 or 3, of other numbers, or another border")
    rows = np.moveaxis(input * 1.0, axis, 0)
    n = rows.shape[0]
    if order < 2 or n == 1:
        return input * 1.0
    system = np.full((3, n), 1.0 / 6.0)
    system[1] = 4.0 / 6.0
    if mode == "nearest":
        system[1, 0] = system[1, n - 1] = 5.0 / 6.0
    else:
        system[0, 1] = system[2, n - 2] = 2.0 / 6.0
    found = solve_banded((1, 1), system, np.reshape(rows, (n, -1)))
    return np.moveaxis(np.reshape(found, rows.shape), 0, axis)


def spline_filter(input, order=3, output=np.float64, mode="mirror"):
    if mode == "nearest" and min(input.shape) <= 2 * _PADDING:
        raise ValueError("splines with this border through few elements")
    for k in range(input.ndim):
        input = spline_filter1d(input, order, k, output, mode)
    return input


def _within(place, count, mode):
    """Places mirrored or moved to where an array has elements."""
    last = count - 1
    if mode == "nearest" or mode == "constant" or count == 1:
        return np.clip(place, 0, last)
    if mode == "mirror":
        return last - np.abs(np.abs(place) % (2 * last) - last)
    period = 2 * count
    turned = place % period
    return np.minimum(turned, period - 1 - turned)


def _weights(order, share):
    if order == 0:
        return [1.0]
    if order == 1:
        return [1.0 - share, share]
    rest = 1.0 - share
    return [rest * rest * rest / 6.0, (4.0 - 6.0 * share * share + 3.0 * share * share * share) / 6.0,
            (4.0 - 6.0 * rest * rest + 3.0 * rest * rest * rest) / 6.0, share * share * share / 6.0]


def sampled(input, places, output, order, mode, cval, prefilter):
    """The values of splines at places, which are given along each dimension and go together as arrays do."""
    if output is not None or order not in (0, 1, 3) or input.dtype.kind != "f" or mode not in (
            "constant", "nearest", "mirror", "reflect") or order == 3 and mode == "reflect":
        raise ValueError("an output, splines of another degree than 0, 1 or 3, other numbers, or another border")
    padding = _PADDING if order == 3 and mode == "nearest" else 0
    values = np.pad(input, padding, mode="edge") if padding else input * 1.0
    if order == 3 and prefilter:
        values = spline_filter(values, 3, np.float64, mode)
    indices, weights, outside = [], [], False
    for d in range(input.ndim):
        count, place = values.shape[d], places[d] + padding
        if mode == "constant":
            outside = outside | (place < 0) | (place > count - 1)
        elif mode != "nearest":  # there the elements, not the places, are those at the border
            place = _within(place, count, mode)
        first = np.floor(place + 0.5 if order == 0 else place)
        weights.append(_weights(order, place - first))
        border = "mirror" if mode == "constant" and order == 3 else mode
        start = first.astype(np.int64) - (1 if order == 3 else 0)
        indices.append([_within(start + k, count, border) for k in range(order + 1)])
    found = 0.0
    for corner in np.ndindex((order + 1,) * input.ndim):
        weight = 1.0
        for d in range(input.ndim):
            weight = weight * weights[d][corner[d]]
        found = found + weight * values[tuple([indices[d][corner[d]] for d in range(input.ndim)])]
    if mode == "constant":
        found = np.where(outside, cval, found)
    return found.astype(input.dtype)


def map_coordinates(input, coordinates, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    values, places = np.asarray(input), np.asarray(coordinates) * 1.0
    return sampled(values, [places[d] for d in range(values.ndim)], output, order, mode, cval, prefilter)


def _across(place, d, dimensions):
    return np.reshape(place, (1,) * d + (-1,) + (1,) * (dimensions - d - 1))


def shift(input, shift, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    n = input.ndim
    places = [_across(np.arange(input.shape[d]) - (shift if np.ndim(shift) == 0 else shift[d]), d, n) for d in range(n)]
    return sampled(input, places, output, order, mode, cval, prefilter)


def zoom(input, zoom, output=None, order=3, mode="constant", cval=0.0, prefilter=True, *, grid_mode=False):
    if grid_mode:
        raise ValueError("pixels in place of points")
    places = []
    for d in range(input.ndim):
        count = int(round(input.shape[d] * (zoom if np.ndim(zoom) == 0 else zoom[d])))
        step = (input.shape[d] - 1) / (count - 1) if count > 1 else 1.0
        places.append(_across(np.arange(count) * step, d, input.ndim))
    return sampled(input, places, output, order, mode, cval, prefilter)


def affine_transform(input, matrix, offset=0.0, output_shape=None, output=None, order=3, mode="constant", cval=0.0,
                     prefilter=True):
    n, matrix = input.ndim, np.asarray(matrix)
    shape = input.shape if output_shape is None else output_shape
    if matrix.shape == (n + 1, n + 1) or matrix.shape == (n, n + 1):
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    if matrix.ndim == 1:
        matrix = np.diag(matrix)
    places = []
    for d in range(n):
        place = offset if np.ndim(offset) == 0 else offset[d]
        for k in range(n):
            place = place + matrix[d, k] * _across(np.arange(shape[k]), k, n)
        places.append(place)
    return sampled(input, places, output, order, mode, cval, prefilter)


def turned_by(angle, shape, reshape):
    """Run while translating: matrix, offset and shape of a plane that is turned round its middle."""
    special = import_module("scipy.special")
    c, s = special.cosdg(angle), special.sindg(angle)
    matrix, size = np.array([[c, s], [-s, c]]), np.array(shape)
    corners = matrix @ np.array([[0, 0, size[0], size[0]], [0, size[1], 0, size[1]]])
    shown = (np.ptp(corners, axis=1) + 0.5).astype(int) if reshape else size
    offset = (size - 1) / 2 - matrix @ ((shown - 1) / 2)
    return matrix, offset, tuple(int(m) for m in shown)


def rotate(input, angle, axes=(1, 0), reshape=True, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    if input.ndim != 2 or sorted([a % 2 for a in axes]) != [0, 1]:
        raise ValueError("a rotation of more than one plane")
    matrix, offset, shown = turned_by(angle, input.shape, reshape)
    return affine_transform(input, matrix, offset, shown, output, order, mode, cval, prefilter)


NAMES = ("spline_filter1d", "spline_filter", "map_coordinates", "shift", "zoom", "affine_transform", "rotate")
