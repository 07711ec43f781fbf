"""Items picked by `filter`, `itertools.groupby` and `compress`, and decorators that wrap."""
import functools
import itertools

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check_both_modes

X = np.array([0.4, -1.2, 0.9, 1.7, -0.3, 0.6])


def picked(x):
    total = sum(x[k] for k in filter(None, [0, 1, 2]))
    for k in filter(lambda k: k % 2 == 0, range(6)):
        total += x[k] ** 2
    for key, group in itertools.groupby(range(6), key=lambda k: k // 2):
        for k in group:
            total += x[k] ** (key + 1)
    for key, group in itertools.groupby([1, 1, 2, 2, 2, 3]):
        total += key * len(list(group)) * x[key]
    return total + sum(v * v for v in itertools.compress(x, [1, 0, 1, 0, 0, 1]))


def scaled(factor):
    def decorate(function):
        @functools.wraps(function)
        def inner(*parts, **named):
            return factor * function(*parts, **named)
        return inner
    return decorate


def wrapped(x):
    @scaled(2.0)
    def square(v):
        return v ** 2

    return np.sum(square(x))


@pytest.mark.parametrize("fn", [picked, wrapped])
def test_items_that_are_picked(fn):
    check_both_modes(fn, (X,))


@pytest.mark.parametrize("fn", [
    lambda x: sum(filter(lambda v: v > 0, x)), lambda x: sum(itertools.compress(x, x > 0)),
    lambda x: sum(key for key, _ in itertools.groupby(x))])
def test_by_data_they_are_refused(fn):
    with pytest.raises(UnsupportedError, match="data"):
        parse(fn, (X,))
