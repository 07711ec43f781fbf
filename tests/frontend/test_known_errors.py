"""Errors of which translation knows: caught where a handler is for them, and refused elsewhere."""
from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check_both_modes

X = np.array([0.7, -0.3, 1.2, 0.4, 0.9, -1.1])
A = np.arange(12.0).reshape(3, 4)
WEIGHTS = [1.0, 2.0, 3.0]
TABLE = {"a": 1.0}


def beyond_the_end(x):
    total = 0.0
    for i in range(6):
        try:
            right = x[i + 1]
        except IndexError:
            right = x[0]
        total += right * x[i]
    return total


def in_two_dimensions(x):
    grid, total = x.reshape(2, 3), 0.0
    for i in range(2):
        for j in range(3):
            try:
                total += grid[i + 1, j] * grid[i, j]
            except IndexError:
                total += grid[0, j] ** 2
    return total


def in_front_of_the_first(x):
    try:
        first = x[-7]
    except (IndexError, ValueError):
        first = x[-6] ** 2
    return first


def until_there_is_none(x):
    i, total = 0, 0.0
    while True:
        try:
            total += x[i] ** 2
        except IndexError:
            break
        i += 1
    return total * i


def statements_before_it_count(x):
    y = x.copy()
    try:
        y[0] = 5.0 * x[1]
        y[10] = y[1]
        y[1] = 7.0
    except IndexError:
        y[2] = 3 * x[0]
    return (y * y).sum()


def of_a_function(x):
    def get(a, i, default=0.5):
        try:
            return a[i]
        except IndexError:
            return default

    return sum(get(x, i) * get(x, i + 1) for i in range(7))


def with_else(x):
    total = 0.0
    for i in range(4, 8):
        try:
            v = x[i]
        except IndexError:
            total += x[0]
        else:
            total += v * v
    return total


def of_lists_and_text(x):
    total = 0.0
    for i in range(6):
        try:
            total += WEIGHTS[i] * x[i]
        except LookupError:
            total -= x[i] ** 2
        try:
            mark = "abc"[i]
        except IndexError:
            mark = "z"
        total += x[i] if mark == "z" else 0.0
    return total


def of_a_dict_from_outside(x):
    total = 0.0
    for key in ("a", "b"):
        try:
            total += TABLE[key] * x[0]
        except KeyError:
            total += x[1] ** 2
    return total


def of_lists_that_come_to_their_end(x):
    stack, queue, total = [x[0], x[1]], deque([x[2], x[3]]), 0.0
    for _ in range(4):
        try:
            v = stack.pop()
        except IndexError:
            break
        total += v * v
    while True:
        try:
            total += queue.popleft() ** 3
        except IndexError:
            break
    return total


def of_iterators(x):
    numbers, total = iter(x), 0.0
    while True:
        try:
            v = next(numbers)
        except StopIteration:
            break
        total = total + v * v
    return total


def of_a_text_that_is_not_there(x):
    try:
        k = ["a", "b"].index("c")
    except ValueError:
        k = 3
    return x[k] ** 2


def of_no_items(x):
    try:
        return max([])
    except ValueError:
        return x[0] ** 2


def that_are_inside(x):
    total = 0.0
    for i in range(len(x) - 1):
        try:
            total += x[i + 1] * x[i]
        except IndexError:
            total += x[0] * x[i]
    return total


CAUGHT = [beyond_the_end, in_two_dimensions, in_front_of_the_first, until_there_is_none, statements_before_it_count,
          of_a_function, with_else, of_lists_and_text, of_a_dict_from_outside, of_lists_that_come_to_their_end,
          of_iterators, of_a_text_that_is_not_there, of_no_items, that_are_inside]


@pytest.mark.parametrize("fn", CAUGHT)
def test_handlers_of_what_is_known(fn):
    check_both_modes(fn, (X,))


def test_a_long_loop_that_stays_inside():
    check_both_modes(that_are_inside, (np.sin(np.arange(80.0)),))


def at_a_place_of_data(x):
    try:
        return x[int(x[2] * 10)]
    except IndexError:
        return x[0]


def of_a_list_at_a_place_of_data(x):
    values = [x[0], x[1]]
    try:
        return values[int(x[2] * 10)]
    except IndexError:
        return x[0]


def raised_by_data(x):
    try:
        if x[0] > 0:
            raise IndexError("no")
        return x[0]
    except IndexError:
        return x[1]


def of_places_that_data_select(x):
    try:
        return x[np.where(x > 5)[0][0]]
    except IndexError:
        return x[0]


@pytest.mark.parametrize("fn", [
    at_a_place_of_data, of_a_list_at_a_place_of_data, raised_by_data, of_places_that_data_select])
def test_what_only_runs_know_is_refused(fn):
    with pytest.raises(sdfgad.UnsupportedError):
        parse(fn, (X,))


FAILING = [
    lambda x: np.delete(x, 10), lambda x: np.delete(x, [1, -7]), lambda x: np.delete(A * x[0], 4, axis=1),
    lambda x: np.insert(x, 7, 1.0), lambda x: np.insert(x, -8, 1.0), lambda x: np.insert(x, [1, 9], 1.0),
    lambda x: np.partition(x, 9), lambda x: x[np.argpartition(x, -8)], lambda x: np.unravel_index(20, (2, 3))[0] * x[0],
    lambda x: np.ravel_multi_index((2, 3), (2, 3)) * x[0], lambda x: np.linspace(0, 1, -1) * x[0],
    lambda x: np.interp(x[0], [0, 1], [1.0]), lambda x: np.cross(x, x), lambda x: np.select([x > 0], [x, x]),
    lambda x: np.histogram(x, bins=0)[0] * x[0], lambda x: np.searchsorted([1, 2], x, side="mid") * x,
    lambda x: np.diff(x, n=-1), lambda x: np.pad(x, (1, 2, 3)), lambda x: np.pad(A * x[0], [(1, 1)] * 3),
    lambda x: np.pad(x, (-1, 2), mode="wrap"), lambda x: np.ix_(A * x[0])[0],
    lambda x: np.apply_along_axis(np.sum, 2, A * x[0]),
    lambda x: np.mean(A * x[0], axis=(0, 0)), lambda x: x[np.lexsort((x, x[:3]))], lambda x: np.resize(x, -1),
    lambda x: np.einsum("ij->k", A * x[0]), lambda x: np.einsum("ij->ii", A * x[0]), lambda x: np.place(x, x > 0, [])]


@pytest.mark.parametrize("fn", FAILING)
def test_what_numpy_does_not_take_is_refused(fn):
    with pytest.raises((ValueError, IndexError)):
        fn(X.copy())
    with pytest.raises(sdfgad.UnsupportedError):
        parse(fn, (X,))
