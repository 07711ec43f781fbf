"""Matrices made of what a mask selects, and fits to it: regression over the paths that are in the money."""
from __future__ import annotations

import re

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

X = np.array([0.4, -1.2, 0.9, 1.7, -0.3, 0.6, 2.2])
Y = np.array([1.0, 0.2, -0.7, 0.4, 0.8, 1.9, -0.5])


def joined(x, y):
    on = x > 0.0
    u, v = x[on], y[on]
    columns, rows = np.column_stack((np.ones_like(u), u, u * v)), np.vstack([u, v, v * v])
    beside = np.stack([u, np.zeros_like(u), v], axis=1)
    return [columns.T @ columns, rows @ rows.T, beside.T @ v, rows @ v, np.array([u, v]) @ columns, columns.sum(axis=0),
            np.stack((u, v)) @ beside]


def fitted(x, y):
    on = x > 0.0
    line = np.polyfit(x[on], y[on], 1)
    curve, *_ = np.linalg.lstsq(np.vstack([x[on] ** 2, x[on]]).T, y[on], rcond=None)
    y[on] = np.where(np.polyval(line, x[on]) > 0.3, y[on], np.polyval(curve, x[on]))
    return [line, curve, y]


def logarithms(x, y):
    """What is not selected is no number."""
    on = np.where(x > 0.0)[0]
    return np.polyfit(np.log(x[on]), y[on], deg=2)


def places_of_places(x, y):
    places = np.where(x > 0.0)[0]
    more = places[y[places] > 0.0]
    y[more] = x[more] ** 2
    gain = 2.0 - x[places]
    x[places[gain > 1.2]] = gain[gain > 1.2]
    return [x, y, len(more), x[more].sum()]


@pytest.mark.parametrize("fn", [joined, fitted, logarithms, places_of_places])
def test_matrices_and_fits_are_those_of_what_is_selected(fn):
    check(fn, X, Y, rtol=1e-10)


@pytest.mark.parametrize("fn", [joined, fitted, logarithms])
def test_derivatives_of_what_is_selected(fn):
    def weighed(x, y):
        found = fn(x * 1.0, y * 1.0)
        return sum(np.sum(np.sin(part)) for part in (found if isinstance(found, list) else [found]))

    check_both_modes(weighed, (X, Y))


def exercised(spot, values):
    """Least squares Monte Carlo: a put, and when to exercise it."""
    for t in range(2, -1, -1):
        now = np.nonzero(spot[:, t] < 1.0)[0]
        x = spot[now, t]
        basis = np.array([np.ones_like(x), x, x**2]).T
        beta = np.linalg.solve(basis.T @ basis + 1e-3 * np.eye(3), basis.T @ values[now])
        gain = 1.0 - x
        stop = gain > basis @ beta
        values[now[stop]] = gain[stop]
    return values.mean()


def test_options_are_exercised_where_it_pays():
    paths = 1.0 + 0.4 * np.sin(np.arange(48.0) ** 2).reshape(12, 4)
    check_both_modes(exercised, (paths, np.maximum(1.0 - paths[:, 3], 0.0)))


def residuals(x, y):
    on = x > 0.0
    return np.linalg.lstsq(np.column_stack((x[on], y[on])), y[on], rcond=None)[1]


def two_masks(x, y):
    return np.column_stack((x[x > 0.0], y[y > 0.0])).sum(axis=0)


@pytest.mark.parametrize("fn", [residuals, two_masks])
def test_what_depends_on_how_many_there_are_is_refused(fn):
    with pytest.raises(UnsupportedError, match=re.escape("[SG1")):
        parse(fn, (X, Y))
