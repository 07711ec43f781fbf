"""Products, systems, transforms, statistics."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend.checking import check
from tests.frontend.programs import A34, A44, V4, V6, Z3, Case, collector

CASES: list[Case] = []
case = collector(CASES)


@case(A34, A44, V4)
def products(A, B, v):
    return [A @ B, A @ v, v @ B, v @ v, np.dot(A, v), np.matmul(A, B), A.dot(B), B.T @ B, np.vdot(v, v), np.inner(v, v),
            np.inner(A, A), np.tensordot(A, B, 1), np.tensordot(A, A, ((0, 1), (0, 1))),
            np.tensordot(A, B, axes=[[1], [0]]), np.einsum("ij,jk->ik", A, B),
            np.einsum("ij,j", A, v), np.einsum("ii", B), np.einsum("ij->ji", A), np.einsum("i,j->ij", v, v),
            np.einsum("ij,ij->", A, A), np.einsum("ij,jk,kl->il", A, B, B), np.linalg.multi_dot((A, B, v)), 2 * A @ B,
            np.einsum("ij,ij->i", A, A)]


@case(np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(2, 4, 3), A44)
def batched_products(A, B, C):
    return [A @ B, A @ C, np.matmul(A, B[0]), np.einsum("bij,bjk->bik", A, B), np.tensordot(A, C, axes=1),
            np.einsum("bij,jk->bik", A, C), A[0] @ B]


@case(np.arange(12.0).reshape(1, 3, 4), np.arange(24.0).reshape(2, 4, 3), V4[:, None])
def contractions_with_rows_for_all(A, B, v):
    """An axis of length one goes with any other, as it does where shapes are broadcast."""
    return [np.einsum("bij,bjk->bik", A, B), np.einsum("...ij,...jk", A, B), np.einsum("ij,jk->ik", B[0], A[0, :, :1]),
            np.einsum("bij,jb->i", A, v), np.einsum("bij,bji,bkl->bl", A, B, A), np.einsum("bi,bi->b", v, v.T),
            np.einsum("ab->ba", v), np.einsum("ab,cb->ac", v, v)]


@case(np.arange(8.0).reshape(2, 2, 2), np.array([[1.0, 2.0], [3.0, 5.0]]))
def contractions_along_each_axis(t, U):
    for k in range(3):
        t = np.moveaxis(np.tensordot(U, t, axes=(1, k)), 0, k)
    for k in (-1, 0):
        t = np.tensordot(U, t, axes=([0], [k]))
    return t


@case(A44 + 5 * np.eye(4), V4, A44 @ A44.T + np.eye(4))
def systems(A, b, S):
    return [np.linalg.solve(A, b), np.linalg.solve(A, A.T), np.linalg.inv(A), np.linalg.cholesky(S)]


@case(np.arange(24.0).reshape(2, 3, 4) % 7 + np.eye(3, 4), Z3)
def stacks(A, z):
    B = A[:, :, :3] + 1j * z
    s = np.linalg.svd(A, full_matrices=False)
    return [np.linalg.eigvalsh(A[:, :, 1:]), np.linalg.eigvalsh(A[:, :, 1:], "U"), np.linalg.eigvalsh(B, UPLO="U"),
            np.linalg.pinv(A), np.linalg.pinv(A, 0.4), np.linalg.pinv(B, rcond=0.4), *np.linalg.slogdet(B),
            np.linalg.det(A[:, :, :3]), s[1], (s.U * s.S[:, None]) @ s.Vh, np.linalg.qr(A, mode="r") ** 2,
            np.linalg.solve(A[0, :, :3], A), np.linalg.matrix_rank(A), np.linalg.matrix_rank(A[0].T @ A[0]),
            np.linalg.svd(A.astype(np.float32), compute_uv=False), np.sort(np.abs(np.linalg.eigvals(B)))]


@case(Z3, V4)
def transforms(z, x):
    return [np.fft.fft(z), np.fft.ifft(z), np.fft.fft(x), np.fft.fft(np.stack((x, x))), np.fft.fft(np.ones((2, 3)),
            axis=0)]


@case(V6, A34)
def statistics(x, A):
    counts, edges = np.histogram(x, 3)
    weighted = np.histogram(x, bins=3, weights=x * 2)[0]
    return [np.sort(x), np.argsort(x), x[np.argsort(x)], np.cov(A), np.cov(A, rowvar=False), np.bincount(np.array([0,
            2, 1]), minlength=3),
            counts, edges, weighted, np.corrcoef(A), np.interp(0.5, np.array([0.0, 1.0]), np.array([2.0, 3.0]))]


@case(np.array([-0.5, 0.0, 0.1, 0.3, 0.6, 0.7, 0.30000000000000004, 0.8, 0.9, 1.0, 1.5]), A34)
def histograms_of_part_of_the_values(x, A):
    return [np.histogram(x, 10, range=(0.0, 1.0)), np.histogram(x, 10, (0.0, 1.0), weights=x * 2),
            np.histogram(x[3:4], 4), np.histogram(A, 3), np.histogram(A, 3, weights=A)]


@case(V6)
def dtype_attributes(x):
    eps = np.finfo(x.dtype).eps
    return x * eps, np.zeros(2, x.dtype), np.finfo(np.float64).max > 1, x.dtype == np.float64


@case(np.zeros((0,)), np.zeros((0, 3)))
def empty_arrays(x, A):
    return x.sum(), x * 2, A.sum(axis=0), A @ np.ones(3), A.T @ A, np.concatenate((x, x)), A.reshape(3, 0)


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)
