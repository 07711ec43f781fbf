"""Factors, roots and logarithms of matrices of `scipy.linalg`, in plain NumPy for the interpreter to run."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from sdfgad.frontend.bodies.packages.scipy import expm, from_one_half, toeplitz

_NO_ROOT = ArithmeticError  # of data: unlike what these bodies do not take, it is raised in the run
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def lu(a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    """Elimination with the largest element of a column first."""
    if a.ndim != 2 or a.dtype.kind not in "fc":
        raise ValueError("several matrices, or one of integers")
    n, m = a.shape
    least = min(n, m)
    work, order = np.array(a), np.arange(n)
    for k in range(least):
        p = k + np.argmax(np.abs(work[k:, k]))
        row, place = work[k].copy(), order[k]
        work[k] = work[p]
        work[p] = row
        order[k] = order[p]
        order[p] = place
        if k + 1 < n:
            pivot = work[k, k]
            work[k + 1:, k] = work[k + 1:, k] / np.where(pivot == 0, 1.0, pivot)
            work[k + 1:, k + 1:] -= work[k + 1:, k, None] * work[None, k, k + 1:]
    lower, upper = np.tril(work[:, :least], -1) + np.eye(n, least), np.triu(work[:least])
    exchanges = (order[None, :] == np.arange(n)[:, None]).astype(np.real(work).dtype)
    if p_indices:
        raise ValueError("exchanges as places")
    return (exchanges @ lower, upper) if permute_l else (exchanges, lower, upper)


def coshm(A):
    return 0.5 * (expm(A) + expm(-A))


def sinhm(A):
    return 0.5 * (expm(A) - expm(-A))


def tanhm(A):
    return np.linalg.solve(coshm(A), sinhm(A))


def sqrtm(A, disp=True, blocksize=64):
    """The principal square root by scaled products.

    Cheng, Higham, Kenney and Laub, "Approximating the logarithm of a matrix to specified accuracy", 2001.
    """
    if not disp or A.ndim != 2 or A.dtype.kind != "f":
        raise ValueError("an estimate of the error, several matrices or a complex one")
    n = A.shape[0]
    one, root, product = np.eye(n), A * 1.0, A * 1.0
    away, steps = 1.0, 0
    while away > 1e-15 * n and steps < 60:
        scale = 1.0
        if away > 1e-2:
            scale = np.abs(np.linalg.det(product)) ** (-1.0 / (2 * n))
        inverse = np.linalg.inv(product) / (scale * scale)
        root = 0.5 * scale * root @ (one + inverse)
        product = 0.5 * (one + 0.5 * (scale * scale * product + inverse))
        before, away = away, np.max(np.abs(product - one))
        steps = steps + 1
        if away < 1e-8 and away >= 0.5 * before:
            break
    if not away < 1e-8:
        raise _NO_ROOT("no real square root of the matrix found: an eigenvalue is negative or zero")
    return root.astype(A.dtype)


def logm(A, disp=True):
    """The principal logarithm: roots until the matrix is near one, then its logarithm as an integral."""
    if not disp:
        raise ValueError("an estimate of the error")
    n = A.shape[0]
    one, near, doublings = np.eye(n), A * 1.0, 0
    while np.max(np.sum(np.abs(near - one), axis=0)) > 0.25 and doublings < 60:
        near = sqrtm(near)
        doublings = doublings + 1
    away, found = near - one, np.zeros((n, n))
    for k in range(16):
        share = 0.5 * (1.0 + _NODES[k])
        found = found + 0.5 * _WEIGHTS[k] * np.linalg.solve(one + share * away, away)
    return found * 2.0 ** doublings


def fractional_matrix_power(A, t):
    if isinstance(t, int) or t == int(t):
        return np.linalg.matrix_power(A, int(t))
    return expm(t * logm(A))


def pinvh(a, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True):
    if return_rank or atol is not None:
        raise ValueError("the rank beside the inverse, or an absolute tolerance")
    cut = a.shape[0] * float(np.finfo(a.dtype).eps) if rtol is None else rtol
    return np.linalg.pinv(from_one_half(a, lower, True), cut)


def orthogonal_procrustes(A, B, check_finite=True):
    left, values, right = np.linalg.svd((B.T @ np.conj(A)).T)
    return left @ right, np.sum(values)


def companion(a):
    a = np.asarray(a)
    n = a.shape[0]
    found = np.zeros((n - 1, n - 1), a.dtype if a.dtype.kind in "fc" else np.float64)
    found[0] = -a[1:] / a[0]
    for k in range(1, n - 1):
        found[k, k - 1] = 1.0
    return found


def leslie(f, s):
    f, s = np.asarray(f), np.asarray(s)
    return np.concatenate((f[None], np.concatenate((np.diag(s), np.zeros((s.shape[0], 1))), axis=1)))


def fiedler(a):
    a = np.asarray(a)
    return np.abs(a[:, None] - a[None, :])


def convolution_matrix(a, n, mode="full"):
    if n < 1 or mode not in ("full", "same", "valid"):
        raise ValueError("this mode")
    a = np.asarray(a)
    m = a.shape[0]
    padded = np.concatenate((a, np.zeros(n - 1, a.dtype)))
    full = toeplitz(padded, np.concatenate((a[:1], np.zeros(n - 1, a.dtype))))
    if mode == "full":
        return full
    size = max(m, n) if mode == "same" else max(m, n) - min(m, n) + 1
    first = (n + m - 1 - size) // 2
    return full[first:first + size]


def matmul_toeplitz(c_or_cr, x, check_finite=False, workers=None):
    return (toeplitz(c_or_cr[0], c_or_cr[1]) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr)) @ x


NAMES = ("lu", "coshm", "sinhm", "tanhm", "sqrtm", "logm", "fractional_matrix_power", "pinvh", "orthogonal_procrustes",
         "companion", "leslie", "fiedler", "convolution_matrix", "matmul_toeplitz")
