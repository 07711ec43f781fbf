"""Distances of `scipy.spatial`, in plain NumPy for the interpreter to run in place of a call.

A Euclidean distance of zero, which has no derivative, has the derivative zero.
"""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np


def length_of(squares):
    return np.where(squares > 0, np.sqrt(np.where(squares > 0, squares, 1.0)), squares)[()]


def squared(a, b):
    away = a - b
    return np.sum(away * away, axis=-1)


def cosine_of(a, b):
    return 1.0 - np.sum(a * b, axis=-1) / np.sqrt(np.sum(a * a, axis=-1) * np.sum(b * b, axis=-1))


def correlation_of(a, b):
    return cosine_of(a - np.mean(a, axis=-1, keepdims=True), b - np.mean(b, axis=-1, keepdims=True))


def canberra_of(a, b):
    size = np.abs(a) + np.abs(b)
    return np.sum(np.where(size > 0, np.abs(a - b) / np.where(size > 0, size, 1.0), 0.0), axis=-1)


def braycurtis_of(a, b):
    return np.sum(np.abs(a - b), axis=-1) / np.sum(np.abs(a + b), axis=-1)


def power_of(a, b, p):
    total = np.sum(np.abs(a - b) ** p, axis=-1)
    return np.where(total > 0, np.where(total > 0, total, 1.0) ** (1.0 / p), total)[()]


def between(a, b, metric, p, V, VI):
    """The distances of vectors along the last axis, of all that broadcasting pairs."""
    if metric == "euclidean" or metric == "minkowski" and p == 2:
        return length_of(squared(a, b))
    if metric == "sqeuclidean":
        return squared(a, b)
    if metric == "cityblock" or metric == "minkowski" and p == 1:
        return np.sum(np.abs(a - b), axis=-1)
    if metric == "chebyshev":
        return np.max(np.abs(a - b), axis=-1)
    if metric == "minkowski":
        return power_of(a, b, p)
    if metric == "cosine":
        return cosine_of(a, b)
    if metric == "correlation":
        return correlation_of(a, b)
    if metric == "canberra":
        return canberra_of(a, b)
    if metric == "braycurtis":
        return braycurtis_of(a, b)
    if metric == "seuclidean" and V is not None:
        away = a - b
        return length_of(np.sum(away * away / np.asarray(V), axis=-1))
    if metric == "mahalanobis" and VI is not None:
        away = a - b
        return length_of(np.sum(away * (away @ np.asarray(VI)), axis=-1))
    raise ValueError("distances by another measure")


def cdist(XA, XB, metric="euclidean", *, out=None, p=2, V=None, VI=None):
    left, right = np.asarray(XA, np.float64), np.asarray(XB, np.float64)
    return between(left[:, None, :], right[None, :, :], metric, p, V, VI)


def pdist(X, metric="euclidean", *, out=None, p=2, V=None, VI=None):
    points = np.asarray(X, np.float64)
    i, j = np.triu_indices(points.shape[0], 1)
    return between(points[i], points[j], metric, p, V, VI)


def squareform(X, force="no", checks=True):
    values = np.asarray(X)
    if values.ndim == 2:
        i, j = np.triu_indices(values.shape[0], 1)
        return values[i, j]
    n = int((1 + np.sqrt(1 + 8 * values.shape[0])) / 2 + 0.5)
    if n * (n - 1) // 2 != values.shape[0]:
        raise ValueError("a number of distances that no number of points has")
    k = np.arange(n)
    low, high = np.minimum(k[:, None], k[None, :]), np.maximum(k[:, None], k[None, :])
    place = np.where(low < high, low * n - low * (low + 1) // 2 + (high - low - 1), 0)
    return np.where(low < high, values[place], values.dtype.type(0))


def distance_matrix(x, y, p=2, threshold=1000000):
    return between(np.asarray(x)[:, None, :], np.asarray(y)[None, :, :], "minkowski", p, None, None)


def weighted(u, v, w, metric, p=2):
    """Of two vectors, where weights multiply what is added."""
    a, b = np.asarray(u) * 1.0, np.asarray(v) * 1.0
    if w is None:
        return between(a, b, metric, p, None, None)
    if metric == "chebyshev":
        raise ValueError("weights of the largest difference")
    total = np.sum(np.asarray(w) * np.abs(a - b) ** p)
    return total if metric == "sqeuclidean" else np.where(total > 0, np.where(total > 0, total, 1) ** (1.0 / p), total)


def of_weighted(metric, p=2):
    def body(u, v, w=None):
        return weighted(u, v, w, metric, p)

    return body


def of_two(metric):
    def body(u, v):
        return weighted(u, v, None, metric)

    return body


euclidean, sqeuclidean = of_weighted("euclidean"), of_weighted("sqeuclidean")
cityblock, chebyshev = of_weighted("cityblock", 1), of_weighted("chebyshev")
cosine, correlation, canberra, braycurtis = (
    of_two("cosine"), of_two("correlation"), of_two("canberra"), of_two("braycurtis"))


def minkowski(u, v, p=2, w=None):
    return weighted(u, v, w, "minkowski", p)


def seuclidean(u, v, V):
    return between(np.asarray(u) * 1.0, np.asarray(v) * 1.0, "seuclidean", 2, V, None)


def mahalanobis(u, v, VI):
    return between(np.asarray(u) * 1.0, np.asarray(v) * 1.0, "mahalanobis", 2, None, VI)
