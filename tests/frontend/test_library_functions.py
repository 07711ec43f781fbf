"""Distances, interpolants and other functions of SciPy that are written in NumPy here: values, both modes, refusals."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check_both_modes

scipy = pytest.importorskip("scipy")
from scipy import interpolate, ndimage, spatial  # noqa: E402
from scipy.spatial import distance  # noqa: E402

X = np.sin(np.arange(20.0) ** 2).reshape(4, 5) + 0.1
V, U = X[0] + 0.3, np.array([0.2, 0.9, 0.45, 0.7, 0.05])
KNOTS, GRID = np.arange(5.0), (np.arange(4.0), np.arange(5.0))
CUBE = np.cos(np.arange(60.0)).reshape(3, 4, 5)
METRICS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "braycurtis")


def shifted_pairs(x):
    return [distance.cdist(x, x[:2] + 0.3, m) for m in METRICS]


def other_measures(x):
    weights = np.arange(1.0, 6.0)
    near, far = x[0], x[1] * 2.0
    return [distance.cdist(x, x[:2] + 0.3, "minkowski", p=3), distance.cdist(x, x + 0.3, "seuclidean", V=weights),
            distance.cdist(x, x + 0.3, "mahalanobis", VI=np.diag(weights)),
            spatial.distance_matrix(x, x[1:] + 1.0, p=1),
            distance.minkowski(near, far, 3, weights), distance.euclidean(near, far, weights),
            distance.sqeuclidean(near, far), distance.cityblock(near, far, w=weights),
            distance.mahalanobis(near, far, np.eye(5)), distance.seuclidean(near, far, weights),
            distance.chebyshev(near, far), distance.cosine(near, far), distance.correlation(near, far),
            distance.canberra(near, far), distance.braycurtis(near, far)]


def among_themselves(x):
    found = distance.squareform(distance.pdist(x))
    return [np.exp(-distance.cdist(x, x) ** 2), found, distance.squareform(found * 2.0), distance.pdist(x, "cityblock")]


def cubics(v):
    places = np.array([-0.5, 0.2, 1.3, 3.9, 4.5])
    pchip, akima = interpolate.PchipInterpolator, interpolate.Akima1DInterpolator
    rising = np.cumsum(v * v)
    return [pchip(KNOTS, v)(places), pchip(rising, np.stack([v, rising], axis=1))(rising * 0.9),
            pchip([0.0, 1.0], v[:2])(v[2:]), pchip(KNOTS, v, extrapolate=False)(v * v, 1), akima(KNOTS, v)(v * v),
            akima(KNOTS, v, extrapolate=True)(places),
            interpolate.CubicHermiteSpline(KNOTS, v, v[::-1])(places)]


def on_grids(u):
    on = interpolate.RegularGridInterpolator
    inside, beyond = np.stack([u, 2 * u], axis=-1), np.stack([u - 0.5, 9 * u], axis=-1)
    values = X * u
    return [on(GRID, values)(inside), on(GRID, values)((u, 1.0)), on(GRID, values)([0.2, 1.3]),
            on(GRID, values, bounds_error=False, fill_value=None)(beyond),
            on(GRID, values, bounds_error=False, fill_value=0.5)(beyond),
            on((np.arange(3.0), *GRID), CUBE)(np.stack([u, 2 * u, u * u], axis=-1)),
            on((np.arange(3.0), np.arange(4.0)), CUBE)(inside), interpolate.interpn(GRID, values, inside)]


def on_pictures(u):
    values = X * u
    return [ndimage.map_coordinates(values, np.array([[0.5, 1.2, -0.1, 3.0], [2.3, 3.1, 2.0, 4.0]]), order=1),
            ndimage.map_coordinates(values, np.stack([u, 9 * u - 2]), order=1, mode="nearest"),
            ndimage.map_coordinates(X, [u, 2 * u], order=1, cval=0.3)]


@pytest.mark.parametrize("fn, argument", [
    (shifted_pairs, X), (other_measures, X), (among_themselves, X), (cubics, V), (on_grids, U), (on_pictures, U)],
    ids=lambda v: getattr(v, "__name__", ""))
def test_values_and_derivatives(fn, argument):
    def total(x):
        s = 0.0
        for found in fn(x):
            s = s + np.sum(found * np.cos(np.reshape(np.arange(float(np.size(found))), np.shape(found))))
        return s

    check_both_modes(total, (argument.copy(),))


def test_a_distance_of_zero_has_the_slope_zero():
    found = sdfgad.grad(lambda x: np.sum(distance.cdist(x, x)))(X[:2].copy())
    away = 2 * (X[0] - X[1]) / np.linalg.norm(X[0] - X[1])
    np.testing.assert_allclose(found, np.stack([away, -away]), rtol=1e-12)


def test_an_error_outside_of_a_grid():
    found = sdfgad.forward(lambda x: interpolate.RegularGridInterpolator(GRID, X)(x))
    np.testing.assert_allclose(found(np.array([[0.0, 0.0], [3.0, 4.0]])), X[[0, 3], [0, 4]])
    with pytest.raises(ValueError, match="out of bounds"):
        found(np.array([[0.0, 0.0], [3.0, 4.5]]))


@pytest.mark.parametrize("program", [
    lambda x: distance.cdist(x, x, "hamming"),
    lambda x: ndimage.map_coordinates(x, x[:2], order=2),
    lambda x: interpolate.RegularGridInterpolator(GRID, x, method="cubic")(x[:, :2]),
    lambda x: interpolate.PchipInterpolator(KNOTS, x.T, axis=1)(x),
], ids=lambda program: f"line {program.__code__.co_firstlineno}")
def test_refusals(program):
    with pytest.raises(UnsupportedError) as caught:
        parse(program, (X.copy(),))
    assert caught.value.line == program.__code__.co_firstlineno
