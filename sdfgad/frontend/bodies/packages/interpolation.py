"""Interpolation as in `scipy.interpolate`, in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import numpy as np

from sdfgad.frontend.bodies.matrix import solve_banded

_OUT_OF_RANGE = ValueError
"""Raised by the program: the name ValueError alone would say that the call cannot be translated."""


def evaluated(c, knots, x, nu, extrapolate):
    """Polynomials between knots, the highest power first, or their derivative of the order nu."""
    places = np.asarray(x)
    at = places * 1.0
    if extrapolate == "periodic":
        at = knots[0] + (at - knots[0]) % (knots[-1] - knots[0])
    piece = np.searchsorted(knots[1:-1], at, "right")
    away = np.reshape(at - knots[piece], at.shape + (1,) * (c.ndim - 2))
    degree = c.shape[0] - 1
    found = np.zeros(at.shape + c.shape[2:], c.dtype)
    for k in range(degree - nu + 1):
        factor = 1.0
        for m in range(degree - k - nu + 1, degree - k + 1):
            factor = factor * m
        found = found * away + factor * c[k][piece]
    if extrapolate is False:
        outside = np.reshape((at < knots[0]) | (at > knots[-1]), away.shape)
        return np.where(outside, np.nan, found)
    return found


def cubic_spline(x, y, first, last):
    """Coefficients of the cubic spline through values, from its slopes at the knots. first, last: None where the second
    knot from there is none (the third derivative does not jump), or an order and the value of that derivative.

    De Boor, "A practical guide to splines", 1978, chapter IV.
    """
    n = x.shape[0]
    across = (-1,) + (1,) * (y.ndim - 1)
    dx = x[1:] - x[:-1]
    gaps = np.reshape(dx, across)
    slope = (y[1:] - y[:-1]) / gaps
    if n == 2 or n == 3 and first is None and last is None:
        return _few(gaps, slope, y, first, last)
    bands, right = np.zeros((3, n), y.dtype), np.zeros(y.shape, y.dtype)
    bands[1, 1:-1] = 2 * (dx[:-1] + dx[1:])
    bands[0, 2:] = dx[:-1]
    bands[2, :-2] = dx[1:]
    right[1:-1] = 3 * (gaps[1:] * slope[:-1] + gaps[:-1] * slope[1:])
    bands[1, 0], bands[0, 1], right[0] = _end(dx[0], dx[1], slope[0], slope[1], first, 1)
    bands[1, -1], bands[2, -2], right[-1] = _end(dx[-1], dx[-2], slope[-1], slope[-2], last, -1)
    flat = solve_banded((1, 1), bands, np.reshape(right, (n, -1)))
    return _pieces(np.reshape(flat, y.shape), slope, gaps, y)


def _end(width, following, slope, after, condition, sign):
    """One equation for the slopes at an end and beside it: two factors and the right-hand side."""
    if condition is None:
        both = width + following
        return following, both, ((width + 2 * both) * following * slope + width * width * after) / both
    if condition[0] == 1:
        return 1.0, 0.0, condition[1] + 0.0 * slope
    if condition[0] != 2:
        raise ValueError("a derivative of another order at the end")
    return 2 * width, width, 3 * slope * width - sign * 0.5 * condition[1] * width * width


def _few(gaps, slope, y, first, last):
    """Through two points with conditions at both ends, or a line; through three points a parabola."""
    if y.shape[0] == 3:
        second = (slope[1] - slope[0]) / (gaps[0] + gaps[1])
        left = slope[0] - second * gaps[0]
        slopes = np.stack((left, left + 2 * second * gaps[0], left + 2 * second * (gaps[0] + gaps[1])))
        return _pieces(slopes, slope, gaps, y)
    if first is not None or last is not None:
        raise ValueError("conditions at the ends of one piece")
    return _pieces(np.concatenate((slope, slope)), slope, gaps, y)


def _pieces(slopes, slope, gaps, y):
    bend = (slopes[:-1] + slopes[1:] - 2 * slope) / gaps
    return np.stack((bend / gaps, (slope - slopes[:-1]) / gaps - bend, slopes[:-1], y[:-1]))


def linear_pieces(x, y):
    return np.stack(((y[1:] - y[:-1]) / np.reshape(x[1:] - x[:-1], (-1,) + (1,) * (y.ndim - 1)), y[:-1]))


def through_points(knots, values, x, below, above, strict, kind):
    """Lines, a spline or steps. below, above: what stands beyond the ends, None where they go on; strict: an error."""
    order = np.argsort(knots)
    places, rows = knots[order], values[order]
    at = np.asarray(x) * 1.0
    if strict:
        if np.any(at < places[0]):
            raise _OUT_OF_RANGE("A value in x_new is below the interpolation range.")
        if np.any(at > places[-1]):
            raise _OUT_OF_RANGE("A value in x_new is above the interpolation range.")
    found = _of_kind(places, rows, at, kind)
    across = np.reshape(at, at.shape + (1,) * (rows.ndim - 1))
    if below is not None:
        found = np.where(across < places[0], below, found)
    return found if above is None else np.where(across > places[-1], above, found)


def _of_kind(places, rows, at, kind):
    if kind == "previous":
        return rows[np.maximum(np.searchsorted(places, at, "right") - 1, 0)]
    if kind == "next":
        return rows[np.minimum(np.searchsorted(places, at, "left"), places.shape[0] - 1)]
    if kind == "nearest":
        return rows[np.searchsorted(places[1:] / 2.0 + places[:-1] / 2.0, at, "left")]
    pieces = cubic_spline(places, rows, None, None) if kind == "cubic" else linear_pieces(places, rows)
    return evaluated(pieces, places, at, 0, True)


def hermite_pieces(x, y, slopes):
    gaps = np.reshape(x[1:] - x[:-1], (-1,) + (1,) * (y.ndim - 1))
    return _pieces(slopes, (y[1:] - y[:-1]) / gaps, gaps, y)


def monotone_pieces(x, y):
    """Cubics that overshoot nowhere: harmonic means of the slopes beside a knot, or none where these have two signs.

    Fritsch and Butland, SIAM J. Sci. Stat. Comput. 5, 1984; at the ends as in Moler, "Numerical computing", 2004.
    """
    gaps = np.reshape(x[1:] - x[:-1], (-1,) + (1,) * (y.ndim - 1))
    slope = (y[1:] - y[:-1]) / gaps
    if y.shape[0] == 2:
        return _pieces(np.concatenate((slope, slope)), slope, gaps, y)
    left, right = 2 * gaps[1:] + gaps[:-1], gaps[1:] + 2 * gaps[:-1]
    same = slope[1:] * slope[:-1] > 0
    before, after = np.where(same, slope[:-1], 1.0), np.where(same, slope[1:], 1.0)
    middle = np.where(same, (left + right) / (left / before + right / after), 0.0)
    first = _monotone_end(gaps[0], gaps[1], slope[0], slope[1])
    last = _monotone_end(gaps[-1], gaps[-2], slope[-1], slope[-2])
    return _pieces(np.concatenate((first[None], middle, last[None])), slope, gaps, y)


def _monotone_end(width, following, slope, after):
    found = ((2 * width + following) * slope - width * after) / (width + following)
    steep = (slope * after <= 0) & (np.abs(found) > 3 * np.abs(slope))
    return np.where(found * slope <= 0, 0.0, np.where(steep, 3 * slope, found))


def akima_pieces(x, y):
    """Akima, Journal of the ACM 17, 1970."""
    gaps = np.reshape(x[1:] - x[:-1], (-1,) + (1,) * (y.ndim - 1))
    slope = (y[1:] - y[:-1]) / gaps
    before, after = 2 * slope[0] - slope[1], 2 * slope[-1] - slope[-2]
    m = np.concatenate(((2 * before - slope[0])[None], before[None], slope, after[None], (2 * after - slope[-1])[None]))
    change = np.abs(m[1:] - m[:-1])
    both = change[2:] + change[:-2]
    some = both > 1e-9 * np.max(both)
    weighted = (change[2:] * m[1:-2] + change[:-2] * m[2:-1]) / np.where(some, both, 1.0)
    return _pieces(np.where(some, weighted, 0.5 * (m[3:] + m[:-3])), slope, gaps, y)


def on_grid(grids, values, xi, strict, fill):
    """Lines along each dimension of a grid, at whose places values are given. fill: what stands outside, None where the
    lines go on; strict: an error there."""
    n = len(grids)
    points = np.stack(np.broadcast_arrays(*xi), axis=-1) if isinstance(xi, tuple) else np.asarray(xi)
    at = (np.reshape(points, (-1, n)) if points.ndim == 1 else points) * 1.0
    first, share, outside = [], [], at[..., 0] < at[..., 0]
    for d in range(n):
        grid, place = np.asarray(grids[d]) * 1.0, at[..., d]
        k = np.searchsorted(grid[1:-1], place, "right")
        first.append(k)
        share.append((place - grid[k]) / (grid[k + 1] - grid[k]))
        outside = outside | (place < grid[0]) | (place > grid[-1])
    if strict and np.any(outside):
        raise _OUT_OF_RANGE("One of the requested xi is out of bounds in dimension 0")
    found = _of_corners(np.asarray(values) * 1.0, first, share)
    if fill is None:
        return found
    return np.where(np.reshape(outside, outside.shape + (1,) * (found.ndim - outside.ndim)), fill, found)


def _of_corners(values, first, share):
    n, found = len(first), 0.0
    for corner in range(2 ** n):
        weight, place = np.ones(()), []
        for d in range(n):
            upper = corner // 2 ** d % 2
            weight = weight * (share[d] if upper else 1.0 - share[d])
            place.append(first[d] + upper)
        weight = np.reshape(weight, weight.shape + (1,) * (values.ndim - n))
        found = found + weight * values[tuple(place)]
    return found


def interpn(points, values, xi, method="linear", bounds_error=True, fill_value=np.nan):
    if method != "linear":
        raise ValueError("interpolation on a grid by another method than lines")
    return on_grid(points, values, xi, bounds_error, fill_value)


PARTS = (evaluated, cubic_spline, linear_pieces, through_points, hermite_pieces, monotone_pieces, akima_pieces, on_grid)
"""What rules run here in place of a call."""
