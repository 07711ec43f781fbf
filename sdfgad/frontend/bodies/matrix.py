"""NumPy functions of matrices and vectors, written in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import numpy as np

from sdfgad.frontend.bodies.numeric import absolute_square


def norm(x, ord=None, axis=None, keepdims=False):
    values = np.asarray(x)
    if values.dtype.kind not in "fc":
        values = values.astype(np.float64)
    if axis is None and (ord is None or values.ndim == 1 and ord == 2):
        return np.sqrt(np.sum(absolute_square(values), axis=None, keepdims=keepdims))
    axes = tuple(range(values.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) == 1:
        return _vector_norm(values, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError("the norm of neither a vector nor a matrix")
    return _matrix_norm(values, ord, axes, keepdims)


def _vector_norm(x, ord, axis, keepdims):
    if ord is None or ord == 2:
        return np.sqrt(np.sum(absolute_square(x), axis=axis, keepdims=keepdims))
    if isinstance(ord, str):
        raise ValueError("a matrix norm of a vector")
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0).astype(np.abs(x).dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    return np.sum(np.abs(x) ** ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


def _matrix_norm(x, ord, axes, keepdims):
    if ord is None or ord == "fro":
        return np.sqrt(np.sum(absolute_square(x), axis=axes, keepdims=keepdims))
    if ord in (2, -2, "nuc"):
        return _norm_of_singular_values(x, ord, axes, keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("the order of a norm that matrices do not have")
    axes = (axes[0] % x.ndim, axes[1] % x.ndim)
    sums = np.sum(np.abs(x), axis=axes[0] if ord in (1, -1) else axes[1], keepdims=True)
    if ord > 0:
        return np.max(sums, axis=axes, keepdims=keepdims)
    return np.min(sums, axis=axes, keepdims=keepdims)


def _norm_of_singular_values(x, ord, axes, keepdims):
    values = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
    if ord == "nuc":
        found = np.sum(values, axis=-1)
    else:
        found = np.max(values, axis=-1) if ord == 2 else np.min(values, axis=-1)
    return np.expand_dims(found, axes) if keepdims else found


def cond(x, p=None):
    if p is None or p == 2 or p == -2:
        values = np.linalg.svd(x, compute_uv=False)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    return norm(x, p, (-2, -1)) * norm(np.linalg.inv(x), p, (-2, -1))


def svdvals(x):
    return np.linalg.svd(x, compute_uv=False)


def rows(parts, first, stop):
    return parts[first:stop]


def real_row(parts, k):
    return np.real(parts[k])


def adjoint(a):
    return np.conjugate(np.swapaxes(a, -1, -2))


def single(a):
    return a.astype(np.complex64)


def wide_qr(a):
    m = a.shape[0]
    q, r = np.linalg.qr(a[:, :m])
    return q, np.concatenate((r, np.conjugate(q.T) @ a[:, m:]), axis=1)


def complete_q(a, q):
    """Q with columns for all rows: those of the triangle, and behind them what the reflections of LAPACK give.

    A. S. Householder, Unitary triangularization of a nonsymmetric matrix, 1958. Where a column has nothing below its
    diagonal LAPACK leaves it alone: so does a reflection that is turned around, and that one has a derivative.
    """
    m, n = a.shape
    all_of_it, rest = np.eye(m, dtype=q.dtype), a.astype(q.dtype)
    for k in range(n):
        x = rest[k:, k].copy()
        below = np.sum(x[1:] * x[1:])
        size = np.sqrt(x[0] * x[0] + below)
        x[0] = np.where(size == 0, 1.0, x[0] + np.copysign(size, x[0]))
        share = 2.0 / np.sum(x * x)
        rest[k:] = rest[k:] - share * np.outer(x, x @ rest[k:])
        all_of_it[:, k:] = all_of_it[:, k:] - share * np.outer(all_of_it[:, k:] @ x, x)
        all_of_it[:, k] = np.where(below == 0, -1.0, 1.0) * all_of_it[:, k]
    return np.concatenate((q, all_of_it[:, n:]), axis=1)


def truncated_pinv(a, cut):
    """`np.linalg.pinv` with a tolerance that may drop singular values other than zero. Where it does, the slope at
    constant rank is that of another function."""
    values = np.linalg.svd(a, compute_uv=False)
    least, dropped = max(a.shape) * float(np.finfo(values.dtype).eps), values <= cut * values[0]
    found = np.linalg.pinv(a, least)
    if np.any(dropped & (values > least * values[0])):
        if np.iscomplexobj(a):
            # Complex singular vectors have no derivative; this is as good as the square of the tolerance lets it be.
            squares, v = np.linalg.eigh(np.conjugate(a.T) @ a)
            kept = squares > (cut * values[0]) ** 2
            found = (v * np.where(kept, 1.0 / np.where(kept, squares, 1.0), 0.0)) @ np.conjugate(a @ v).T
        else:
            u, _, v = np.linalg.svd(a, full_matrices=False)
            found = (v.T * np.where(dropped, 0.0, 1.0 / np.where(dropped, 1.0, values)).astype(values.dtype)) @ u.T
    return found


def matrix_rank(A, tol=None, *, rtol=None):
    values = np.linalg.svd(A, compute_uv=False)
    high = np.max(values, axis=-1, keepdims=True)
    share = max(A.shape[-2:]) * float(np.finfo(values.dtype).eps) if rtol is None else rtol
    return np.sum(values > (high * share if tol is None else tol), axis=-1)


def least_squares(a, b, cut):
    x = np.linalg.pinv(a, cut) @ b
    values = np.linalg.svd(a, compute_uv=False)
    rank = np.sum(values > cut * values[0])
    if a.shape[0] <= a.shape[1]:
        return x, np.zeros(0, values.dtype), rank, values
    missed = np.sum(absolute_square(b - a @ x), axis=0)
    # NumPy has no residuals to give where the rank is not full, and only then knows so.
    known = np.where(rank == a.shape[1], missed, np.nan)
    return x, np.atleast_1d(known), rank, values


def each(function, shapes, kinds, a, *options):
    """What a function makes of each matrix of a stack: arrays of these shapes and dtypes, one or several."""
    flat = np.reshape(a, (-1,) + a.shape[-2:])
    outs = [np.empty(flat.shape[:1] + shape, kind) for shape, kind in zip(shapes, kinds, strict=True)]
    for k in range(flat.shape[0]):
        found = function(flat[k], *options)
        for out, part in zip(outs, found if len(outs) > 1 else (found,), strict=True):
            out[k] = part
    return tuple([np.reshape(out, a.shape[:-2] + out.shape[1:]) for out in outs])


def hermitian(a):
    """The matrix of which LAPACK reads the lower half alone."""
    low = np.tril(a, -1)
    diagonal = np.where(np.eye(a.shape[-1]) != 0, np.real(a), 0)
    return low + adjoint(low) + diagonal


def solve_each(a, b):
    if b.ndim == 1:
        return solve_each(a, b[:, None])[..., 0]
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left = np.reshape(np.broadcast_to(a, lead + a.shape[-2:]), (-1,) + a.shape[-2:])
    right = np.reshape(np.broadcast_to(b, lead + b.shape[-2:]), (-1,) + b.shape[-2:])
    kind = np.result_type(a.dtype, b.dtype)
    out = np.empty(right.shape, kind if kind.kind in "fc" else np.float64)
    for k in range(right.shape[0]):
        out[k] = np.linalg.solve(left[k], right[k])
    return np.reshape(out, lead + b.shape[-2:])


def vector_norm(x, axis=None, keepdims=False, ord=2):
    if isinstance(axis, int):
        return norm(x, ord, axis, keepdims)
    axes = tuple(range(np.ndim(x))) if axis is None else axis
    moved = np.moveaxis(np.asarray(x), axes, tuple(range(len(axes))))
    found = norm(np.reshape(moved, (-1,) + moved.shape[len(axes):]), ord, 0)
    return np.expand_dims(found, axes) if keepdims else found


def matrix_norm(x, keepdims=False, ord="fro"):
    return norm(x, ord, (-2, -1), keepdims)


PARTS = (each, single, solve_each, svdvals, rows, real_row, adjoint, wide_qr, complete_q, truncated_pinv,
         least_squares)
"""What rules run here in place of a call."""


# few diagonals, of SciPy

def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    low, high = l_and_u
    right = np.asarray(b)
    rows = _rows(ab, low, high, right.dtype)
    out = np.zeros((rows.shape[0], 1) if right.ndim == 1 else right.shape, rows.dtype)
    out[...] = right[:, None] if right.ndim == 1 else right
    if rows.shape[0] != right.shape[0]:
        raise ValueError("as many right-hand sides as columns")
    _eliminate(rows, out, low)
    _substitute(rows, out)
    return out[:, 0] if right.ndim == 1 else out


def dgtsv(dl, d, du, b, overwrite_dl=False, overwrite_d=False, overwrite_du=False, overwrite_b=False):
    """The solution, and LAPACK's word that there is one; its factors are left out."""
    bands = np.zeros((3, len(d)))
    bands[0, 1:], bands[1], bands[2, :-1] = du, d, dl
    return None, None, None, solve_banded((1, 1), bands, np.asarray(b, np.float64)), 0


