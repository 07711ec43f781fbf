"""Functions that sort, search, join and choose, and transforms with sizes and scalings of their own."""
from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import A34, A44, I6, V4, V6, Z3, Case, collector

CASES: list[Case] = []
case = collector(CASES)
C234 = np.sin(np.arange(24.0)).reshape(2, 3, 4)
PARTLY = np.array([[0.5, np.nan, 2.0], [1.5, -0.5, 0.25]])


@case(A44, C234, V6)
def sorted_rows(A, C, x):
    A = A.copy()
    A.sort(axis=0)
    y = x.copy()
    y[1:5].sort()
    return [np.sort(A), np.sort(C, axis=1), np.argsort(A, axis=0), np.sort(A, axis=None), A, y, np.argmax(A, axis=1,
            keepdims=True), np.take_along_axis(A, np.argsort(A, axis=1), axis=1)]


def lists_by_data(x):
    numbers = [x[0] * x[1], 2.0, x[2]]
    numbers.sort(key=lambda v: v * v, reverse=True)
    places = sorted(range(6), key=lambda k: (np.round(x[k]), -k))
    near = sorted(zip(np.abs(x), range(6), strict=True), reverse=True)[:3]
    low, high = sorted((x[3], x[4]))
    return [sorted(x), sorted(map(abs, x), reverse=True)[1], numbers, places, near, low, high,
            sorted(range(6), key=lambda k: np.round(x[k]), reverse=True)]


def test_lists_are_sorted_by_data():
    check(lists_by_data, V6)
    check(lists_by_data, V6[::-1].copy())


def lists_by_what_is_known_first(x):
    layers = {"b": x[:2], "a": x[2:]}
    by_place = sorted([(2, 0, x[0]), (1, 5, x[1]), (2, -1, x[2])], reverse=True)
    return [v for _, v in sorted(layers.items())] + [p[2] for p in by_place] + [
        v for _, v in sorted(((1, (3, 2)), (1, (2, 9))))] + [sorted({"c": x}.items())[0][1]]


def test_lists_are_sorted_by_what_is_known_first():
    check(lists_by_what_is_known_first, V6)


def different_numbers(x, n):
    u = np.unique(np.round(4 * np.concatenate([x, x])))
    total = 0.0
    for t in np.unique(np.round(x))[:-1]:
        total += t * np.sum(x[np.round(x) == t])
    _, place = np.unique(np.round(2 * x).reshape(2, 3), return_inverse=True)
    with_nan = np.unique(np.where(x < n, np.nan, x))
    return [len(np.unique(x)) == x.shape[0], np.unique(x - x).size, np.sum(u ** 2), np.sum(np.diff(u)), u[0], u[-1],
            total, place, np.sum(np.isnan(with_nan)), np.nansum(with_nan)]


def test_different_numbers_of_data():
    check(different_numbers, V6, 0.65)
    check(different_numbers, np.tile(V6[:3], 2), -9.0)
    check_both_modes(lambda x: np.sum(np.unique(np.concatenate([x, x])) ** 3), (V6,))


def test_derivatives_of_sorted_lists():
    def weighed(x):
        far = sorted(enumerate(x), key=lambda p: p[1] * p[1])[1:4]
        return sum((k + 1) * v * x[j - 1] for k, (j, v) in enumerate(far)) + sorted(x[:3])[1] ** 2

    check_both_modes(weighed, (V6,))


def test_derivatives_at_places_that_bisect_finds():
    def between(x, knots):
        total = 0.0
        for v in 0.5 + np.cos(np.arange(9.0)):
            k = min(max(bisect.bisect(knots, v * x[0]) - 1, 0), len(knots) - 2)
            total += x[k] + (v * x[0] - knots[k]) / (knots[k + 1] - knots[k]) * (x[k + 1] - x[k])
        return total

    check_both_modes(between, (V6, [-0.5, 0.0, 0.3, 0.8]))


def many_rows_by_data(x):
    return sorted([x[:3] * k for k in range(17)], key=lambda row: row[0])[0]


def of_two_classes(x):
    return sorted([x[0], 1])[0]


@pytest.mark.parametrize("fn", [many_rows_by_data, of_two_classes])
def test_lists_of_what_is_no_numbers_of_one_class_are_not_sorted_by_data(fn):
    with pytest.raises(sdfgad.UnsupportedError, match="sorted of what is only known at run time, and no numbers"):
        parse(fn, (V6,))


