"""Indices that leave their arrays: found where NumPy raises, never where it does not."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check

X = np.arange(1.0, 7.0)
PLACES = np.array([0, 6])


def one_too_far(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i + 1]
    return s


def written_too_far(x):
    y = np.zeros(6)
    for i in range(len(x)):
        y[i + 3] = x[i]
    return np.sum(y)


def too_far_back(x):
    s = 0.0
    for i in range(2, -8, -1):
        s += x[i]
    return s


def triangle(x):
    s = 0.0
    for i in range(5):
        for j in range(i, i + 3):
            s += x[j]
    return s


def constant_places(x):
    return np.sum(x[PLACES])


def in_a_stride(x):
    s = 0.0
    for i in range(0, 8, 3):
        s += x[i]
    return s


def in_a_helper(x):
    return one_too_far(x[1:])


@pytest.mark.parametrize("fn", [one_too_far, written_too_far, too_far_back, triangle, constant_places, in_a_stride,
                                in_a_helper])
def test_loops_that_run_too_far(fn):
    with pytest.raises(IndexError):
        fn(X.copy())
    with pytest.raises(sdfgad.OutOfBoundsError, match="SG209") as caught:
        sdfgad.grad(fn)(X)
    assert isinstance(caught.value, IndexError)
    assert caught.value.source is not None
    assert caught.value.source.file == __file__
    assert "-->" in str(caught.value)


def gathered(x, p):
    return np.sum(x[p] ** 2)


def one_by_one(x, p):
    s = 0.0
    for i in range(p.size):
        s += x[p[i] + 1]
    return s


def first_two(x, p):
    return np.sum(x[p[:2]]) + x[p[0] + 2]


def through_another(x, p):
    return np.sum(x[p[p[1:]]])


def scattered(x, p):
    y = np.zeros(6)
    y[p] += x[:3]
    return np.sum(y * y)


def added(x, p):
    y = np.zeros(6)
    np.add.at(y, p, x[:3])
    return np.sum(y * y)


def matrix_of_places(x, p):
    return np.sum(x.reshape(2, 3)[p[None, :] % 2, p[:, None]])


def ragged(x, p):
    s = 0.0
    for i in range(2):
        for j in range(p[i], p[i + 1]):
            s += x[j]
    return s


def ragged_backwards(x, p):
    s = 0.0
    for i in range(2):
        for j in range(p[i + 1], p[i], -2):
            s += x[j - 1]
    return s


def ragged_in_a_circle(x, p):
    s = 0.0
    for j in range(p[0], p[1]):
        s += x[j * 3 % 7]
    return s


def ragged_inside_ragged(x, p):
    s = 0.0
    for i in range(2):
        for j in range(p[i], p[i + 1]):
            for k in range(j % 2 * 4, j % 2 * 4 + 2):
                s += x[k + p[0]]
    return s


def ragged_and_empty(x, p):
    s = x[0]
    for i in range(2):
        for j in range(p[i], p[i] - 1):
            s += x[p[2] + 3]
    return s


RAGGED = [ragged, ragged_backwards, ragged_in_a_circle, ragged_inside_ragged]
PROGRAMS = [gathered, one_by_one, first_two, through_another, scattered, added, matrix_of_places, *RAGGED]


@pytest.mark.parametrize("fn", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.uint32])
def test_places_given_by_the_caller(fn, dtype):
    rng = np.random.default_rng(1)
    verdicts = set()
    for k in range(16):
        p = rng.integers(0 if np.dtype(dtype).kind == "u" else -7, 8 if k % 2 else 3, 3).astype(dtype)
        try:
            fn(X.copy(), p.copy())
        except IndexError:
            with pytest.raises(sdfgad.OutOfBoundsError):
                parsed = parse(fn, (X, p))
                parsed.check_indices({"x": X, "p": p})
            verdicts.add(False)
        else:
            check(fn, X.copy(), p).check_indices({"x": X, "p": p})
            verdicts.add(True)
    assert verdicts == {True, False}


def test_loops_that_never_run_read_nothing():
    check(ragged_and_empty, X.copy(), np.array([0, 3, 9])).check_indices({"x": X, "p": np.array([0, 3, 9])})


def test_of_a_row_its_ends_are_looked_at():
    p = np.array([0, 2**40, 3])
    with pytest.raises(sdfgad.OutOfBoundsError, match=f"index {2**40 - 1} "):
        parse(ragged, (X, p)).check_indices({"x": X, "p": p})


def test_every_way_to_call_looks():
    p = np.array([0, 9])
    for call in (lambda: sdfgad.forward(gathered)(X, p), lambda: sdfgad.jvp(gathered, (X, p), (X, None)),
                 lambda: sdfgad.vjp(gathered, X, p, wrt="x")[1](1.0)):
        with pytest.raises(sdfgad.OutOfBoundsError):
            call()


def guarded(x, p):
    s = 0.0
    for i in range(p.size):
        if 0 <= p[i] < 6:
            s += x[p[i]]
    return s


def chosen(x, p):
    s = 0.0
    for i in range(p.size):
        s += x[p[i]] if p[i] < 6 else 0.0
    return s


def made_to_fit(x, p):
    for i in range(p.size):
        p[i] = p[i] % 6
    return np.sum(x[p])


def periodic(x, p):
    s = 0.0
    for i in range(6):
        s += x[i] * x[(i + 1) % 6] * x[i - 1]
    return s + np.sum(x[p % 6])


def left_in_time(x, p):
    for i in range(9):
        if i >= 6:
            break
        x[i] *= 2
    return np.sum(x)


def never_run(x, p):
    s = x[0]
    for i in range(6):
        for j in range(i + 1, 6):
            for k in range(j + 1, 6):
                s += x[i] * x[k]
    for i in range(10, 10):
        s += x[i]
    return s


def taken_in_modes(x, p):
    return np.take(x, p, mode="clip") * np.take(x, p, mode="wrap") + x.reshape(2, 3).take(p, axis=1, mode="clip")


def left_when_large(x, p):
    s = 0.0
    for i in range(9):
        s += x[i]
        if s > 5:
            break
    return s


def returned_when_large(x, p):
    s = 0.0
    for i in range(9):
        for j in range(3):
            s += x[i + j]
            if s > 5:
                return s * 2
    return s


def left_by_place(x, p):
    s = 0.0
    for i in range(p.size):
        if p[i] > 50:
            break
        s += x[p[i]]
    return s


def carried_counter(x, p):
    s, k = 0.0, 5
    for i in range(9):
        s += x[k]
        k = k - 1 if k > 0 else 5
    return s


@pytest.mark.parametrize("fn", [guarded, chosen, made_to_fit, periodic, left_in_time, never_run, taken_in_modes,
                                left_when_large, returned_when_large, left_by_place, carried_counter])
def test_what_numpy_takes_is_taken(fn):
    parsed = check(fn, X.copy(), np.array([1, 99, 40]))
    parsed.check_indices({"x": X, "p": np.array([1, 99, 40])})


@pytest.mark.parametrize("seed", range(60))
def test_random_nests(seed):
    rng = np.random.default_rng(seed)
    start, stop, a, b, c, size = (int(v) for v in rng.integers([-3, 2, -2, -2, -3, 4], [1, 5, 3, 3, 6, 12]))
    step, triangular = int(rng.choice([1, 2, -1])), bool(rng.integers(2))

    def nest(x):
        s = 0.0
        for i in range(start, stop, 1) if step > 0 else range(stop, start, -1):
            for j in range(0, i if triangular else stop, abs(step)):
                s += x[a * i + b * j + c]
        return s

    x = np.arange(1.0, size + 1)
    try:
        expected = nest(x)
    except IndexError:
        if not triangular:
            with pytest.raises(sdfgad.OutOfBoundsError):
                parse(nest, (x,))
        return
    np.testing.assert_allclose(check(nest, x) and nest(x), expected)
