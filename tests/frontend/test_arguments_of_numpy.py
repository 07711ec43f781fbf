"""Arguments that NumPy refuses whatever the data are, and Python's lists as operands."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.support.interpreted import interpreted

X = np.array([0.4, -1.2, 2.5, 0.7, 3.1, -0.6])
A = np.arange(12.0).reshape(3, 4) - 4.3
I = np.array([2, 0, 1, 1, 3, 2])

FAILS: list[Callable[..., Any]] = [
    # dimensions
    lambda x, a, i: np.correlate(x, x[0]), lambda x, a, i: np.correlate(2.0, x), lambda x, a, i: np.vander(a, 3),
    lambda x, a, i: np.searchsorted(a, x), lambda x, a, i: a.searchsorted(1.0), lambda x, a, i: np.polyder(a),
    lambda x, a, i: np.bincount(a.astype(int), minlength=5), lambda x, a, i: np.bincount(i, 7.0, 5),
    lambda x, a, i: np.bincount(i, x[:1], 5), lambda x, a, i: np.bincount(2, minlength=5),
    lambda x, a, i: np.interp(x, x, x, x), lambda x, a, i: np.fft.fftshift(x[0]), lambda x, a, i: np.vsplit(x, [1]),
    lambda x, a, i: np.linalg.vecdot(x, x[0]), lambda x, a, i: np.linalg.vecdot(x, x[:1]),
    lambda x, a, i: np.poly(x[0]), lambda x, a, i: np.argpartition(x, a.astype(int)),
    lambda x, a, i: np.indices([]).reshape(3) * x,
    # dtypes
    lambda x, a, i: np.nanstd(x, dtype=int), lambda x, a, i: np.quantile(x > 0, 0.5),
    lambda x, a, i: np.bincount(x, minlength=5), lambda x, a, i: np.ravel_multi_index((i, x), (4, 4)),
    lambda x, a, i: np.unravel_index(x, (2, 3)), lambda x, a, i: np.interp(x, x + 1j, x),
    lambda x, a, i: np.isneginf(x + 1j), lambda x, a, i: np.take(a, [1j, 1], axis=1),
    lambda x, a, i: np.indices([1.0, 2.0]) * x[0],
    # axes
    lambda x, a, i: np.roll(a, 1, 2), lambda x, a, i: np.argsort(x, 2), lambda x, a, i: np.argsort(x, 1.5),
    lambda x, a, i: np.mean(a, axis=1.0), lambda x, a, i: np.sum(a, axis=[0]), lambda x, a, i: a.max([0, 1]),
    lambda x, a, i: np.argmax(a, (1,)), lambda x, a, i: np.trapezoid(a, axis=True), lambda x, a, i: x.argsort(i),
    lambda x, a, i: np.argsort(x, x[0]), lambda x, a, i: np.argsort(x, "C"),
    # options
    lambda x, a, i: np.copy(x, i), lambda x, a, i: x.copy("Q"), lambda x, a, i: x.astype(int, 3),
    lambda x, a, i: np.mean(a, axis=1, keepdims=1.5), lambda x, a, i: np.linalg.matrix_norm(a, 2),
    lambda x, a, i: np.linalg.vector_norm(x, None), lambda x, a, i: np.polyval(x, x, out=x.copy()),
    lambda x, a, i: np.sum(a, out=np.zeros(3)), lambda x, a, i: np.cumsum(x, out=np.zeros((2, 6))),
    lambda x, a, i: max(x[0], 1, out=x.copy()), lambda x, a, i: x.item(0, out=x.copy()),
    # lists
    lambda x, a, i: x * ([1, 2] > 0), lambda x, a, i: -[1, 2] * x, lambda x, a, i: x * ((1, 2) % 2),
    # more dimensions
    lambda x, a, i: np.linalg.cross(x[:2], x[2:4]), lambda x, a, i: np.linalg.cross(x[:2], x[:3]),
    lambda x, a, i: np.linalg.outer(a, x), lambda x, a, i: np.linalg.matrix_power(x, 1),
    lambda x, a, i: np.matvec(x, x), lambda x, a, i: np.vecmat(x, x), lambda x, a, i: np.vecmat(x[:1], a),
    lambda x, a, i: np.broadcast_to(x[None], 6), lambda x, a, i: np.take_along_axis(a, i, 1),
    lambda x, a, i: np.take_along_axis(a, i[None], None), lambda x, a, i: np.triu_indices_from(a[None])[0] * x[0],
    lambda x, a, i: np.tensordot(x, 2.0, 1), lambda x, a, i: np.tensordot(a, a, ((0,), (1, 0))),
    lambda x, a, i: np.sum(a, axis=1, keepdims=True, out=np.zeros((3, 4))),
    # more dtypes
    lambda x, a, i: np.nanquantile(x + 1j, 0.5), lambda x, a, i: np.digitize(x + 1j, [0.0, 1.0]),
    lambda x, a, i: np.gradient(x > 0), lambda x, a, i: np.ediff1d(i, to_end=1.5),
    lambda x, a, i: np.bitwise_and.reduce(x), lambda x, a, i: np.bitwise_or.accumulate(x),
    lambda x, a, i: np.sum(x, initial=1j), lambda x, a, i: np.max(i, initial=1j),
    # booleans
    lambda x, a, i: np.zeros(True) * x[0], lambda x, a, i: np.full((True, 2), x[0]),
    lambda x, a, i: np.eye(True) * x[0],
    lambda x, a, i: x.reshape(True, 6), lambda x, a, i: np.broadcast_to(x[0], (True,)), lambda x, a, i: np.pad(x, True),
    lambda x, a, i: np.vander(x, True), lambda x, a, i: np.fft.fft(x, True),
    lambda x, a, i: np.transpose(a, (True, False)), lambda x, a, i: np.partition(x, True)[1],
    # more axes and numbers
    lambda x, a, i: np.diagonal(a, 0, 1, -1), lambda x, a, i: np.trace(a, axis1=0, axis2=0),
    lambda x, a, i: np.rot90(a, 1, (0, -2)), lambda x, a, i: np.gradient(a, axis=(0, 0)),
    lambda x, a, i: np.prod(a, axis=(0, 0), keepdims=True), lambda x, a, i: np.lexsort([x, x], 3),
    lambda x, a, i: np.moveaxis(a, 0, (1, 0)), lambda x, a, i: np.rollaxis(a, 0, -3),
    lambda x, a, i: np.array_split(x, -2), lambda x, a, i: np.split(x, -2), lambda x, a, i: np.polyder(x, -1),
    lambda x, a, i: np.cov(a[None]), lambda x, a, i: np.vander(x, -1), lambda x, a, i: np.linalg.matrix_power(a, 1),
    lambda x, a, i: np.pad(x, -1, "wrap"), lambda x, a, i: np.pad(a[:, :0], 1, "median"),
    lambda x, a, i: np.cov(a, ddof=0.5), lambda x, a, i: np.repeat(x, [1, 2]),
    lambda x, a, i: float(x[0]) * [1.0, 2.0], lambda x, a, i: abs([x[0]]), lambda x, a, i: divmod([x[0]], 2),
    lambda x, a, i: [1.0, 2.0] * x[0], lambda x, a, i: np.float64(2.0) * (1.0, 2.0) * x[0]]


@pytest.mark.parametrize("fn", FAILS)
@pytest.mark.filterwarnings("ignore")
def test_what_numpy_refuses(fn):
    with pytest.raises((TypeError, ValueError, IndexError)):
        fn(X, A, I)
    with pytest.raises(UnsupportedError):
        parse(fn, (X, A, I))


@pytest.mark.parametrize("fn", [
    lambda x: np.std(x, dtype=int), lambda x: x.var(dtype="i4"), lambda x: np.mean(x, dtype=bool),
    lambda x: np.arange(1j, 3.0), lambda x: x.take([x[0], 1])])
def test_dtypes_that_cut_what_comes_between(fn):
    with pytest.raises(UnsupportedError):
        parse(fn, (X,))


def reduced(x):
    a = x.reshape(2, 3) * 2
    h, g = np.hypot.reduce(a[:1], axis=0), np.fmax.reduce(a[:, :1], axis=1)
    h[0] = 5.0
    g *= 2
    return a, h, g, np.fmax.reduce(x, initial=0.3), np.hypot.reduce(a, axis=1, initial=2.0)


def in_order(x):
    a = x.reshape(2, 3) * 2
    b, c = np.asfortranarray(a), np.asfortranarray(a[0])
    b[0] = 1.0
    c[1] += 3.0
    return a, b, c, np.asfortranarray(x[0])


def starred(x):
    pairs = [a * sum(rest) for [a, *rest] in [(1.0, x[0], x[1]), (x[2], 2.0, 3.0)]]
    return pairs, sum(v * k for k, (v, *_) in enumerate(zip(x, x[1:])))


def sums(x):
    y, z = [1.0, 2.0, 3.0], [1.0, 2.0]
    y += x[:3]
    z += [x[0]]
    return y, z, [1, 2] == 1, [1, 2] != x.size, (x[0], 1.0) == 1.0, [1.0, 2.0] == np.float64(2.0), x[:2] - [1, 2]


@pytest.mark.parametrize("fn", [
    lambda x: np.geomspace(x[0] - x[0], 1.0, 4), lambda x: np.geomspace(2.0, [1.0, 0.0], 3) * x[0],
    lambda x: np.digitize(x, x)])
@pytest.mark.filterwarnings("ignore")
def test_values_that_numpy_refuses(fn):
    with pytest.raises(ValueError):
        fn(X)
    with pytest.raises(ValueError), interpreted():
        sdfgad.forward(fn)(X)


SMALL = np.array([1, 2, 3], np.uint8)


def listed(k):
    held = k.astype(np.int8).tolist()
    return held[0] * 1000, k.astype(np.float32).tolist()[2] / 3.0, (k > 1).tolist()


@pytest.mark.parametrize("fn", [
    listed, lambda k: np.logical_and.accumulate(k - 1.5), lambda k: np.logical_or.accumulate(k * 0.0),
    lambda k: np.logical_and.reduceat(k - 2.0, [0, 1]), lambda k: np.polysub([5, 1], k),
    lambda k: np.polynomial.polynomial.polysub([5, 1], k), lambda k: np.unravel_index(k, (2, 3)),
    lambda k: np.matvec(k.astype(np.int32)[None, None], k.astype(np.int32)), lambda k: np.vecmat(k[None], k[:, None]),
    lambda k: np.quantile(k, 0.4, method="lower"), lambda k: np.quantile(k, [0.2, 0.9], method="nearest"),
    lambda k: np.percentile(k * 1.5, 40, method="higher"), lambda k: np.diff(k[:0], 0, append=1),
    lambda k: np.prod(k, axis=()), lambda k: np.prod(k, axis=(), dtype="f4"), lambda k: np.nanstd(k, ddof=3),
    lambda k: np.repeat(k, [1, 2, 0]) * 1.0, lambda k: np.digitize(k, [])])
@pytest.mark.filterwarnings("ignore")
def test_dtypes_of_results(fn):
    check(fn, SMALL)


@pytest.mark.parametrize("fn", [
    sums, reduced, in_order, starred,
    lambda x: np.ascontiguousarray(x[0]), lambda x: np.ascontiguousarray(2.0) * x, lambda x: np.resize(x[:0], 3),
    lambda x: np.clip(x[0], 0.0, 1.0, out=np.zeros(3)), lambda x: np.add(x[0], 1.0, out=np.zeros(3)),
    lambda x: np.sum(x, keepdims=1), lambda x: np.roll(x[:, None], (1, 2), (0, 1)),
    lambda x: np.linspace([0, 1], 1.0, 5) * x[0], lambda x: np.logspace(0.0, (1,), 4),
    lambda x: np.sinc([1.5, 2]) * x[0],
    lambda x: np.stack([x, x], axis=1), lambda x: x[0] + [1.0, 2.0], lambda x: np.int64(2) * [x[0]],
    lambda x: np.linspace(x, 2 * x, 3, axis=1)])
def test_what_numpy_takes(fn):
    check(fn, X)


def test_a_list_that_an_array_makes_longer_is_refused():
    def program(x):
        held = []
        for k in range(x.size):
            held.append(x[k])
            if x[k] > 0:
                held += x
        return np.sum(np.array(held))

    with pytest.raises(UnsupportedError):
        parse(program, (X,))