@case(A44, V6)
def elements_along_an_axis(A, x):
    B = A.copy()
    best = np.argmin(A, axis=1)[:, None]
    np.put_along_axis(B, best, 9.0, axis=1)
    i, j = np.unravel_index(np.argmax(A), A.shape)
    return [np.take_along_axis(A, best, axis=1), B, A[i, j], np.unravel_index(7, (2, 4)), A[np.ix_([0, 2], [1, 3])],
            A[np.tril_indices(4)], np.unravel_index(I6, (2, 3))]


TIES = np.array([[[1.0, -0.0, 0.0], [3.0, 3.0, -1.0]], [[-1.0, np.nan, 5.0], [np.inf, 2.0, np.inf]]])


@case(TIES, TIES[0], TIES[0] + 1j * TIES[0, ::-1])
def places_of_the_best(A, B, Z):
    """The first one of several, and NaN before all others."""
    return [np.argmax(A), np.argmin(A), np.argmax(A, axis=0), np.argmin(A, axis=-1), np.argmin(B), np.argmax(B),
            np.argmax(A, axis=1, keepdims=True), np.argmax(B, axis=1), np.argmin(B, keepdims=True),
            (B > 0).argmax(0), np.argmax(np.arange(4) % 3), np.argmin(B[0, 1:]), np.argmax(Z), np.argmin(Z, axis=1)]


@case(V6, A34, C234, np.array([0.5, np.nan, 1.0]))
def quantiles(x, A, C, y):
    return [np.quantile(x, 0.3), np.percentile(A, [10, 50], axis=0), np.quantile(C, 0.4, axis=1, keepdims=True),
            np.median(A, axis=1), np.median(C, axis=2, keepdims=True), np.median(y), np.quantile(y, 0.5),
            np.percentile(I6, 50), np.median(I6)]


@case(V6, np.array([-0.3, 0.2, 0.6, 0.9]), np.array([0.2, np.nan, 5.0]))
def places_in_a_line(x, line, y):
    return [np.searchsorted(line, x), np.searchsorted(line, x, side="right"), np.digitize(x, line),
            np.digitize(x, line[::-1]), np.digitize(x, line, right=True), np.searchsorted(line, 0.6),
            np.searchsorted(line, y)]


@case(np.array([-1.0, 0.0, 0.25, 0.3, 1.75, 2.0, 2.1, 8.0, np.nan, np.inf]), 0.25 * np.arange(9))
def places_in_lines_of_every_length(x, line):
    found = [np.searchsorted(line[:n], x, side) for n in range(10) for side in ("left", "right")]
    return found + [np.interp(x, line[:n], line[:n] ** 2, left=-3.0) for n in range(1, 10)]


@case(np.array([0.0, 0.5, 1.0, 1.5, np.nan]), np.array([0.0, 1.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0, np.nan]))
def places_among_equals_and_what_is_no_number(x, line, holed):
    return [np.searchsorted(line, x), np.searchsorted(line, x, side="right"), np.searchsorted(holed, x),
            np.searchsorted(holed, x, side="right"), np.interp(x, line, np.sin(line)), np.interp(0.5, line, line)]


@case(V6, np.array([-0.3, 0.2, 0.6, 0.9]))
def places_that_bisect_finds(x, line):
    rising = sorted(x)
    grown = [v for v in line if v < x[0] + 2]
    return [bisect.bisect_left(line, x[1]), bisect.bisect([0, 1, 1, 2], 1 + 0 * x[0]), bisect.bisect_left([], x[0]),
            [x[bisect.bisect_right(rising, v) - 1] for v in rising], bisect.bisect_left([0.1, np.nan, 0.3], x[0]),
            [bisect.bisect_left(x, v) for v in x], [bisect.bisect_right(list(x), v) for v in np.sin(9 * x)],
            bisect.bisect_right(line, np.nan * x[0]), bisect.bisect_left(grown, x[2])]


@case(PARTLY)
def partly_missing(A):
    return [np.nanmax(A), np.nanmin(A, axis=1), np.nanvar(A, axis=0, ddof=0), np.nanstd(A), np.nanprod(A, axis=1),
            np.nancumsum(A, axis=1), np.nanmax(A[:1, 1:2])]