def _rows(ab, low, high, dtype):
    """Each row of the matrix from its first element on that is stored: in column i - low of row i, or in column 0."""
    bands = np.asarray(ab)
    if bands.shape[0] != low + high + 1:
        raise ValueError("as many rows as diagonals")
    n = bands.shape[1]
    kind = np.result_type(bands.dtype, dtype, np.float32)
    rows = np.zeros((n, low + high + 1), kind if kind.kind == "c" or dtype == kind else np.float64)
    for d in range(-high, low + 1):
        first, last = max(low, d), min(n, n + d)
        if first < last:
            rows[first:last, low - d] = bands[high + d, first - d:last - d]
    for i in range(min(low, n)):
        for j in range(min(n, i + high + 1)):
            rows[i, j] = bands[high + i - j, j]
    return rows


def _eliminate(rows, right, low):
    """Rows change places so that the largest candidate is the pivot; what is left of a row moves one place on."""
    n, width = rows.shape
    for k in range(n):
        for i in range(k + 1, min(k + low + 1, n)):
            swap = np.abs(rows[i, 0]) > np.abs(rows[k, 0])
            upper, lower = np.where(swap, rows[i], rows[k]), np.where(swap, rows[k], rows[i])
            rows[k] = upper
            rows[i] = lower
            upper, lower = np.where(swap, right[i], right[k]), np.where(swap, right[k], right[i])
            right[k] = upper
            right[i] = lower
        if rows[k, 0] == 0:
            raise np.linalg.LinAlgError("singular matrix")
        for i in range(k + 1, min(k + low + 1, n)):
            factor = rows[i, 0] / rows[k, 0]
            for j in range(1, width):
                rows[i, j - 1] = rows[i, j] - factor * rows[k, j]
            rows[i, width - 1] = 0
            right[i] -= factor * right[k]


