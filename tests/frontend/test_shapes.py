"""Arrays in other shapes, and new ones."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend.checking import check
from tests.frontend.programs import A34, A44, V4, V6, Case, collector

CASES: list[Case] = []
case = collector(CASES)


@case(A34)
def shapes(A):
    n, m = A.shape
    return [A.T, A.reshape(4, 3), A.reshape(-1), A.ravel(), A.flatten(), A.T.reshape(3, 4), A[:, None, :] * A[None],
            A[np.newaxis, 1], np.expand_dims(A, 1), np.squeeze(A[None]), A.transpose(1, 0), np.swapaxes(A, 0, 1),
            np.moveaxis(A, 0, 1), np.flip(A), np.flip(A, 0), A[::-1, ::2], np.fliplr(A), np.flipud(A), np.rot90(A),
            np.broadcast_to(A[0], (3, 4)) + 1, A.reshape(2, 2, 3).sum(axis=1), A.reshape((3, 2, 2)), n * m, A.size,
                A.ndim,
            np.atleast_2d(A[0]), np.reshape(A, (4, -1)), A.reshape(A.shape[0], -1), np.ravel(A.T), A.reshape(4, 3,
                order="F")]


@case(A34, V4)
def joins(A, v):
    return [np.concatenate((A, A)), np.concatenate([A, A[:, :2]], axis=1), np.stack((v, v * 2)), np.stack([v, v],
            axis=1),
            np.hstack((v, v)), np.hstack((A, A)), np.vstack((A, v)), np.column_stack((v, v)), np.append(v, v[0]),
            np.repeat(v, 3), np.repeat(A, 2, axis=1), np.tile(v, 2), np.tile(A, (2, 2)), np.roll(v, 1), np.roll(A, -1,
                axis=0),
            np.roll(A, 1, axis=1), np.roll(A, 5), np.pad(v, 1), np.pad(A, ((1, 0), (0, 2))), np.outer(v, v),
                np.kron(v, v),
            np.kron(A, A), np.diff(v), np.diff(A, axis=0), np.split(v, 2)[1], np.array_split(v, [1, 3])[1],
                np.dstack((A, A)),
            np.cross(v[:3], v[1:]), np.gradient(v), np.trapezoid(v), np.ediff1d(v), np.roll(A, (1, 1), axis=(0, 1))]


@case(A34, V4)
def padded(A, v):
    return [np.pad(v, 2, mode="wrap"), np.pad(v, (4, 1), "wrap"), np.pad(v, (3, 2), mode="reflect"),
            np.pad(v, (0, 4), "symmetric"), np.pad(v, (7, 2), "edge"), np.pad(v, 0, mode="reflect"),
            np.pad(A, ((1, 2), (3, 0)), mode="wrap"), np.pad(A, 2, mode="reflect"), np.pad(A, 1, "edge"),
            np.pad(A, ((3, 1), (0, 4)), mode="symmetric"), np.pad(A, 1, mode="constant", constant_values=3.0)]


@case(A34, V4)
def ranges_as_arrays(A, v):
    total = 0.0
    for i in range(1, 4):
        total += np.sum(v[:i] * range(i))
    return [np.meshgrid(range(3), range(2)), v * range(4), v[range(1, 4)], v[range(3, 0, -2)], A[range(2), range(1, 3)],
            v[range(0)], np.sum(range(4)), total]


@case(A44, V4)
def matrix_parts(A, v):
    B = A.copy()
    np.fill_diagonal(B, 2.0)
    return [np.diag(A), np.diag(v), np.diag(A, 1), np.diag(v, -1), np.triu(A), np.tril(A, -1), np.triu(A, 1),
            np.trace(A),
            np.eye(3), np.eye(2, 4, 1), np.identity(3), np.tri(3), B, A.diagonal(), np.diagonal(A, -1)]


@case(3, V6)
def creation(n, x):
    return [np.zeros(n), np.zeros((2, n)), np.ones(n, dtype=np.float32), np.full((2, 2), 7.0), np.full(3, 2),
            np.zeros_like(x),
            np.ones_like(x, dtype=int), np.full_like(x, 2), np.arange(n), np.arange(1, 7, 2), np.arange(0.0, 1.0, 0.25),
            np.arange(5, 0, -1), np.linspace(0, 1, 5), np.linspace(x[0], x[1], 4), np.linspace(0, 1, 4, endpoint=False),
            np.array([1, 2, 3]), np.array([[1.0, 2], [3, 4]]), np.array([x[0], 2.0]), np.array([x, x * 2]),
                np.array(3.0),
            np.asarray(x), np.meshgrid(np.arange(2), np.arange(3)), np.meshgrid(x, x[:2], indexing="ij"),
                np.mgrid[0:2, 0:3],
            np.mgrid[0:1:3j], np.indices((2, 3)), np.array([[x[0], 1], [x[1], x[2]]]), np.array((1, 2.5)),
                np.ogrid[0:2, 0:3][1],
            np.arange(3, dtype=np.float32), np.ndarray((2,), dtype=np.float64) * 0, np.logspace(0, 1, 3)]


@case(V6)
def literal_written(x):
    w = np.array([1.0, 2.0, 3.0])
    w[1] = x[0]
    idx = np.array([0, 1, 2])
    idx[0] = 3
    return w, x[idx]


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)
