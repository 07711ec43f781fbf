"""Elementwise functions and reductions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend.checking import check
from tests.frontend.programs import A34, V6, Case, collector

CASES: list[Case] = []
case = collector(CASES)


@case(np.abs(V6) + 0.1)
def ufuncs(x):
    return [np.sqrt(x), np.cbrt(x), np.exp(x), np.exp2(x), np.expm1(x), np.log(x), np.log2(x), np.log10(x), np.log1p(x),
            np.sin(x), np.cos(x), np.tan(x), np.arcsin(x / 3), np.arccos(x / 3), np.arctan(x), np.sinh(x), np.cosh(x),
            np.tanh(x), np.arcsinh(x), np.arccosh(x + 1), np.arctanh(x / 3), np.square(x), np.reciprocal(x),
            np.negative(x), np.positive(x), np.absolute(x), np.fabs(x), np.sign(x - 0.5), np.floor(x), np.ceil(x),
            np.trunc(x), np.rint(x), np.deg2rad(x), np.rad2deg(x), np.radians(x), np.sinc(x), np.round(x),
            np.heaviside(x - 0.5, 0.5), np.isnan(x), np.isfinite(x), np.isinf(x), np.nan_to_num(x)]


@case(V6, V6[::-1].copy())
def binary_ufuncs(x, y):
    return [np.add(x, y), np.subtract(x, y), np.multiply(x, y), np.divide(x, y), np.power(np.abs(x), y),
            np.maximum(x, y), np.minimum(x, y), np.fmax(x, y), np.fmin(x, y), np.arctan2(x, y), np.hypot(x, y),
            np.copysign(x, y), np.floor_divide(x, y), np.mod(x, y), np.remainder(x, y), np.logaddexp(x, y),
            np.less(x, y), np.greater_equal(x, y), np.equal(x, y), np.logical_and(x > 0, y > 0), x // 0.3, x % 0.3,
                2 ** x]


@case(V6, np.array([np.nan, 1.0, -np.inf, np.inf, 0.0, 2.0]))
def special_values(x, y):
    return [np.maximum(x, y), np.minimum(x, y), y.max(), np.max(x), np.isnan(y), np.isinf(y), y > 0, np.where(y > 0,
            y, x),
            np.fmax(x, y), np.clip(y, -1, 1), y == y, np.sqrt(y), y.sum()]


@case(V6)
def out_arguments(x):
    y = np.empty(6)
    np.multiply(x, 2, out=y)
    np.add(y, x, y)
    z = np.zeros_like(x)
    np.sqrt(np.abs(y), out=z)
    np.copyto(y, z)
    np.sum(np.ones((6, 3)), axis=1, out=z)
    z.fill(3.0)
    return y, z


@case(V6)
def where_and_clip(x):
    return (np.where(x > 0.5, x, 0), np.where(x > 0, np.log(np.abs(x)), -1.0), np.clip(x, 0, 0.8), x.clip(0.1, None),
            np.clip(x, None, 0.5), np.where(True, x, 2 * x), np.clip(x, -x, x + 1))


@case(A34)
def reductions(A):
    return [A.sum(), A.sum(axis=0), A.sum(1), np.sum(A, axis=-1, keepdims=True), A.mean(), A.mean(axis=0),
            np.mean(A, 1, keepdims=True), A.max(), A.max(axis=0), np.min(A, axis=1), A.min(), A.prod(), A.prod(axis=0),
            np.prod(A, axis=1, keepdims=True), A.std(), A.std(axis=0), A.var(axis=1), np.var(A, ddof=1), A.cumsum(),
            np.cumsum(A, axis=0), np.cumsum(A, axis=1), np.cumprod(A, axis=1), np.amax(A), np.ptp(A), np.average(A),
            A.argmax(), A.argmin(), np.argmax(A, axis=0), np.argmin(A, axis=1), np.count_nonzero(A > 0), (A > 0).any(),
            (A > 0).all(axis=0), np.any(A > 1, axis=1), A.trace(), np.sum(A, axis=(0, 1)), np.sum(A, initial=2.0),
            np.linalg.norm(A), np.linalg.norm(A, axis=0), np.linalg.norm(A[0]), np.average(A, axis=0,
                weights=A * A + 1)]


@case(np.arange(24.0).reshape(2, 3, 4))
def reductions_3d(A):
    return [A.sum(axis=(0, 2)), A.max(axis=(1, 2), keepdims=True), A.mean(axis=1), A.sum(axis=-1), np.std(A, axis=0)]


@case(V6)
def arguments_that_change_the_result(x):
    y = x * np.array([1.0, np.inf, -np.inf, np.nan, 2.0, -1.0])
    z = y * 1.0
    same = np.nan_to_num(z, copy=False, nan=5.0, posinf=7.0)
    return np.nan_to_num(y), np.nan_to_num(y, neginf=-3.0), z, same, np.histogram(x, bins=4, density=True)


@case(V6.copy())
def arrays_that_are_no_copies(x):
    y = np.array(x, copy=False)
    y[0] = 7.0
    z = np.array(x, copy=None, dtype=np.float64)
    z[1] = 8.0
    w = np.array(x)
    w[2] = 9.0
    return x * 1.0, w


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)
