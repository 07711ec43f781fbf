"""Sparse matrices of SciPy from outside the program: constants whose products with arrays are understood."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.known import contents
from sdfgad.frontend.arrays.views import is_range
from sdfgad.frontend.bodies.packages import sparse as sparse_bodies
from sdfgad.frontend.bodies.packages.sparse_matrices import EntryMatrix
from sdfgad.frontend.elements.elementwise import as_array, constant_array, describe
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Applied, ArrayValue, Lazy, Opaque, Record, Value, ViewValue, contained
from sdfgad.frontend.static.outside import found_outside

_HELP = "the products A @ x, A.T @ x, x @ A and A.dot(x) of csr, csc and coo matrices with floats are understood"


@dataclass(frozen=True, eq=False)
class Turned(Opaque):
    """The transpose of a sparse matrix."""

    matrix: Any


@dataclass(frozen=True, eq=False)
class Negative(Opaque):
    """A sparse matrix, or the transpose of one, with the other sign."""

    matrix: Any


def is_sparse(value: Value) -> bool:
    """Whether this is one of SciPy's sparse matrices, or the transpose of one."""
    return isinstance(value, (Turned, Negative)) or not isinstance(value, ArrayValue) and (
        type(value).__module__.startswith("scipy.sparse") and hasattr(value, "format"))


def attribute(owner: Value, name: str) -> Value | None:
    """`A.T`, `A.dot` and `A.tocsr` of a sparse matrix; None for everything else."""
    if name == "T" and isinstance(owner, Negative):
        return Negative(attribute(owner.matrix, "T"))
    if name == "T":
        return owner.matrix if isinstance(owner, Turned) else Turned(owner)
    if name in ("tocsr", "tocsc", "tocoo") and not isinstance(owner, (Turned, Negative)):
        return Applied(converted, (owner, name), {})
    return Applied(product, (owner,), {}) if name == "dot" else None


def converted(ctx: Context, matrix: Any, name: str, copy: Value = False) -> Value:
    """A constant matrix in another format."""
    _watch(ctx, matrix)
    return getattr(matrix, name)()


def _watch(ctx: Context, matrix: Any) -> None:
    """Later calls look whether a matrix still is what it was."""
    for name in ("data", "indices", "indptr", "row", "col", "offsets"):
        if isinstance(part := getattr(matrix, name, None), np.ndarray):
            found_outside(ctx, matrix, name, part)
            ctx.surroundings.watched.append((part, part.copy()))
    found_outside(ctx, matrix, "shape", matrix.shape)


def as_entries(ctx: Context, value: Value) -> Value:
    """A constant sparse matrix as one that is made inside; anything else as it is."""
    if not is_sparse(value):
        return value
    if isinstance(value, Negative):
        return ctx.invoke(ctx, EntryMatrix.__neg__, [as_entries(ctx, value.matrix)], {})
    if isinstance(value, Turned):
        matrix = as_entries(ctx, value.matrix)
        matrix.items.update(rows=matrix.items["columns"], columns=matrix.items["rows"],
                            shape=matrix.items["shape"][::-1])
        return matrix
    if value.format not in ("csr", "csc", "coo", "dia", "bsr"):
        raise ctx.refuse(f"a sparse matrix of the format {value.format} in an expression", "take its tocsr()", "SG109")
    _watch(ctx, value)
    entries = value.tocoo()
    parts = [constant_array(ctx, np.array(getattr(entries, n)), n) for n in ("data", "row", "col")]
    matrix = type(value).__name__.endswith("matrix")
    return ctx.invoke(ctx, EntryMatrix, [*parts, tuple(map(int, value.shape)), matrix], {})


def given(ctx: Context, value: Value) -> Value:
    """What a sparse matrix is made of: constants as such, in tuples, too."""
    if isinstance(value, tuple):
        return tuple(given(ctx, v) for v in value)
    if isinstance(value, ArrayValue) and is_range(value) and (data := contents(ctx, value)) is not None:
        return constant_array(ctx, data)
    return as_entries(ctx, value)


