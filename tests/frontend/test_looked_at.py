"""Indices that data decide: a run looks at those that nothing else decides the use of, and raises where NumPy does."""
from __future__ import annotations

from contextlib import suppress
from itertools import product
from threading import Event, Thread

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.support.interpreted import interpreted

X = np.arange(5.0) + 0.25
W = np.array([1.0, 6.0, 3.0])


def gathered(x, w):
    return np.sum(x[np.floor(w).astype(int)] ** 2)


def one_by_one(x, w):
    s = 0.0
    for t in range(3):
        s += x[int(w[t])] ** 2
    return s


def stored(x, w):
    y = x * 1.0
    y[np.argsort(w) + 3] = 2.0
    return np.sum(y)


def far_back(x, w):
    y = x * 1.0
    np.add.at(y, w.astype(int) - 9, w)
    return np.sum(y * y)


def one_element(x, w):
    y = x * 1.0
    y[int(w[1])] *= 2.0
    return np.sum(y)


def running_on(x, w):
    n = 0
    while w[n] < 9:
        n += 1
    return x[n] ** 2


def carried(x, w):
    i, s = 0, 0.0
    while i < 7:
        s += x[i]
        i += 1 + int(w[2] * 0)
    return s


def written_before(x, k):
    k[1] = 7
    return np.sum(x[k])


pytestmark = pytest.mark.filterwarnings("ignore::sdfgad.UnusedArgumentWarning")
BESIDE = (gathered, one_by_one, stored, far_back, one_element, running_on, carried)


@pytest.mark.parametrize("fn", BESIDE)
def test_what_numpy_raises_is_raised(fn):
    with pytest.raises(IndexError):
        fn(X, W)
    for verb in (sdfgad.forward, sdfgad.grad):
        with interpreted(), pytest.raises(sdfgad.OutOfBoundsError, match="SG209") as caught:
            verb(fn)(X, W)
        assert fn.__code__.co_firstlineno < caught.value.source.line < fn.__code__.co_firstlineno + 6


def test_arguments_that_the_function_changes():
    with interpreted(), pytest.raises(sdfgad.OutOfBoundsError, match="index 7 is out of bounds for 5 elements"):
        sdfgad.grad(written_before, wrt="x")(X, np.array([1, 2]))


def guarded_by_and(x, w):
    n = 0
    while n < w.shape[0] and w[n] < 7:
        n += 1
    return np.sum(x) * n


def chosen(x, w):
    k = int(w[1])
    return x[k] if k < 5 else 0.5 * x[0]


def clipped(x, w):
    k = w.astype(int)
    return np.sum(np.where(k < 5, x[np.minimum(k, 4)], 0.0))


def in_a_branch(x, w):
    s = 0.0
    for t in range(3):
        k = int(w[t])
        if 0 <= k < 5 and x[k] > 0.5:
            s += x[k] ** 2
    return s


def left_before(x, w):
    s = 0.0
    for t in range(3):
        k = int(w[t])
        if k >= 5:
            break
        s += x[k] ** 2
    return s


def left_behind(x, w):
    n, s = 0, 0.0
    while w[n] < 9:
        s += x[n % 5]
        n += 1
        if n >= w.shape[0]:
            break
    return s


def returned_before(x, w):
    k = int(w[1])
    if k >= 5:
        return np.sum(x)
    return x[k] ** 2


def endless(x, w):
    k, s = int(w[0]), 0.0
    while True:
        if k >= 5:
            break
        s += x[k]
        k += 1
    return s


def going_on(x, w):
    n = 0
    while n < 5:
        if w[min(n, 2)] > 4:
            n += 3
            continue
        n += 1
        if n < 5 and x[n] > 1.5:
            break
    return np.sum(x) * n


def linked(x, w):
    following, i, s = np.floor(w).astype(int), 0, 0.0
    while i >= 0:
        s += x[i]
        i = following[i] if i < w.shape[0] else -1
        if i >= 5:
            i = -1
    return s


def from_the_end(x, w):
    return x[-int(w[0])] * x[int(w[0]) - 6] + np.sum(x[-w.astype(int) % 5])


def histogram(x, w):
    counts, _ = np.histogram(np.append(w, np.nan), bins=4, range=(0.0, 4.0))
    return np.sum(x[:4] * counts) + np.interp(np.nan if w[0] > 2 else 0.3, X, x)


@pytest.mark.parametrize("fn", [guarded_by_and, chosen, clipped, in_a_branch, left_before, left_behind, returned_before,
                                endless, going_on, linked, from_the_end, histogram])
def test_what_numpy_takes_is_taken(fn):
    check(fn, X, W)
    with interpreted():
        value, (gradient, _) = sdfgad.value_and_grad(fn)(X, W)
        _, pushed = sdfgad.jvp(fn, (X, W), (np.cos(X), np.zeros(3)))
    np.testing.assert_allclose((value, gradient @ np.cos(X)), (fn(X, W), pushed), rtol=1e-12)


def test_what_is_known_before_a_call_is_not_looked_at():
    assert not parse(lambda x, k: np.sum(x[k] * x[k % 3]), (X, np.array([0, 4]))).program.lookups


def several(x, w, far):
    """Ends in one of three ways."""
    y = np.zeros((4, 5))
    n = 0
    while w[n] < 3:
        n += 1 + int(far[0])
    for t in range(3):
        y[int(w[t])] += x * t
    return np.sum(y[np.floor(far).astype(int)[1:]] * x) * n


def test_compiled_calls_end_and_go_on():
    """Also those of loops that would not end; the next call is as if nothing had been."""
    made = sdfgad.value_and_grad(several, wrt="x")
    w, fine = np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 2.0, -4.0])
    expected = made(X, w, fine)
    np.testing.assert_allclose(expected[0], several(X, w, fine), rtol=1e-12)
    beside = ((np.array([0.0, 1.0, 2.0]), fine), (np.array([0.0, -5.0, 3.0]), fine), (w, fine + [0, 3.0, 0, 0]))
    for (other, far), _ in product(beside, range(2)):
        with pytest.raises(IndexError):
            several(X, other, far)
        with pytest.raises(sdfgad.OutOfBoundsError, match="SG209"):
            made(X, other, far)
        value, gradient = made(X, w, fine)
        assert value == expected[0]
        np.testing.assert_array_equal(gradient, expected[1])


def test_the_reference_target_looks():
    with sdfgad.config(target="reference"), pytest.raises(sdfgad.OutOfBoundsError, match="SG209"):
        sdfgad.grad(one_by_one, wrt="x")(X, W)


def early(x, w, steps):
    """An index at the beginning of a call that takes a while."""
    s = x[int(w[0])]
    for _ in range(steps):
        s = np.sin(s) + 0.5 * s
    return s


def test_calls_that_run_at_once_miss_nothing():
    """Both are of one library: what one of them notes, the beginning of the other one does not wipe away."""
    beside, inside = sdfgad.forward(early), sdfgad.forward(early)
    over, fine = Event(), np.array([1.0])

    def fine_ones():
        while not over.is_set():
            with suppress(IndexError):
                inside(X, fine, 20_000)

    inside(X, fine, 20_000)
    other = Thread(target=fine_ones)
    other.start()
    try:
        for _ in range(50):
            with pytest.raises(sdfgad.OutOfBoundsError):
                beside(X, fine + 6, 20_000)
    finally:
        over.set()
        other.join()
