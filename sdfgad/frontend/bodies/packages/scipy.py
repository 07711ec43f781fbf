"""Functions of SciPy of matrices, integrals and minima, in plain NumPy for the interpreter to run for a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,call-arg,arg-type"
from __future__ import annotations

import numpy as np

from sdfgad.frontend.bodies.matrix import solve_banded


def solve_triangular(factor, b, trans=0, lower=False):
    """`linalg.solve_triangular`, which the table has under this name."""
    raise NotImplementedError


def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None,
          transposed=False):
    if transposed and a.dtype.kind == "c":
        raise ValueError("the transpose of a complex matrix")
    if assume_a in ("upper triangular", "lower triangular"):
        return solve_triangular(a, b, trans=1 if transposed else 0, lower=assume_a == "lower triangular")
    if assume_a == "diagonal":
        diagonal = np.diag(a)
        return b / (diagonal if b.ndim == 1 else diagonal[:, None])
    if assume_a == "tridiagonal" and a.shape[0] > 1:
        return solve_banded((1, 1), diagonals(a.T if transposed else a), b)
    if assume_a in (None, "gen", "general", "banded", "tridiagonal"):
        matrix = a
    elif assume_a in ("sym", "symmetric"):
        matrix = from_one_half(a, lower, False)
    elif assume_a in ("pos", "positive definite", "her", "hermitian"):
        matrix = from_one_half(a, lower, True)
    else:
        raise ValueError("this assumption about the matrix")
    return np.linalg.solve(matrix.T if transposed else matrix, b)


def diagonals(a):
    """The three diagonals of a matrix as rows, as `solve_banded` takes them."""
    n = a.shape[0]
    out = np.zeros((3, n), a.dtype)
    out[0, 1:], out[1], out[2, :n - 1] = np.diag(a, 1), np.diag(a), np.diag(a, -1)
    return out


def from_one_half(a, lower, conjugate):
    """The matrix of which only one half is looked at: symmetric, or Hermitian."""
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    if a.dtype.kind == "c" and conjugate:
        return half + np.conj(half.T) + np.diag(np.real(np.diag(a)))
    return half + half.T + np.diag(np.diag(a))


def det(a, overwrite_a=False, check_finite=True):
    return np.linalg.det(a).astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    if a.dtype.kind == "c":
        raise ValueError("the factor of a complex matrix")
    return np.linalg.cholesky(a) if lower else np.linalg.cholesky(a.T).T


def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    # LAPACK leaves in the other half what was there.
    return cholesky(a, lower) + (np.triu(a, 1) if lower else np.tril(a, -1)), lower


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    factor, lower = c_and_lower
    if lower:
        return solve_triangular(factor, solve_triangular(factor, b, lower=True), trans=1, lower=True)
    return solve_triangular(factor, solve_triangular(factor, b, trans=1))


def eigh(a, b=None, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, check_finite=True,
         subset_by_index=None):
    if subset_by_index is not None:
        found = eigh(a, b, lower)
        first, last = subset_by_index
        return found[0][first:last + 1] if eigvals_only else (found[0][first:last + 1], found[1][:, first:last + 1])
    if b is not None:
        factor, reduced = of_pair(a, b, lower)
        found = np.linalg.eigh(reduced)
        return found[0] if eigvals_only else (found[0], solve_triangular(factor, found[1], trans=1, lower=True))
    found = np.linalg.eigh(a, "L" if lower else "U")
    return found[0] if eigvals_only else (found[0], found[1])


def of_pair(a, b, lower):
    """With b = L L^T: L, and L^-1 a L^-T, which has the same eigenvalues."""
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        raise ValueError("a second matrix beside complex numbers")
    factor = np.linalg.cholesky(from_one_half(b, lower, False))
    half = solve_triangular(factor, from_one_half(a, lower, False), lower=True)
    return factor, solve_triangular(factor, half.T, lower=True)


def eigvalsh(a, b=None, lower=True, overwrite_a=False, overwrite_b=False, check_finite=True, subset_by_index=None):
    if b is not None:
        a, lower = of_pair(a, b, lower)[1], True
    found = np.linalg.eigvalsh(a, "L" if lower else "U")
    return found if subset_by_index is None else found[subset_by_index[0]:subset_by_index[1] + 1]


def eig(a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True,
        homogeneous_eigvals=False):
    if b is not None or left or homogeneous_eigvals:
        raise ValueError("a second matrix, left vectors or pairs for eigenvalues")
    found = np.linalg.eig(a)
    return (found[0], found[1]) if right else found[0]


def eigvals(a, b=None, overwrite_a=False, check_finite=True, homogeneous_eigvals=False):
    if b is not None or homogeneous_eigvals:
        raise ValueError("a second matrix or pairs for eigenvalues")
    return np.linalg.eigvals(a)


def solve_sylvester(a, b, q):
    """One system of the size of the solution: a x + x b = q."""
    m, n = a.shape[0], b.shape[0]
    system = np.kron(a, np.eye(n)) + np.kron(np.eye(m), b.T)
    return np.reshape(np.linalg.solve(system, np.ravel(q)), (m, n)).astype(np.result_type(a, b, q, np.float32))


def solve_continuous_lyapunov(a, q):
    return solve_sylvester(a, np.conj(a.T), q)


def solve_discrete_lyapunov(a, q, method=None):
    n = a.shape[0]
    system = np.eye(n * n) - np.kron(a, np.conj(a))
    return np.reshape(np.linalg.solve(system, np.ravel(q)), (n, n))


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
    found = np.linalg.norm(a, ord, axis, keepdims)
    # Where SciPy asks BLAS or LAPACK, it gives a number of Python's.
    plain = axis is None and not keepdims and ord in ((None, 2) if a.ndim == 1 else (1, np.inf) if a.ndim == 2 else ())
    return found.astype(np.float64) if plain else found


def expm(A):
    if A.ndim != 2 or A.dtype.kind not in "fc":
        raise ValueError("the exponential of anything but one matrix of numbers")
    weights = (64764752532480000., 32382376266240000., 7771770303897600., 1187353796428800., 129060195264000.,
               10559470521600., 670442572800., 33522128640., 1323241920., 40840800., 960960., 16380., 182., 1.)
    one = np.eye(A.shape[0])
    size = np.max(np.sum(np.abs(A), axis=0))
    halvings = 0
    while size > 4.25 and halvings < 1100:  # of what is infinite there is no half
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
    return found.astype(A.dtype)


def cosm(A):
    return np.real(expm(1j * A)) if A.dtype.kind == "f" else 0.5 * (expm(1j * A) + expm(-1j * A))


def sinm(A):
    return np.imag(expm(1j * A)) if A.dtype.kind == "f" else -0.5j * (expm(1j * A) - expm(-1j * A))


def expm_frechet(A, E, method=None, compute_expm=True, check_finite=True):
    # Van Loan, IEEE Transactions on Automatic Control 23, 1978.
    n = A.shape[0]
    both = expm(np.block([[A, E], [np.zeros_like(A), A]]).astype(np.result_type(A, E, np.float64)))
    return (both[:n, :n], both[:n, n:]) if compute_expm else both[:n, n:]


def pinv(a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    if return_rank or atol is not None:
        raise ValueError("the rank beside the inverse, or an absolute tolerance")
    kind = a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)
    return np.linalg.pinv(a, max(a.shape) * float(np.finfo(kind).eps) if rtol is None else rtol)


def lstsq(a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
    kind = np.result_type(a.dtype, b.dtype, np.float32)
    x, missed, rank, values = np.linalg.lstsq(a, b, float(np.finfo(kind).eps) if cond is None else cond)
    return x, (missed[0] if b.ndim == 1 and missed.shape[0] else missed), rank, values


def polar(a, side="right"):
    if side not in ("right", "left"):
        raise ValueError("this side")
    left, values, right = np.linalg.svd(a, full_matrices=False)
    if side == "right":
        return left @ right, np.conj(right.T) @ (values[:, None] * right)
    return left @ right, (left * values) @ np.conj(left.T)


def eigh_tridiagonal(d, e, eigvals_only=False, select="a", select_range=None, check_finite=True, tol=0.0,
                     lapack_driver="auto"):
    if select != "a":
        raise ValueError("some of the eigenvalues")
    found = np.linalg.eigh(np.diag(d) + np.diag(e, -1))
    return found[0] if eigvals_only else (found[0], found[1])


def solve_toeplitz(c_or_cr, b, check_finite=True):
    matrix = toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr)
    return np.linalg.solve(matrix, b).astype(np.result_type(matrix, b, np.float64))


def solve_circulant(c, b, singular="raise", tol=None, caxis=-1, baxis=0, outaxis=0):
    if singular != "raise" or tol is not None or c.ndim != 1 or b.ndim != 1:
        raise ValueError("more than one system, or a singular one")
    found = np.fft.ifft(np.fft.fft(b) / np.fft.fft(c))
    return found if c.dtype.kind == "c" or b.dtype.kind == "c" else np.real(found)


def khatri_rao(a, b):
    return np.reshape(a[:, None, :] * b[None, :, :], (a.shape[0] * b.shape[0], a.shape[1]))


def hankel(c, r=None):
    column = np.ravel(c)
    row = np.zeros_like(column) if r is None else np.ravel(r)
    values = np.concatenate((column, row[1:]))
    return values[np.arange(column.shape[0])[:, None] + np.arange(row.shape[0])[None, :]]


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


def simpson(y, x=None, *, dx=1.0, axis=-1):
    """Of an even number of samples the last interval is integrated with the parabola through the last three.

    Cartwright, "Simpson's rule cumulative integration with MS Excel and irregularly-spaced data", 2017.
    """
    rows = np.moveaxis(np.asarray(y), axis, 0)
    n = rows.shape[0]
    if n < 2:
        raise ValueError("fewer than two samples")
    if x is None:
        kind = np.float32 if rows.dtype == np.float32 and (n % 2 or n == 2) else np.float64
        widths = np.full((n - 1,) + (1,) * (rows.ndim - 1), dx, kind)
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
    return table[halvings].astype(np.result_type(rows, np.float64))


def cumulative_simpson(y, *, x=None, dx=1.0, axis=-1, initial=None):
    """Cartwright, as above: each interval by the parabola through its ends and the sample behind, or before."""
    rows = np.moveaxis(np.asarray(y) * 1.0, axis, 0)
    n = rows.shape[0]
    if x is not None and np.asarray(x).ndim != 1 or np.asarray(dx).ndim:
        raise ValueError("places of more than one dimension")
    widths = np.full(n - 1, dx) if x is None else np.diff(np.asarray(x))
    widths = np.reshape(widths, (-1,) + (1,) * (rows.ndim - 1))
    if n < 3:
        parts = widths * (rows[1:] + rows[:-1]) / 2.0
    else:
        parts = np.zeros((n - 1,) + rows.shape[1:])
        forward = _of_first_interval(rows, widths)
        backward = _of_first_interval(rows[::-1], widths[::-1])[::-1]
        parts[0:n - 2:2] = forward[::2]
        parts[1::2] = backward[::2]
        parts[-1] = backward[-1]
    found = np.cumsum(parts, axis=0)
    if initial is not None:
        first = np.zeros((1,) + rows.shape[1:]) + initial
        found = np.concatenate((first, found + initial), axis=0)
    return np.moveaxis(found, 0, axis)


def _of_first_interval(rows, widths):
    """The integrals over the first of each two intervals."""
    h, k = widths[:-1], widths[1:]
    both = h + k
    behind = h * h / (both * k)
    return h / 6.0 * ((3.0 - h / both) * rows[:-2] + (3.0 + behind + h / both) * rows[1:-1] - behind * rows[2:])


def rosen(x):
    x = np.asarray(x)
    behind, ahead = x[:-1], x[1:]
    return np.sum(100.0 * (ahead - behind**2.0) ** 2.0 + (1.0 - behind) ** 2.0, axis=0, dtype=x.dtype)


def fixed_quad(func, a, b, args=(), n=5):
    places, weights = np.polynomial.legendre.leggauss(n)
    values = func((b - a) * (places + 1.0) / 2.0 + a, *args)
    return (b - a) / 2.0 * np.sum(weights * values, axis=-1), None