def is_entries(value: Value) -> bool:
    """Whether this is a sparse matrix that is made inside."""
    return isinstance(value, Record) and value.form is EntryMatrix


def check_scaled(ctx: Context, matrix: Value) -> None:
    """`A *= c` changes the numbers of a matrix where they are: nothing else may show them."""
    numbers = matrix.items["numbers"] if isinstance(matrix, Record) else matrix
    array = now(numbers).view.array if isinstance(now(numbers), ViewValue) else None

    def shows(part: Value) -> bool:
        view = now(part)
        return part is matrix or part is numbers or isinstance(view, ViewValue) and view.view.array == array

    outside = any(look.value is matrix for look in ctx.surroundings.looks.values())
    if outside or sum(any(map(shows, contained(v))) for _, _, v in ctx.values()) > 1:
        raise ctx.refuse("a sparse matrix changed in place that is from outside, has several names, or shows an array",
                         "make another one: A = A * 2", "SG102")


def now(value: Value) -> Value:
    """What a value is by now: the array that it has been stored in."""
    return value.stored if isinstance(value, Lazy) and value.stored is not None else value


def product(ctx: Context, left: Value, right: Value) -> Value:
    """`left @ right`, where one of the two is a sparse matrix."""
    if isinstance(left, Negative) or isinstance(right, Negative):
        plain = [v.matrix if isinstance(v, Negative) else v for v in (left, right)]
        return ctx.invoke(ctx, np.negative, [product(ctx, *plain)], {})
    if is_sparse(left) and is_sparse(right):
        raise ctx.refuse("a product of two sparse matrices", "compute it before the call, or multiply with one vector "
                         "after the other: A @ (B @ x)", "SG109")
    if is_sparse(left):
        return _times(ctx, left, as_array(ctx, right))
    dense = as_array(ctx, right) if not is_sparse(right) else as_array(ctx, left)
    other = right.matrix if isinstance(right, Turned) else Turned(right)
    across = ctx.invoke(ctx, np.transpose, [dense], {}) if dense.ndim == 2 else dense
    found = _times(ctx, other, as_array(ctx, across))
    return ctx.invoke(ctx, np.transpose, [found], {}) if dense.ndim == 2 else found


def _times(ctx: Context, left: Value, x: ArrayValue) -> Value:
    matrix, turned = (left.matrix, True) if isinstance(left, Turned) else (left, False)
    shape = matrix.shape[::-1] if turned else matrix.shape
    known = matrix.format in ("csr", "csc", "coo") and len(shape) == 2 and matrix.data.dtype.kind in "fc"
    if matrix.format in ("dia", "bsr"):
        return ctx.invoke(ctx, EntryMatrix.__matmul__, [as_entries(ctx, left), x], {})
    if not known or x.dtype.kind not in "fc":
        raise ctx.refuse(f"a product of a sparse matrix, {matrix.format} of {matrix.dtype}, and {describe(x)}",
                         _HELP, "SG109")
    if x.ndim not in (1, 2) or x.shape[0].const != shape[1]:
        raise ctx.refuse(f"a product of a sparse matrix of shape {shape} and {describe(x)}", code="SG103")
    names, body = _parts(matrix.format, turned)
    parts = [found_outside(ctx, matrix, n, getattr(matrix, n)) for n in names]
    found_outside(ctx, matrix, "shape", matrix.shape)
    return ctx.invoke(ctx, body, [*parts, shape[0], x], {})


def _parts(form: str, turned: bool) -> tuple[tuple[str, ...], Any]:
    """The arrays that hold a matrix, and the body that multiplies with it, or with its transpose."""
    if form == "coo":
        return ("data", "col", "row") if turned else ("data", "row", "col"), sparse_bodies.by_entries
    return ("data", "indices", "indptr"), (
        sparse_bodies.by_columns if (form == "csc") != turned else sparse_bodies.by_rows)
