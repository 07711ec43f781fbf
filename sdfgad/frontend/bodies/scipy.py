"""Functions of SciPy of matrices and integrals, in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,call-arg,arg-type"
from __future__ import annotations

import numpy as np


def solve_triangular(factor, b, trans=0, lower=False):
    """`linalg.solve_triangular`, which the table has under this name."""
    raise NotImplementedError


def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None,
          transposed=False):
    if assume_a not in (None, "gen", "general", "pos", "positive definite", "sym", "symmetric"):
        raise ValueError("this assumption about the matrix")
    matrix = a if assume_a in (None, "gen", "general") else from_one_half(a, lower)
    return np.linalg.solve(matrix.T if transposed else matrix, b)


def from_one_half(a, lower):
    """The symmetric matrix of which only one half is looked at."""
    if a.dtype.kind == "c":
        raise ValueError("one half of a complex matrix")
    if lower:
        return np.tril(a) + np.tril(a, -1).T
    return np.triu(a) + np.triu(a, 1).T


def det(a, overwrite_a=False, check_finite=True):
    return np.linalg.det(a)


def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    if a.dtype.kind == "c":
        raise ValueError("the factor of a complex matrix")
    return np.linalg.cholesky(a) if lower else np.linalg.cholesky(a.T).T


def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    return cholesky(a, lower), lower


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    factor, lower = c_and_lower
    if lower:
        return solve_triangular(factor, solve_triangular(factor, b, lower=True), trans=1, lower=True)
    return solve_triangular(factor, solve_triangular(factor, b, trans=1))


def eigh(a, b=None, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, check_finite=True):
    if b is not None:
        raise ValueError("a second matrix")
    found = np.linalg.eigh(a, "L" if lower else "U")
    return found[0] if eigvals_only else (found[0], found[1])


def eigvalsh(a, b=None, lower=True, overwrite_a=False, overwrite_b=False, check_finite=True):
    if b is not None:
        raise ValueError("a second matrix")
    return np.linalg.eigvalsh(a, "L" if lower else "U")


def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True):
    if not compute_uv:
        return np.linalg.svd(a, compute_uv=False)
    found = np.linalg.svd(a, full_matrices)
    return found[0], found[1], found[2]


def svdvals(a, overwrite_a=False, check_finite=True):
    return np.linalg.svd(a, compute_uv=False)


def qr(a, overwrite_a=False, mode="full"):
    if mode == "r":
        return (np.linalg.qr(a, "complete")[1],)
    if mode not in ("full", "economic"):
        raise ValueError("this mode")
    found = np.linalg.qr(a, "complete" if mode == "full" else "reduced")
    return found[0], found[1]


def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
    return np.linalg.norm(a, ord, axis, keepdims)


def expm(A):
    if A.ndim != 2 or A.dtype.kind not in "fc":
        raise ValueError("the exponential of anything but one matrix of numbers")
    weights = (64764752532480000., 32382376266240000., 7771770303897600., 1187353796428800., 129060195264000.,
               10559470521600., 670442572800., 33522128640., 1323241920., 40840800., 960960., 16380., 182., 1.)
    one = np.eye(A.shape[0])
    size = np.max(np.sum(np.abs(A), axis=0))
    halvings = 0
    while size > 4.25:
        size = size / 2
        halvings = halvings + 1
    small = A / 2.0 ** halvings
    two = small @ small
    four = two @ two
    six = four @ two
    odd = small @ (six @ (weights[13] * six + weights[11] * four + weights[9] * two)
                   + weights[7] * six + weights[5] * four + weights[3] * two + weights[1] * one)
    even = (six @ (weights[12] * six + weights[10] * four + weights[8] * two)
            + weights[6] * six + weights[4] * four + weights[2] * two + weights[0] * one)
    found = np.linalg.solve(even - odd, even + odd)
    for _ in range(halvings):
        found = found @ found
    return found


def toeplitz(c, r=None):
    column = np.ravel(c)
    row = np.conj(column) if r is None else np.ravel(r)
    values = np.concatenate((column[::-1], row[1:]))
    n, m = column.shape[0], row.shape[0]
    return values[n - 1 - np.arange(n)[:, None] + np.arange(m)[None, :]]


def circulant(c):
    n = c.shape[0]
    return c[(np.arange(n)[:, None] - np.arange(n)[None, :]) % n]


def block_diag(*arrs):
    parts = [np.atleast_2d(a) for a in arrs]
    out = np.zeros((sum([p.shape[0] for p in parts]), sum([p.shape[1] for p in parts])),
                   np.result_type(*[p.dtype for p in parts]))
    i, j = 0, 0
    for p in parts:
        out[i:i + p.shape[0], j:j + p.shape[1]] = p
        i, j = i + p.shape[0], j + p.shape[1]
    return out


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


def fft(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return np.fft.fft(x, n, axis, norm)


def ifft(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return np.fft.ifft(x, n, axis, norm)


def rfft(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return np.fft.rfft(x, n, axis, norm)


def irfft(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None):
    return np.fft.irfft(x, n, axis, norm)


def plane_fft(x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None):
    return np.fft.fft2(x, s, axes, norm)


def plane_ifft(x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None):
    return np.fft.ifft2(x, s, axes, norm)