@case(V6, A34, V4)
def joins_and_cuts(x, A, v):
    both = [np.r_["0,2", x, x[::-1]], np.r_["1,2,0", x, 2 * x], np.r_["-1", A, A], np.r_["1,3,1", A, A[:1]],
            np.r_["1,2", 0:6, x], np.r_["0,2,0", 0:6, x, 1.0], np.r_["1,3,-2", A, 2 * A],
            np.c_[np.stack([A, A]), np.stack([A, A])]]
    return [*both, np.r_[x, 1.0, x], np.r_[A, A], np.c_[x, x], np.c_[A.T, v], np.block([[A, A], [A, 2 * A]]),
            np.block([x, x]),
            np.delete(x, 1), np.delete(A, [0, -1], axis=1), np.insert(x, 2, 7.0), np.insert(x, 0, v), np.diagflat(A),
            np.vander(x), np.vander(x, 3, increasing=True), np.vander(I6, 2), np.hanning(6) * x]


@case(A34, V6)
def powers_of_some_and_views(A, x):
    part = x[x > np.mean(x)].view()
    y = A.copy()
    rows = y.view(np.ndarray)[1:].view(np.float64)
    rows[0] *= 3.0
    return [part @ np.vander(part, 3), np.vander(x[x < 99.0], increasing=False, N=2)[-1], np.vander(x, 0).size, y,
            x.view("float64")[1]]


@case(V6, A34, V4[0])
def lists_of_arrays(x, A, a):
    rows, numbers = [A[0], A[2], A[1]], [x[0], x[1], a]
    return [np.atleast_1d(numbers), np.atleast_2d(rows), np.atleast_2d(numbers), np.atleast_3d(rows), np.roll(rows, 1),
            np.roll(numbers, -1), np.inner(rows, numbers + [a]), np.fliplr(rows), np.linalg.vector_norm(rows),
            *np.atleast_2d(x, a), *np.atleast_1d(a, A)]


@case(V6, A34, V4[:2])
def inserted_rows(x, A, v):
    return [np.insert(x, [3, 1], v), np.insert(x, [-1, 0], 9.0), np.insert(x, [1, 1], v), np.insert(x, -1, v),
            np.insert(A, [1, 2, 2], 0.0, axis=1), np.insert(A, 1, v[0], axis=0), np.insert(A, 1, A[:, 0], axis=1),
            np.insert(A, [0, 2], A[:2], axis=0), np.insert(A, 2, v), np.insert(A, np.repeat(np.arange(1, 3), 2), 0, 0)]


@case(V6, A44)
def windows(x, A):
    view = np.lib.stride_tricks.sliding_window_view
    return [view(x, 3), view(A, (2, 3)), view(A, 2, axis=0), view(A, (2, 2)).mean(axis=(2, 3))]


@case(V6)
def pieces(x):
    return [np.piecewise(x, [x < 0, x > 0.5], [lambda a: a * a, lambda a: a ** 3]),
            np.piecewise(x, [x < 0.5], [lambda a: np.exp(a), 2.0]), np.piecewise(x, [x < 0], [-1.0, 1.0])]


@case(V6, V6 * 0.4 + 0.1, np.array([np.inf, -np.inf, 1.5]))
def arithmetic(x, y, z):
    return [np.fmod(x * 3, -0.7), np.modf(x * 3), np.modf(z), np.divmod(x, y), np.logical_xor(x > 0, y > 0),
            np.logaddexp2(x, y), np.unwrap(x * 9), np.unwrap(np.outer(x, x) * 9, axis=0), np.diff(x, prepend=0.0),
            np.diff(np.outer(x, y), axis=0, append=1.0), np.ediff1d(x, to_end=1.0, to_begin=[2.0, 3.0]),
            np.angle(x * 1j, deg=True)]


@case(A34, A34[:, :3] + 2 * np.eye(3), V4)
def products(A, B, v):
    return [np.kron(A, v), np.kron(v, A), np.kron(2.0, A), np.cross(A.T, A.T),
            np.cross(A, A[::-1], axis=0), np.linalg.matrix_power(B, 5), np.linalg.matrix_power(B, -2),
            np.linalg.matrix_power(B, 0), np.einsum("...j,j", A, v), np.einsum("i...->...", A),
            np.einsum("...i,...i->...", A, A)]


@case(np.stack((A44 + 4 * np.eye(4), A44 - 4 * np.eye(4))), A44[:, :2])
def stacks_of_systems(A, b):
    return [np.linalg.inv(A), np.linalg.solve(A, b), np.linalg.solve(A, np.stack((b, 2 * b))),
            np.linalg.cholesky(A @ np.swapaxes(A, 1, 2)), np.linalg.solve(A[0], np.stack((b, b))[0])]


