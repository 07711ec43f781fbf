"""Arguments of functions that few programs use."""
from __future__ import annotations

import numpy as np

import sdfgad

A = np.random.default_rng(3).random((3, 4, 5))


def _line(x, slope, start=2.0):
    return x * slope + start


def _turned(x):
    """Images with channels: the other axes stay where they are."""
    return [np.rot90(x, k) for k in range(-1, 4)] + [np.rot90(x, 1, axes=(2, 0)), np.rot90(x, k=3, axes=(1, 2))]


def _spread(x):
    return [np.std(x, axis=1, correction=1), np.var(x, correction=2),
            np.var(x, axis=1, mean=np.mean(x, axis=1, keepdims=True), ddof=1)]


def _parts(x):
    return [np.piecewise(x[0, 0], [x[0, 0] < 0.3, x[0, 0] >= 0.3], [_line, lambda v, p, start: v * p * start], 3.0,
                         start=5.0)]


def _all(x):
    return [*_turned(x), *_spread(x), *_parts(x)]


def test_values():
    for found, expected in zip(sdfgad.forward(_all)(A), _all(A), strict=True):
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-14)