def _substitute(rows, right):
    n, width = rows.shape
    for k in range(n - 1, -1, -1):
        for j in range(1, min(width, n - k)):
            right[k] -= rows[k, j] * right[k + j]
        right[k] /= rows[k, 0]


def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    bands, right = np.asarray(ab), np.asarray(b)
    if bands.dtype.kind == "c":
        raise ValueError("a complex matrix")
    m, n = bands.shape[0] - 1, bands.shape[1]
    factor = np.zeros((m + 1, n + m), np.result_type(bands.dtype, right.dtype, np.float64))
    for d in range(m + 1):
        factor[d, :n - d] = bands[d, :n - d] if lower else bands[m - d, d:]
    out = np.zeros((n + m, 1) if right.ndim == 1 else (n + m, right.shape[1]), factor.dtype)
    out[:n] = right[:, None] if right.ndim == 1 else right
    for j in range(n):
        if not factor[0, j] > 0:
            raise np.linalg.LinAlgError("leading minor not positive definite")
        root = np.sqrt(factor[0, j])
        for p in range(m + 1):
            factor[p, j] = factor[p, j] / root
        for p in range(1, m + 1):
            for q in range(p, m + 1):
                factor[q - p, j + p] -= factor[q, j] * factor[p, j]
        out[j] /= factor[0, j]
        for p in range(1, m + 1):
            out[j + p] -= factor[p, j] * out[j]
    for j in range(n - 1, -1, -1):
        for p in range(1, min(m + 1, n - j)):
            out[j] -= factor[p, j] * out[j + p]
        out[j] /= factor[0, j]
    return out[:n, 0] if right.ndim == 1 else out[:n]
