"""Sparse matrices of `scipy.sparse` that are made inside: numbers at known places, in any order, for the interpreter to
run."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from importlib import import_module

import numpy as np

from sdfgad.frontend.bodies.matrix import solve_banded
from sdfgad.frontend.bodies.packages.sparse import by_entries


class EntryMatrix:
    """What stands for such a matrix: its number k is in row `rows[k]` and column `columns[k]`. Those at one place add
    up.

    matrix: `*` is a product of matrices. lent: the format of one that shows the numbers of an array, as SciPy's then
    does, too; others copy them.
    """

    def __init__(self, data, row, col, shape, matrix, lent=""):
        self.numbers, self.rows, self.columns, self.shape, self.matrix, self.lent = data, row, col, shape, matrix, lent

    @property
    def T(self):
        turned = "csc" if self.lent == "csr" else "csr" if self.lent == "csc" else self.lent
        return EntryMatrix(self.numbers, self.columns, self.rows, (self.shape[1], self.shape[0]), self.matrix, turned)

    @property
    def nnz(self):
        raise ValueError("the number of entries of a sparse matrix made inside")

    @property
    def data(self):
        raise ValueError("the entries of a sparse matrix made inside: their order and number are not known")

    row = col = indices = indptr = offsets = data

    def like(self, data):
        return EntryMatrix(data, self.rows, self.columns, self.shape, self.matrix)

    def __matmul__(self, other):
        if isinstance(other, EntryMatrix):
            first, second, row, col = pairs_of(self.rows, self.columns, other.rows, other.columns)
            shape = (self.shape[0], other.shape[1])
            return EntryMatrix(self.numbers[first] * other.numbers[second], row, col, shape, self.matrix)
        if other.ndim > 2 or other.shape[0] != self.shape[1]:
            raise ValueError("a product of a sparse matrix and an array of another length")
        return by_entries(self.numbers, self.rows, self.columns, self.shape[0], other)

    def __rmatmul__(self, other):
        return self.T @ other if other.ndim == 1 else (self.T @ other.T).T

    def dot(self, other):
        return self @ other

    def __add__(self, other):
        if not isinstance(other, EntryMatrix) or other.shape != self.shape:
            raise ValueError("a sum of a sparse matrix and something else")
        return EntryMatrix(np.concatenate((self.numbers, other.numbers)), joined(self.rows, other.rows),
                       joined(self.columns, other.columns), self.shape, self.matrix)

    def __sub__(self, other):
        return self + -other

    def __neg__(self):
        return self.like(-self.numbers)

    def __mul__(self, other):
        if np.ndim(other) == 0:
            return self.like(self.numbers * other)
        if not self.matrix:
            raise ValueError("an element by element product of a sparse array")
        return self @ other

    def __rmul__(self, other):
        if np.ndim(other) > 0:
            raise ValueError("a product of an array and a sparse matrix with *: write x @ A")
        return self.like(self.numbers * other)

    def __truediv__(self, other):
        if np.ndim(other) > 0:
            raise ValueError("a sparse matrix divided by an array")
        return self.like(self.numbers / other)

    def toarray(self):
        found = np.zeros(self.shape, self.numbers.dtype)
        np.add.at(found, (self.rows, self.columns), self.numbers)
        return found

    def todense(self):
        if self.matrix:
            raise ValueError("a matrix of NumPy: call toarray")
        return self.toarray()

    def diagonal(self, k=0):
        return np.diagonal(self.toarray(), k)

    def transpose(self):
        return self.T

    def copy(self):
        return self.like(self.numbers.copy())

    def given(self, form, copy):
        return self.copy() if copy or self.lent not in ("", form) else self

    def tocsr(self, copy=False):
        return self.given("csr", copy)

    def tocsc(self, copy=False):
        return self.given("csc", copy)

    def tocoo(self, copy=False):
        return self.given("coo", copy)


def solve(a, b):
    """A banded system of the unknowns in an order that has few diagonals (Cuthill and McKee, 1969)."""
    order, place, low, high, row, col = bands_of(a.rows, a.columns, a.shape)
    bands = np.zeros((low + high + 1, a.shape[0]), a.numbers.dtype)
    np.add.at(bands, (row, col), a.numbers)
    return solve_banded((low, high), bands, b[order])[place]


def made(numbers, row, col, shape, matrix, dtype=None, lent=""):
    row, col = places_of(row, col)
    values = np.asarray(numbers)
    plain = dtype is None and values.dtype.kind not in "iub"
    if not plain:
        values = typed(values * 1.0 if dtype is None else values, dtype)
    elif lent == "":
        values = values.copy()
    return EntryMatrix(values, row, col, shape, matrix, lent if plain else "")


def typed(values, dtype):
    found = values if dtype is None else values.astype(dtype)
    return found * 1.0 if found.dtype.kind in "iub" else found


def coo(arg1, shape, matrix, form, dtype, copy):
    if isinstance(arg1, EntryMatrix):
        found = arg1.given(form, copy)
        numbers = typed(found.numbers, dtype)
        return EntryMatrix(numbers, found.rows, found.columns, found.shape, matrix, found.lent if dtype is None else "")
    if not isinstance(arg1, tuple):
        return of_dense(arg1, matrix, dtype)
    if len(arg1) == 2 and isinstance(arg1[1], (tuple, list)):
        row, col = places_of(*arg1[1])
        lent = "coo" if form == "coo" and not copy else ""
        return made(arg1[0], row, col, shape_of(row, col, shape), matrix, dtype, lent)
    raise ValueError("a sparse matrix made of something else")


def of_dense(array, matrix, dtype):
    if array.ndim != 2:
        raise ValueError("a sparse matrix of an array that is none")
    m, n = array.shape
    row, col = every_place(m, n)
    return made(np.ravel(array), row, col, (m, n), matrix, dtype)


def by_rows(arg1, shape, matrix, turned, dtype, copy):
    form = "csc" if turned else "csr"
    if not isinstance(arg1, tuple) or len(arg1) != 3:
        return coo(arg1, shape, matrix, form, dtype, copy)
    line, place = lines_of(arg1[2], arg1[1])
    row, col = (place, line) if turned else (line, place)
    size = len(arg1[2]) - 1
    least = (None, size) if turned else (size, None)
    return made(arg1[0], row, col, shape_of(row, col, shape or least), matrix, dtype, "" if copy else form)


def csr_matrix(arg1, shape=None, dtype=None, copy=False):
    return by_rows(arg1, shape, True, False, dtype, copy)


def csr_array(arg1, shape=None, dtype=None, copy=False):
    return by_rows(arg1, shape, False, False, dtype, copy)


def csc_matrix(arg1, shape=None, dtype=None, copy=False):
    return by_rows(arg1, shape, True, True, dtype, copy)


def csc_array(arg1, shape=None, dtype=None, copy=False):
    return by_rows(arg1, shape, False, True, dtype, copy)


def coo_matrix(arg1, shape=None, dtype=None, copy=False):
    return coo(arg1, shape, True, "coo", dtype, copy)


def coo_array(arg1, shape=None, dtype=None, copy=False):
    return coo(arg1, shape, False, "coo", dtype, copy)


def diags(diagonals, offsets=0, shape=None, format=None, dtype=None):
    return of_diagonals(diagonals, offsets, shape, True, dtype)


def diags_array(diagonals, /, *, offsets=0, shape=None, format=None, dtype=None):
    return of_diagonals(diagonals, offsets, shape, False, dtype)


def of_diagonals(diagonals, offsets, shape, matrix, dtype=None):
    if np.ndim(offsets) == 0:
        if np.ndim(diagonals[0]) != 0:
            raise ValueError("as many diagonals as offsets")
        diagonals = [np.asarray(diagonals)]
    offsets = whole_numbers(offsets)
    numbers = [np.atleast_1d(np.asarray(d) * 1.0) for d in diagonals]
    if len(numbers) != len(offsets):
        raise ValueError("as many diagonals as offsets")
    if shape is None:
        size = numbers[0].shape[0] + abs(offsets[0])
        shape = (size, size)
    parts = []
    for d, k in zip(numbers, offsets, strict=True):
        length = min(shape[0] + k, shape[1] - k, shape[0], shape[1])
        if d.shape[0] not in (1, length):
            raise ValueError("a diagonal of another length")
        parts.append(d * np.ones(length))
    row, col = diagonal_places(offsets, shape)
    return EntryMatrix(typed(np.concatenate(parts), dtype), row, col, shape, matrix)


def spdiags(data, diags, m=None, n=None, format=None):
    shape = m if n is None else (m, n)
    offsets = whole_numbers(diags)
    rows = np.atleast_2d(np.asarray(data) * 1.0)
    if rows.shape[0] != len(offsets) or shape is None:
        raise ValueError("as many rows as diagonals, and the size of the matrix")
    # Number j of a row is in column j.
    parts = [rows[r, max(k, 0):max(k, 0) + min(shape[0] + k, shape[1] - k, shape[0], shape[1])]
             for r, k in enumerate(offsets)]
    return of_diagonals(parts, offsets, shape, True)


def kron(A, B, format=None):
    if not isinstance(A, EntryMatrix) or not isinstance(B, EntryMatrix):
        raise ValueError("a product of Kronecker of other than sparse matrices")
    row, col = products_of(A.rows, A.columns, B.rows, B.columns, B.shape)
    shape = (A.shape[0] * B.shape[0], A.shape[1] * B.shape[1])
    return EntryMatrix(np.ravel(A.numbers[:, None] * B.numbers), row, col, shape, A.matrix)


def issparse(x):
    return isinstance(x, EntryMatrix) or hasattr(x, "tocsr")


NAMES = ("csr_matrix", "csr_array", "csc_matrix", "csc_array", "coo_matrix", "coo_array", "diags", "diags_array",
         "spdiags", "kron")


# places, which are known

def places_of(row, col):
    return np.asarray(row, np.int64), np.asarray(col, np.int64)


def shape_of(row, col, shape):
    given = shape or (None, None)
    return tuple(int(max(p, default=-1)) + 1 if n is None else int(n) for p, n in zip((row, col), given, strict=True))


def every_place(m, n):
    return tuple(np.ravel(p) for p in np.indices((m, n)))


def lines_of(starts, places):
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts)), np.asarray(places, np.int64)


def joined(a, b):
    return np.concatenate((a, b))


def whole_numbers(offsets):
    return tuple(int(k) for k in np.atleast_1d(offsets))


def diagonal_places(offsets, shape):
    m, n = shape
    found = [np.arange(min(m + k, n - k, m, n)) for k in offsets]
    return (np.concatenate([p + max(-k, 0) for p, k in zip(found, offsets, strict=True)]),
            np.concatenate([p + max(k, 0) for p, k in zip(found, offsets, strict=True)]))


def pairs_of(row, col, other_row, other_col):
    """Which numbers of two matrices meet in their product, and where."""
    order = np.argsort(other_row, kind="stable")
    first, last = (np.searchsorted(other_row[order], col, side) for side in ("left", "right"))
    left = np.repeat(np.arange(len(col)), last - first)
    right = np.array([order[k] for a, b in zip(first, last, strict=True) for k in range(a, b)], np.int64)
    return left, right, row[left], other_col[right]


def products_of(row, col, other_row, other_col, shape):
    return (np.ravel(row[:, None] * shape[0] + other_row), np.ravel(col[:, None] * shape[1] + other_col))


def bands_of(row, col, shape):
    """The order of the unknowns, their places in it, how many diagonals there are, and where each number is in them."""
    n = shape[0]
    if shape[1] != n:
        raise ValueError("a sparse matrix that is not square")
    pattern = import_module("scipy.sparse").csr_array((np.ones(len(row)), (row, col)), shape)
    order = np.asarray(import_module("scipy.sparse.csgraph").reverse_cuthill_mckee(pattern), np.int64)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    i, j = place[row], place[col]
    low, high = int(np.max(i - j, initial=0)), int(np.max(j - i, initial=0))
    return order, place, low, high, high + i - j, j


KNOWN = ("places_of", "shape_of", "every_place", "lines_of", "joined", "whole_numbers", "diagonal_places", "pairs_of",
         "products_of", "bands_of")
