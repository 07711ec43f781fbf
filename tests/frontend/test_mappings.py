"""Functions that call a function again and again, those of `operator`, and other ways to take data apart."""
from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.frontend.programs import A34, A44, V4, V6, Z3, Case, collector

CASES: list[Case] = []
case = collector(CASES)
C234 = np.sin(np.arange(24.0)).reshape(2, 3, 4)
STARTS = np.array([0, 4, 2, 3])
MASK = np.array([True, False, True])


@case(A34, C234)
def along_an_axis(A, C):
    return [np.apply_along_axis(lambda r: r * r.sum(), 1, A), np.apply_along_axis(lambda r: r.max(), 0, A),
            np.apply_along_axis(np.cumsum, 1, C), np.apply_along_axis(lambda r: np.outer(r, r[:2]), 1, C),
            np.apply_along_axis(lambda r, k, s=1.0: r[k] * s, -1, C, 1, s=2.0)]


@case(V6, A34, Z3, STARTS)
def reductions(x, A, z, i):
    return [np.add.reduceat(x, [0, 2, 5]), np.add.reduceat(x, i), np.multiply.reduceat(A, [0, 2], axis=1),
            np.maximum.reduceat(A, [1, 0]), np.logaddexp.reduce(x), np.subtract.reduce(A, axis=1),
            np.hypot.reduce(A, axis=-1, keepdims=True), np.add.reduceat(z, [1, 0])]


@case(V4, V6, A44)
def operators(x, y, A):
    o = operator
    return [o.add(x, x), o.sub(x, 1.0), o.mul(x, 2), o.truediv(x, 3), o.floordiv(x, 0.3), o.mod(x, 0.7), o.pow(x, 2),
            o.matmul(A, A), o.neg(x), o.pos(x), o.abs(x), o.lt(x, 0.2), o.le(x, 0.2), o.gt(x, 0.2), o.ge(x, 0.2),
            o.eq(x, x), o.ne(x, x), o.getitem(y, slice(1, 3)), reduce(o.mul, [x, x + 1, x * 2]),
            reduce(lambda a, b: a + b * b, y), reduce(o.add, (x, x), 1.0), reduce(o.add, [], 1.0)]


@case(V6, A34, C234)
def parts(x, A, C):
    first, *rest = x[:4]
    *most, last = (A, x, C)
    one, *none = [x]
    return [first, len(rest), rest[2], most[0] * 2, last, one, len(none), A[np.s_[1:, ::2]], x[np.index_exp[2:4]],
            np.rollaxis(C, 2), np.rollaxis(C, 0, 3), np.rollaxis(C, -1, 1), np.resize(x, (2, 4)), np.resize(x, 3),
            np.compress([True, False, True], A, axis=0), np.compress([False, True], A[:2].T, axis=1),
            np.repeat(x, [1, 0, 2, 1, 1, 3]), np.repeat(A, (2, 0, 1), axis=0), np.trace(C, 1, 2, 1),
            np.ravel_multi_index(([0, 1], [2, 1]), (3, 4)), np.fix(x * 3), np.ldexp(x, 3),
            np.fromfunction(lambda i, j: i + 2 * j, (2, 3)), np.fromfunction(lambda i: i, (3,), dtype=int)]


@case(A34, V6)
def replaced(A, x):
    B = A.copy()
    np.putmask(B, B > 0.3, B ** 2)
    np.putmask(A, A < 0.3, 0.5)
    np.place(B, B > 0.9, [0.25])
    return [B, np.sort(np.partition(x, 3)[:3]), np.partition(x, 3)[3], x[np.argpartition(x, 2)[2]]]


@case(A34, MASK, np.array([[True, False, True], [False, False, True]]), C234)
def parts_of_selected_data(A, m, mm, C):
    kept = A[m]
    A = A * 2
    return [np.sum(kept[:, 1]), np.sum(A[m][:, [2, 0]], axis=0), np.mean(kept[:, ::-1] ** 2), np.sum(C[mm][:, 1:3]),
            np.sum(kept[:, 1] * kept[:, 2])]


@case(A34, A44, C234)
def contractions(A, B, C):
    return [np.einsum(A, [0, 1], B, [1, 2], [0, 2]), np.einsum(B, [0, 0]), np.einsum(C, [0, 1, 2], [2, 0]),
            np.einsum(A, [3, 1], B, [1, 2])]


@case(A44 @ A44.T, V4)
def systems_of_many_axes(A, b):
    return [np.linalg.tensorsolve(np.reshape(A + np.eye(4), (2, 2, 4)), np.reshape(b, (2, 2))),
            np.linalg.tensorinv(np.reshape(A + np.eye(4), (4, 2, 2)), ind=1)]


@case(V6, V6[::-1], Z3)
def periods_and_spectra(x, y, z):
    return [np.interp(x * 9, np.linspace(0, 2.5, 6), y, period=3.0), np.fft.hfft(z), np.fft.hfft(z, 5)]


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments, rtol=1e-10)


def two_arrays(A, m):
    return np.sum(A[m][[0, 1], [1, 2]])


def rows_chosen(A, m):
    return np.sum(A[m][[0, 1], 0])


@pytest.mark.parametrize("fn", [two_arrays, rows_chosen])
def test_parts_that_depend_on_the_mask_are_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(sdfgad.UnsupportedError, match="selected by a mask"):
        parse(fn, (A34, MASK), {})
