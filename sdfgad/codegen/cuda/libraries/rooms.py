"""What routines of libraries work in: part of the block of a call, so that it is in the prediction and under the limit.

How much a routine asks for is known where there is a device, and nowhere else. So each has a bound here, in elements of
its matrices: what LAPACK's routine of that name takes with blocks of 256 columns, and room for copies of the matrix; of
Fourier transforms whose length has small factors alone two copies, of others the eight that cuFFT's manual
has as the worst case. None of it was compared with what NVIDIA's libraries ask for. The program compares it in every
call: a routine that asks for more gets memory of its own where there is no limit, and is an error where there is one.
Products and triangular systems ask for nothing: they work in whatever cuBLAS is given, which its manual wants to be
16 KiB at least, and 4 MiB for full speed on most devices.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sdfgad.analysis.elements.access import size_bound
from sdfgad.codegen.cpp import Frame
from sdfgad.ir.index import ix
from sdfgad.ir.program import Lib

_FIXED, _COLUMNS = 1 << 10, 256
_FACTORS = (2, 3, 5, 7)
_LEAST_BYTES, _MOST_BYTES = 1 << 15, 1 << 22


def _panels(rows: int, columns: int) -> int:
    return _FIXED + min(_COLUMNS, columns) * (rows + columns)


def _factorisation(rows: int, columns: int) -> int:
    return rows * columns + _panels(rows, columns)


def _eigenvalues(n: int, _: int) -> int:
    return 4 * n * n + _panels(n, n)


def _singular(columns: int, rows: int) -> int:
    return 2 * rows * columns + 4 * columns * columns + _panels(rows, columns)


def _transform(count: int, length: int) -> int:
    left = length
    for factor in _FACTORS:
        while left % factor == 0 and left > 1:
            left //= factor
    return _FIXED + (2 if left == 1 else 8) * count * length


def _of_products(rows: int, columns: int) -> int:
    """A handful of copies of the result, for sums that are taken in parts; the least size in the smallest elements."""
    return max(_LEAST_BYTES // 4, min(_MOST_BYTES // 8, 4 * rows * columns))


ROOMS: Mapping[str, Callable[[int, int], int]] = MappingProxyType({
    "matmul": _of_products, "matmuls": _of_products, "trsolve": _of_products,
    "getrf": _factorisation, "potrf": _factorisation, "geqrf": _factorisation, "orgqr": _factorisation,
    "syevd": _eigenvalues, "gesvd": _singular, "fft": _transform})
"""Elements for a first result of these extents, by operation; vectors are one row."""


def room_of(frame: Frame, stmt: Lib) -> int:
    """Elements that a routine may work in, for its largest operand."""
    shape = (ix(1), *stmt.outs[0].shape)[-2:]
    return ROOMS[stmt.op](*(size_bound(n, frame.bounds) or 0 for n in shape))