@case(Z3, A34)
def transforms_of_other_sizes(z, A):
    return [np.fft.fft(z, 5), np.fft.fft(z, 2), np.fft.fft(z, norm="ortho"), np.fft.ifft(z, norm="forward"),
            np.fft.rfft(A, n=6, norm="ortho"), np.fft.irfft(z, n=7), np.fft.irfft(z, n=3), np.fft.fft2(A, norm="ortho"),
            np.fft.fft2(A, s=(5, 2), axes=(1, 0)), np.fft.rfft2(A), np.fft.irfft2(A * 1j, s=(3, 5)),
            np.fft.rfftn(A, axes=(0, 1)), np.fft.irfftn(np.fft.rfftn(A))]


@case(V6, np.abs(V6))
def of_python(x, y):
    return [math.log(y[0], 3.0), math.prod([x[0], x[1], 2]), math.dist([x[0], x[1]], [0.5, y[1]]), math.radians(x[2]),
            math.comb(5, 2) * x[0]]


@pytest.mark.parametrize("program, arguments", CASES, ids=[f.__name__ for f, _ in CASES])
def test_program(program: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(program, *arguments)


def ranked(x, A):
    kept = np.sort(A, axis=0)[1:] @ np.vander(x[:4], 3)
    return np.sum(np.take_along_axis(kept, np.argmax(kept, axis=1, keepdims=True), axis=1) ** 2) + np.quantile(
        A, 0.3, axis=1) @ np.r_[x[0], x[1:3], 2.0] + np.sum(np.piecewise(x, [x < 0], [np.sin, lambda a: a ** 3]))


def transformed(x, A):
    spectrum = np.fft.rfft(x, n=8, norm="ortho")
    power = np.linalg.solve(np.stack((A, A + np.eye(4))), x[:4, None])
    windows = np.lib.stride_tricks.sliding_window_view(x, 3)
    return np.sum(np.abs(spectrum) ** 2) + np.sum(power ** 2) + np.sum(np.einsum("...i,i->...", windows ** 2, x[:3]))


def test_gradients_agree_with_differences():
    sdfgad.check_grads(ranked, V6, A44)
    sdfgad.check_grads(transformed, V6, A44 + 4 * np.eye(4))


def picked(A, x):
    order = np.empty((4, 4), np.int64)
    for k in range(4):
        order[k] = np.argsort(A[k])
    return np.sum((A[np.arange(4)[:, None], order] @ np.outer(x[:4], x[:4])) ** 2)


def test_rows_chosen_by_an_order_that_a_loop_made():
    sdfgad.check_grads(picked, A44, V6)


def test_functions_of_scipy():
    special = pytest.importorskip("scipy.special")

    def program(x, A):
        return [special.expit(40 * x), special.logit(np.abs(x) / 2), special.logsumexp(A, axis=1),
                special.logsumexp(A, axis=0, keepdims=True, b=np.abs(A)), special.softmax(A, axis=1),
                special.log_softmax(A, axis=0), special.xlogy(x - x, np.abs(x)), special.entr(np.abs(x))]

    def smooth(x):
        return np.sum(special.expit(x) ** 2) + special.logsumexp(x) + np.sum(special.softmax(x) ** 2)

    check(program, V6, A34)
    sdfgad.check_grads(smooth, np.concatenate((V6, np.zeros(1))))


@pytest.mark.parametrize("program, says", [
    (lambda x: np.sum(np.quantile(x, x[0], method="weibull")), "not known before"),
    (lambda x: np.sum(np.insert(np.outer(x, x), [0, 1], x, axis=0)), "several rows"),
    (lambda x: np.sum(np.insert(x, [0, 1], [2.0, 3.0, 4.0])), "several places"),
    (lambda x: np.sum(np.unique(x, return_counts=True)[1]), "the counts"),
    (lambda x: np.sum(np.abs(np.fft.fft(x, norm="other"))), "scaling"),
    (lambda x: np.sum(np.r_["r", x]), "matrices"),
    (lambda x: np.sum(np.r_[x, "0"]), "axis first"),
    (lambda x: np.sum(np.r_["0,2,5", x]), "np.reshape"),
    (lambda x: np.einsum("...i->", np.outer(x, x)), "ellipsis"),
    (lambda x: np.sum(np.block([[[x]]])), "more than two"),
    (lambda x: x[bisect.bisect([(0.1, 0), (0.2, 1)], (x[0], 0))], "not numbers"),
    (lambda x: x[bisect.bisect([0.1, 0.2], x[0], key=abs)], "'key'"),
], ids=["quantile", "insert_rows", "insert", "unique", "fft", "r_", "r_late", "r_far", "einsum", "block", "bisect",
        "bisect_key"])
def test_refused(program, says):
    with pytest.raises(sdfgad.UnsupportedError, match=says):
        parse(program, (V6,), {})
