"""Determinants, eigenvalues, singular values, QR and what is made of them: library operations.

The result of a decomposition is one matrix that holds all parts, one above the other.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.bodies import matrix as matrix_bodies
from sdfgad.frontend.elements.elementwise import apply, as_array, describe, promote
from sdfgad.frontend.functions.shaping import permuted
from sdfgad.frontend.libraries.matrix_operations import factorised, library, square, stored, system_dtype
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Opaque, Value, ViewValue
from sdfgad.ir.index import Ix, ix

_COMPLEX = np.dtype(np.complex128)


class Eigen(NamedTuple):
    """What `np.linalg.eigh` and `np.linalg.eig` return."""

    eigenvalues: Any
    eigenvectors: Any


class SignAndLogarithm(NamedTuple):
    """What `np.linalg.slogdet` returns."""

    sign: Any
    logabsdet: Any


class AllVectors(Opaque):
    """All singular vectors on the longer side of a matrix: those beyond its values may be any."""

    described = "all singular vectors of a matrix that is not square (full_matrices=False makes others)"


class Singular(NamedTuple):
    """What `np.linalg.svd` returns."""

    U: Any
    S: Any
    Vh: Any


class Triangular(NamedTuple):
    """What `np.linalg.qr` returns."""

    Q: Any
    R: Any


class SquareFactor(Opaque):
    """Q in the place of what `mode="complete"` gives of a complex matrix."""

    described = "the square factor Q of a complex matrix with more rows than columns"


def of_each(ctx: Context, function: Any, stack: ArrayValue, shapes: Sequence[Sequence[Ix | int]],
            kinds: Sequence[np.dtype] = (), *options: Value) -> Sequence[Value]:
    """What `function(matrix, *options)` gives for each matrix of a stack. shapes, kinds: those of its results for one
    matrix, by default of the kind that NumPy computes in."""
    sizes = [tuple(n if isinstance(n, int) else n.const for n in shape) for shape in shapes]
    if any(n is None for shape in sizes for n in shape):
        raise ctx.refuse(f"a function of each matrix in {describe(stack)}", code="SG103")
    kinds = tuple(kinds) or (system_dtype(stack.dtype),) * len(sizes)
    found: Sequence[Value] = ctx.invoke(ctx, matrix_bodies.each, [function, tuple(sizes), kinds, stack, *options], {})
    return found


def _of_square(function: Any, op: str, what: str) -> Callable[[Context, Value], Value]:
    """The rule of a function that makes another square matrix of one."""
    def rule(ctx: Context, a: Value) -> Value:
        matrix = as_array(ctx, a)
        if matrix.ndim > 2:
            return of_each(ctx, function, matrix, [matrix.shape[-2:]])[0]
        square(ctx, matrix, what)
        kind = system_dtype(matrix.dtype)
        return library(ctx, op, matrix.shape, [stored(ctx, matrix, kind)], kind)

    return rule


inverse = _of_square(np.linalg.inv, "inv", "the inverse")
_lower_factor = _of_square(np.linalg.cholesky, "cholesky", "the Cholesky factor")


def cholesky(ctx: Context, a: Value, *, upper: Value = False) -> Value:
    """`np.linalg.cholesky`, which reads the half that it gives."""
    if not upper:
        return _lower_factor(ctx, a)
    factor = _lower_factor(ctx, ctx.invoke(ctx, matrix_bodies.adjoint, [as_array(ctx, a)], {}))
    return ctx.invoke(ctx, matrix_bodies.adjoint, [factor], {})


def det(ctx: Context, a: Value) -> Value:
    """`np.linalg.det`: the product of the diagonal of the factors."""
    matrix = as_array(ctx, a)
    if matrix.ndim > 2:
        return of_each(ctx, np.linalg.det, matrix, [()])[0]
    square(ctx, matrix, "the determinant")
    kind = system_dtype(matrix.dtype)
    factors = factorised(ctx, stored(ctx, matrix, kind))
    return subscript(ctx, library(ctx, "det", (ix(1),), factors, kind), 0)


def slogdet(ctx: Context, a: Value) -> Value:
    """`np.linalg.slogdet`: the sign, which turns only where the matrix is complex, and the logarithm of the absolute
    value."""
    matrix = as_array(ctx, a)
    if matrix.ndim > 2:
        kind = system_dtype(matrix.dtype)
        return SignAndLogarithm(*of_each(ctx, np.linalg.slogdet, matrix, [(), ()], [kind, _real(kind)]))
    square(ctx, matrix, "the determinant")
    kind = system_dtype(matrix.dtype)
    factors = factorised(ctx, stored(ctx, matrix, kind))
    sign, size = (subscript(ctx, library(ctx, op, (ix(1),), factors, kind), 0) for op in ("detsign", "logdet"))
    return SignAndLogarithm(sign, ctx.invoke(ctx, np.real, [size], {}))


def _real(kind: np.dtype) -> np.dtype:
    return np.empty(0, kind).real.dtype


def _extents(ctx: Context, matrix: ArrayValue, what: str) -> tuple[int, int]:
    """Rows and columns of a matrix, or of each in a stack."""
    sizes = [n.const for n in matrix.shape[-2:]]
    if len(sizes) != 2 or any(not n for n in sizes):
        raise ctx.refuse(f"{what} of {describe(matrix)}", "matrices that are not empty", "SG103")
    return sizes[0] or 0, sizes[1] or 0


def _parts(ctx: Context, op: str, matrix: ArrayValue, rows: int, **attrs: object) -> ViewValue:
    """The result of a decomposition, its parts one above the other."""
    kind = system_dtype(matrix.dtype)
    columns = min(_extents(ctx, matrix, op))
    return library(ctx, op, (rows, columns), [stored(ctx, matrix, kind)], kind, **attrs)


def _rows(ctx: Context, parts: ViewValue, first: int, stop: int) -> Value:
    return ctx.invoke(ctx, matrix_bodies.rows, [parts, first, stop], {})


def _values(ctx: Context, parts: ViewValue, k: int) -> Value:
    return ctx.invoke(ctx, matrix_bodies.real_row, [parts, k], {})


def _hermitian(ctx: Context, a: Value, uplo: Value, vectors: bool) -> ViewValue:
    """The decomposition of a matrix of which one triangle is read."""
    matrix = as_array(ctx, a)
    square(ctx, matrix, "the eigenvalues")
    if uplo not in ("L", "U", "l", "u"):
        raise ctx.refuse(f"UPLO={uplo!r}", "'L' or 'U'")
    if uplo in ("U", "u"):
        matrix = as_array(ctx, apply(ctx, np.conjugate, permuted(ctx, matrix, (1, 0))))
    return _parts(ctx, "eigh", matrix, _extents(ctx, matrix, "the eigenvalues")[0] + 1, vectors=vectors)


def eigh(ctx: Context, a: Value, UPLO: Value = "L") -> Value:
    """`np.linalg.eigh`."""
    stack = as_array(ctx, a)
    if stack.ndim > 2:
        shape, kind = stack.shape[-2:], system_dtype(stack.dtype)
        return Eigen(*of_each(ctx, np.linalg.eigh, stack, [shape[:1], shape], [_real(kind), kind], UPLO))
    parts = _hermitian(ctx, a, UPLO, True)
    n = parts.shape[1].const or 0
    return Eigen(_values(ctx, parts, n), _rows(ctx, parts, 0, n))


def eigvalsh(ctx: Context, a: Value, UPLO: Value = "L") -> Value:
    """`np.linalg.eigvalsh`."""
    stack = as_array(ctx, a)
    if stack.ndim > 2:
        kinds = [_real(system_dtype(stack.dtype))]
        return of_each(ctx, np.linalg.eigvalsh, stack, [stack.shape[-1:]], kinds, UPLO)[0]
    parts = _hermitian(ctx, a, UPLO, False)
    return _values(ctx, parts, parts.shape[1].const or 0)


def _general(ctx: Context, a: Value, vectors: bool) -> tuple[Value, Value]:
    """Eigenvalues and vectors of any square matrix, computed in double precision as NumPy does. Whether it is real
    decides their order."""
    matrix = as_array(ctx, a)
    kind = np.result_type(system_dtype(matrix.dtype), np.complex64)
    if matrix.ndim > 2:
        shape = matrix.shape[-2:]
        values, rest = of_each(ctx, np.linalg.eig, matrix, [shape[:1], shape], [kind, kind]) if vectors else (
            of_each(ctx, np.linalg.eigvals, matrix, [shape[:1]], [kind])[0], None)
        return values, rest
    square(ctx, matrix, "the eigenvalues")
    n, _ = _extents(ctx, matrix, "the eigenvalues")
    parts: Value = library(ctx, "eig", (2 * n + 1, n), [stored(ctx, matrix, _COMPLEX)], _COMPLEX, vectors=vectors,
                           real=matrix.dtype.kind != "c")
    if kind != _COMPLEX:
        parts = ctx.invoke(ctx, matrix_bodies.single, [parts], {})
    return subscript(ctx, parts, 2 * n), ctx.invoke(ctx, matrix_bodies.rows, [parts, 0, n], {})


def eig(ctx: Context, a: Value) -> Value:
    """`np.linalg.eig`, always with complex results: whether they are real would depend on the data."""
    return Eigen(*_general(ctx, a, True))


def eigvals(ctx: Context, a: Value) -> Value:
    """`np.linalg.eigvals`, always complex."""
    return _general(ctx, a, False)[0]


def svd(ctx: Context, a: Value, full_matrices: Value = True, compute_uv: Value = True,
        hermitian: Value = False) -> Value:
    """`np.linalg.svd`: with as many singular vectors as values, or the values alone."""
    matrix = as_array(ctx, a)
    if hermitian:
        if compute_uv:
            raise ctx.refuse("singular vectors with hermitian=True", "use np.linalg.eigh", "SG101")
        matrix = ctx.invoke(ctx, matrix_bodies.hermitian, [matrix], {})
    m, n = _extents(ctx, matrix, "the singular values")
    if compute_uv and full_matrices and m != n:
        left, values, right = svd(ctx, matrix, False)
        return Singular(left if m < n else AllVectors(), values, right if m > n else AllVectors())
    if matrix.ndim > 2:
        kind, k = system_dtype(matrix.dtype), min(m, n)
        if not compute_uv:
            return of_each(ctx, matrix_bodies.svdvals, matrix, [(k,)], [_real(kind)])[0]
        kinds = [kind, _real(kind), kind]
        return Singular(*of_each(ctx, np.linalg.svd, matrix, [(m, k), (k,), (k, n)], kinds, False))
    parts = _parts(ctx, "svd", matrix, m + n + 1, vectors=bool(compute_uv))
    values = _values(ctx, parts, m + n)
    if not compute_uv:
        return values
    right = ctx.invoke(ctx, matrix_bodies.adjoint, [_rows(ctx, parts, m, m + n)], {})
    return Singular(_rows(ctx, parts, 0, m), values, right)


def qr(ctx: Context, a: Value, mode: Value = "reduced") -> Value:
    """`np.linalg.qr`: of a matrix with more columns than rows, that of its first columns turns the others."""
    matrix = as_array(ctx, a)
    m, n = _extents(ctx, matrix, "the QR factors")
    tall = mode == "complete" and m > n
    if mode not in ("reduced", "r", "complete") or tall and matrix.ndim > 2:
        raise ctx.refuse(f"np.linalg.qr with mode={mode!r}", "use 'reduced' or 'r'")
    if matrix.ndim > 2:
        k = min(m, n)
        factors = Triangular(*of_each(ctx, np.linalg.qr, matrix, [(m, k), (k, n)]))
    elif m < n:
        factors = Triangular(*ctx.invoke(ctx, matrix_bodies.wide_qr, [matrix], {}))
    else:
        parts = _parts(ctx, "qr", matrix, m + n)
        factors = Triangular(_rows(ctx, parts, 0, m), _rows(ctx, parts, m, m + n))
    if tall:
        kind = as_array(ctx, factors.R).dtype
        below = ctx.invoke(ctx, np.zeros, [(m - n, n)], {"dtype": kind})
        whole = SquareFactor() if kind.kind == "c" else ctx.invoke(
            ctx, matrix_bodies.complete_q, [matrix, factors.Q], {})
        return Triangular(whole, ctx.invoke(ctx, np.concatenate, [(factors.R, below)], {}))
    return factors.R if mode == "r" else factors


def pinv(ctx: Context, a: Value, rcond: Value = None, hermitian: Value = False, *, rtol: Value = 0) -> Value:
    """`np.linalg.pinv`."""
    matrix = as_array(ctx, a)
    m, n = _extents(ctx, matrix, "the pseudo-inverse")
    kind = system_dtype(matrix.dtype)
    if rtol is None:
        rcond = max(m, n) * float(np.finfo(kind).eps)
    cut = rtol or (1e-15 if rcond is None else rcond)
    if not isinstance(cut, (int, float)):
        raise ctx.refuse("a tolerance that is not a number", "write the number into the call")
    if hermitian:
        matrix = ctx.invoke(ctx, matrix_bodies.hermitian, [matrix], {})
    if matrix.ndim > 2:
        return of_each(ctx, np.linalg.pinv, matrix, [(n, m)], (), cut)[0]
    if cut > max(m, n) * float(np.finfo(kind).eps):
        return ctx.invoke(ctx, matrix_bodies.truncated_pinv, [matrix, cut], {})
    return library(ctx, "pinv", (n, m), [stored(ctx, matrix, kind)], kind, rcond=float(cut))


def lstsq(ctx: Context, a: Value, b: Value, rcond: Value = None) -> Value:
    """`np.linalg.lstsq`: the shortest solution, by the pseudo-inverse."""
    matrix, right = as_array(ctx, a), as_array(ctx, b)
    eps = float(np.finfo(system_dtype(promote(ctx, (matrix, right)))).eps)
    if matrix.ndim > 2:
        raise ctx.refuse("least squares with a stack of matrices", "solve one at a time in a loop", "SG103")
    m, n = _extents(ctx, matrix, "a least-squares problem")
    cut = max(m, n) * eps if rcond is None else eps if rcond == -1 else rcond
    return tuple(ctx.invoke(ctx, matrix_bodies.least_squares, [matrix, right, cut], {}))


FUNCTIONS: Mapping[Any, Callable[..., Value]] = MappingProxyType({
    np.linalg.det: det, np.linalg.slogdet: slogdet, np.linalg.eigh: eigh, np.linalg.eigvalsh: eigvalsh,
    np.linalg.eig: eig, np.linalg.eigvals: eigvals,
    np.linalg.inv: inverse, np.linalg.cholesky: cholesky, np.linalg.svd: svd, np.linalg.qr: qr,
    np.linalg.pinv: pinv, np.linalg.lstsq: lstsq})
"""NumPy's decompositions."""
