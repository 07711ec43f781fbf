"""Functions of samples, lines and axes in the forms in which NumPy's rules differ from the plain ones."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.frontend.programs import A34, A44, F6, V4, V6, Z3, Case, collector
from tests.support.interpreted import interpreted

CASES: list[Case] = []
case = collector(CASES)
UNEVEN = np.array([0.0, 0.3, 0.4, 1.0])
NOT_FINITE = np.array([0.5, np.nan, np.inf, -np.inf])


@case(A44, A34)
def weights_along_one_axis(A, B):
    v = A[0] + 2.0
    return [np.average(A, axis=0, weights=v), np.average(A, axis=1, weights=v), np.average(B, axis=0, weights=v[:3]),
            np.average(A, weights=A + 2.0), np.average(A, axis=0, weights=v, returned=True),
            np.average(A, axis=1, keepdims=True)]


@case(A44, UNEVEN, V4, F6)
def slopes(A, x, v, f):
    return [np.gradient(A), np.gradient(A, 0.5), np.gradient(A, x, 0.1), np.gradient(v, x), np.gradient(v, x,
            edge_order=2), np.gradient(A, 0.2, axis=1, edge_order=2), np.gradient(A, axis=(0, 1)), np.gradient(f),
            np.gradient(v * 1j)]


@case(A34, A34[None] + np.arange(2.0)[:, None, None], V4, Z3)
def norms(A, C, v, z):
    return [np.linalg.norm(A, 1), np.linalg.norm(A, -1), np.linalg.norm(A, np.inf), np.linalg.norm(A, -np.inf),
            np.linalg.norm(C, 1, axis=(1, 2)), np.linalg.norm(C, np.inf, axis=(2, 0)), np.linalg.norm(C, axis=(0, 2)),
            np.linalg.norm(A, 1, axis=(0, 1), keepdims=True), np.linalg.norm(v, 0), np.linalg.norm(v, -2),
            np.linalg.norm(z, 3), np.linalg.norm(np.array([3, 4])), np.linalg.norm(A, 0, axis=1), np.linalg.norm(C),
            np.linalg.norm(A, 2), np.linalg.norm(C, -2, axis=(2, 0)), np.linalg.norm(A, "nuc", keepdims=True)]


@case(NOT_FINITE, NOT_FINITE.astype(np.float32), NOT_FINITE * (1 - 1j))
def what_is_not_finite(x, f, z):
    y = x.copy()
    np.nan_to_num(y, copy=False, nan=2.0)
    return [np.nan_to_num(x), np.nan_to_num(f), np.nan_to_num(z, posinf=3.0), np.nan_to_num(x, posinf=1.0, neginf=-1.0),
            np.nan_to_num(np.arange(3)), y]


@case(A34, A34.astype(np.float32), A34[:2] + 1j * A34[1:], np.zeros((0, 3), np.float32))
def spreads_of_few_and_of_other_dtypes(A, f, z, none):
    few, marked = A[:2, :1], A > 0
    return [np.var(few, axis=0, ddof=3), np.std(few, axis=0, correction=2), np.nanvar(few, axis=0, ddof=2),
            np.var(none), np.nanvar(z, axis=1), np.nanstd(z.astype(np.complex64)), np.cov(few),
            np.var(f, dtype="c8", axis=0), np.var(A, axis=1, where=marked, ddof=1), np.std(A, where=marked[:1]),
            np.var(z, axis=0, where=marked[:2]), np.median(none, axis=0), np.nanmedian(none, axis=0),
            np.cumulative_sum(none, axis=0, include_initial=True)]


@case(A34.astype(np.float32), A34)
def dtypes_of_single_precision(f, A):
    return [np.fft.fft(f, norm="ortho"), np.fft.ifft2(f, norm="ortho"), np.diff(f, prepend=0),
            np.diff(f, append=f[:, 1:2]), np.percentile(f, [10, 40], method="nearest"),
            np.quantile(f, [0.2, 0.5], axis=1, method="lower"),
            np.quantile(np.array([0.5, np.inf]), 0.3, method="lower"), np.quantile(A, 0.5, axis=1, method="nearest")]


@case(A34, 0.7)
def several_axes_and_a_start_that_is_computed(A, t):
    return [np.logaddexp.reduce(A, axis=None), np.logaddexp.reduce(A, axis=(1, 0), keepdims=True),
            np.logaddexp.reduce(A, axis=()), np.fmax.reduce(A, axis=(0, 1)), np.max(A, axis=0, initial=t * A[1, 1]),
            np.minimum.reduce(A, axis=1, where=A > 0, initial=t), np.apply_along_axis(np.sum, 0, A[:0])]


@case(V6, A34)
def densities_and_given_bins(x, A):
    edges = np.array([-0.5, 0.3, 0.5, 0.9])
    return [np.histogram(x, 3, density=True), np.histogram(x, 3, weights=x * x, density=True), np.histogram(x, edges),
            np.histogram(A, [-1.0, 0.0, 0.25], weights=A), np.histogram(x, edges, density=True)]


@case(A34[0], A34[1], A34.astype(np.float32))
def histograms_of_two_variables(x, y, f):
    edges = [np.array([-0.5, 0.0, 0.9]), np.array([-1.0, 0.1, 0.2, y[2]])]
    return [np.histogram2d(x, y, 3), np.histogram2d(x, y, (2, 3), weights=x * y), np.histogram2d(x, y, edges),
            np.histogram2d(x, y, [2, edges[0]], range=((-1.0, 1.0), (0.0, 1.0)), density=True),
            np.histogram2d(x, y, edges[0]), np.histogram2d(x, x * 0, 2), np.histogram2d(f[0], f[1], 2, weights=f[2])]


@case(V6)
def correlations_of_what_is_the_same(x):
    table = np.corrcoef(np.stack([x, 3 * x, x + 0.1, -x / 7]))
    return [np.isfinite(np.sqrt(1 - np.abs(table))), table, np.corrcoef(x * 1j, x)]


@case(V6, np.array([0, 1, 1, 2, 0, 1]), A34, UNEVEN)
def counts_lines_and_tables(x, n, A, places):
    return [np.bincount(n, weights=x, minlength=4), np.bincount(n, minlength=3),
            np.interp(x, places, A[0], left=-1.0, right=2.0), np.interp(x, places, A[0] * 1j),
            np.trapezoid(A, places), np.trapezoid(A, A * A, axis=0), np.corrcoef(x, x * x), np.corrcoef(A)]


@case(A34, V6)
def sections(A, x):
    return [np.array_split(x, 4), np.array_split(A, 3, axis=1), np.split(x, 3), np.hsplit(A, 2), np.vsplit(A, 3),
            np.hsplit(x, [1, 4])]


@case(A34, A34 * A34, V6)
def methods_of_elementwise_functions(A, B, x):
    return [np.add.reduce(A), np.add.reduce(A, axis=None), np.multiply.reduce(A), np.maximum.reduce([A, B]),
            np.minimum.reduce(A, axis=1, keepdims=True), np.logical_and.reduce(A > 0), np.logical_or.reduce(A > 0),
            np.add.accumulate(A), np.multiply.accumulate(A), np.maximum.accumulate(x), np.minimum.accumulate(A, axis=1),
            np.subtract.accumulate(x), np.power.outer(B, x), np.multiply.outer(A, x), np.arctan2.outer(x, A)]


@case(A34, V6)
def products_along_axes(A, x):
    return [np.prod(A, axis=(0, 1)), np.prod(A, axis=(0,)), np.prod(A, axis=(0, 1), keepdims=True),
            np.prod(x, where=x > 0, initial=2.0), np.prod(A, keepdims=True)]


@case(V6, F6)
def where_a_mask_is_on(x, f):
    rows = np.ones((2, 6))
    np.sqrt(x, out=rows[1], where=x > 0)
    single = np.zeros(6, np.float32)
    np.multiply(f, 3, out=single, where=f > 0.5)
    fresh = np.divide(1.0, x, out=np.zeros_like(x), where=x > 0.5)
    return [rows, single, fresh, np.mean(x, where=x > 0), np.max(x, where=x < 0.5, initial=-2.0),
            np.mean(rows, axis=1, where=rows > 0.9, keepdims=True)]


@case(V4, Z3)
def matrices_with_one_diagonal(v, z):
    made = np.diag(v, 1)
    made[0, 0] = 7.0
    return [made, np.diag(v, -2), np.diag(z, 3), np.diag(v, 1) @ np.diag(v, -1), np.diag(v)]


@pytest.mark.parametrize("program, arguments", CASES, ids=[f.__name__ for f, _ in CASES])
def test_program(program: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(program, *arguments)


def off_diagonal(x, A):
    moved = np.diag(x, 2) @ A + np.diag(x * x, -2)
    rows = np.sqrt(x, out=np.zeros_like(x), where=x > 0.5)
    return np.sum(moved * A) + np.sum(rows) + np.linalg.norm(A, 1) + np.sum(np.gradient(x, edge_order=2) ** 3)


def samples(x, w):
    share = np.average(x.reshape(2, 3), axis=1, weights=w[:3])
    count = np.bincount(np.array([0, 1, 1, 2, 0, 1]), weights=x, minlength=3)
    return np.sum(share ** 2) + np.sum(count ** 3) + np.sum(np.histogram(w, [0.0, 0.5, 2.0], weights=w)[0] ** 2)


def directions(x):
    z = x[:3] + 1j * x[3:]
    turned = np.sign(z) * np.array([1.0, 2.0 - 1.0j, 0.5j])
    high = np.max(x, initial=x[0] * x[1] + 2.0)
    return np.sum(turned.real) + np.nanvar(z, ddof=1) + high ** 2 + np.sign(0 * z[0]).real


def test_gradients_agree_with_differences():
    sdfgad.check_grads(directions, V6 + 0.1)
    sdfgad.check_grads(off_diagonal, V6 + 0.01, np.cos(np.arange(64.0)).reshape(8, 8))
    sdfgad.check_grads(samples, V6, np.abs(V6))


def test_an_index_that_is_counted_past_the_end_leaves_no_number():
    def counted(x, n):
        return np.sum(np.bincount(np.where(x > 0, n, 0), weights=x, minlength=2))

    assert np.isnan(sdfgad.forward(counted)(V4, np.array([2, 1, 1, 0])))


@pytest.mark.parametrize("place", [3, -1])
def test_counts_of_what_is_no_place_are_no_counts(place):
    def counted(x, n):
        return np.bincount(np.where(x > 0, n, 0), minlength=3)

    right = np.array([2, 1, 1, 0])
    np.testing.assert_array_equal(sdfgad.forward(counted)(V4, right), counted(V4, right))
    wrong = np.full(4, place)
    assert np.all(sdfgad.forward(counted)(np.abs(V4) + 1.0, wrong) == np.iinfo(np.int64).min)


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
def test_counts_of_an_index_far_past_the_end_touch_nothing(kind):
    def counted(x, n):
        return np.bincount(np.where(x > 0, n, n // 2), minlength=3)

    with interpreted():
        for wrong in (250, 3):
            found = sdfgad.forward(counted)(np.abs(V4) + 1.0, np.full(4, wrong, kind))
            assert np.all(found == np.iinfo(np.int64).min)


@pytest.mark.parametrize("program, says", [
    (lambda x: np.sum(np.split(x, 4)[0]), "unequal"),
    (lambda x: np.sum(np.bincount((x > 0).astype(int), weights=x)), "minlength"),
    (lambda x: np.linalg.norm(np.reshape(x, (2, 3)), 3), "norm that matrices do not have"),
    (lambda x: np.sum(np.log(x, where=x > 0)), "out="),
    (lambda x: np.sum(np.average(np.outer(x, x[:3]), axis=0, weights=x[:3])), "weights"),
], ids=["split", "bincount", "norm", "where", "weights"])
def test_refused(program, says):
    with pytest.raises(sdfgad.UnsupportedError, match=says):
        parse(program, (V6,), {})
