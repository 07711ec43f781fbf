"""Functions of `scipy.integrate` of samples, in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np


def trapezoid(y, x=None, dx=1.0, axis=-1):
    return np.trapezoid(y, x, dx, axis)


def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    rows = np.moveaxis(np.asarray(y), axis, -1)
    if initial not in (None, 0):
        raise ValueError("a first value other than zero")
    if x is not None and np.asarray(x).ndim != 1:
        raise ValueError("places of more than one dimension")
    widths = dx if x is None else np.diff(np.asarray(x))
    found = np.cumsum(widths * (rows[..., 1:] + rows[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        found = np.concatenate((np.zeros(rows.shape[:-1] + (1,), found.dtype), found), axis=-1)
    return np.moveaxis(found, -1, axis)


def simpson(y, x=None, *, dx=1.0, axis=-1):
    """Of an even number of samples the last interval is integrated with the parabola through the last three.

    Cartwright, "Simpson's rule cumulative integration with MS Excel and irregularly-spaced data", 2017.
    """
    rows = np.moveaxis(np.asarray(y), axis, 0)
    n = rows.shape[0]
    if n < 2:
        raise ValueError("fewer than two samples")
    if x is None:
        widths = np.full((n - 1,) + (1,) * (rows.ndim - 1), dx)
    else:
        places = np.asarray(x)
        across = np.moveaxis(places, axis, 0) if places.ndim > 1 else np.reshape(places, (-1,) + (1,) * (rows.ndim - 1))
        widths = across[1:] - across[:-1]
    if n == 2:
        return 0.5 * widths[0] * (rows[0] + rows[1])
    last = n if n % 2 else n - 1
    p, q = widths[0:last - 1:2], widths[1:last - 1:2]
    both = p + q
    total = np.sum(both / 6.0 * (rows[0:last - 2:2] * (2.0 - q / p) + rows[1:last - 1:2] * (both * both / (p * q))
                                 + rows[2:last:2] * (2.0 - p / q)), axis=0)
    if n % 2:
        return total
    h, k = widths[n - 3], widths[n - 2]
    return (total + rows[n - 1] * (2.0 * k * k + 3.0 * h * k) / (6.0 * (h + k))
            + rows[n - 2] * (k * k + 3.0 * h * k) / (6.0 * h) - rows[n - 3] * k * k * k / (6.0 * h * (h + k)))


def romb(y, dx=1.0, axis=-1, show=False):
    rows = np.moveaxis(np.asarray(y), axis, 0)
    steps = rows.shape[0] - 1
    halvings = int(np.log2(steps) + 0.5)
    if 2 ** halvings != steps or show:
        raise ValueError("a number of samples other than one more than a power of two, or a text")
    table = [0.5 * (rows[0] + rows[steps]) * (dx * steps)]
    for k in range(1, halvings + 1):
        step = 2 ** (halvings - k)
        row = [0.5 * (table[0] + np.sum(rows[step:steps:2 * step], axis=0) * (2.0 * step * dx))]
        for j in range(1, k + 1):
            row.append(row[j - 1] + (row[j - 1] - table[j - 1]) / (4.0 ** j - 1.0))
        table = row
    return table[halvings]
