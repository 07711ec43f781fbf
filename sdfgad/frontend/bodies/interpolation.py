"""Interpolation as in `scipy.interpolate`, in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import numpy as np

from sdfgad.frontend.bodies.bands import solve_banded

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


def on_lines(knots, values, x, below, above, strict):
    """Lines between knots. below, above: what stands beyond the ends, None where the lines go on; strict: an error."""
    order = np.argsort(knots)
    places, rows = knots[order], values[order]
    at = np.asarray(x) * 1.0
    if strict:
        if np.any(at < places[0]):
            raise _OUT_OF_RANGE("A value in x_new is below the interpolation range.")
        if np.any(at > places[-1]):
            raise _OUT_OF_RANGE("A value in x_new is above the interpolation range.")
    found = evaluated(linear_pieces(places, rows), places, at, 0, True)
    across = np.reshape(at, at.shape + (1,) * (rows.ndim - 1))
    if below is not None:
        found = np.where(across < places[0], below, found)
    return found if above is None else np.where(across > places[-1], above, found)


PARTS = (evaluated, cubic_spline, linear_pieces, on_lines)
"""What rules run here in place of a call."""
