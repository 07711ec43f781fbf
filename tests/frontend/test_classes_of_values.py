"""`isinstance`, `type` and `hasattr` say of a value what they say of it in Python, wherever it comes from."""
from collections import namedtuple
from types import FunctionType

import numpy as np

from tests.frontend.checking import check

Pair = namedtuple("Pair", "first second")
ARRAYS = [np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])]
NESTED = {"array": np.ones(3), "list": [np.ones(3), 2.0], "tuple": (np.array([1.0, 2.0, 4.0]),), "numbers": [1.0, 2]}
PAIR = Pair(np.ones(3), 3.0)
KINDS = (list, tuple, dict, float, int, np.ndarray, np.floating, Pair)


def digits(value):
    """One decimal digit for each question."""
    found = 0
    for kind in KINDS:
        found = 10 * found + isinstance(value, kind) + 2 * (type(value) is kind)
    return 10 * (10 * found + hasattr(value, "append")) + hasattr(value, "dtype")


def from_outside(x):
    parts = [ARRAYS, ARRAYS[0], ARRAYS[1:], NESTED, PAIR, PAIR.first, PAIR.second, *NESTED.values(), 1, 2.0]
    return [np.sum(x) * digits(p) for p in parts]


def made_inside(x):
    grown = []
    for k in range(70):
        grown.append(x[0] * k)
    def twice(v):
        return 2 * v

    named = [hasattr(f, "__name__") + 2 * hasattr(f, "shape") + 4 * isinstance(f, FunctionType) for f in (
        twice, lambda v: v)]
    parts = [[x, x], (x, 1), {"a": x}, x, x[0], float(x[0]), int(x[0]), len(x), grown, x.tolist(), Pair(x, 1),
             np.float64(2.0), x > 0]
    return [named, [np.sum(x) * digits(p) for p in parts]]


def given(arrays, pair, nested):
    parts = [arrays, arrays[0], pair, nested, nested["l"], nested["l"][0], nested["n"]]
    return [np.sum(arrays[0]) * digits(p) for p in parts]


def split(parameters, data):
    """What a function does with lists and with arrays: calls itself for each part of a list."""
    if isinstance(data, list):
        return sum(split(parameters, part) for part in data)
    total = 0.0
    for y in data:
        total = total * parameters[0] + y * parameters[1]
    return total


def test_from_outside():
    check(from_outside, np.array([1.0, 0.5]))
    check(lambda x: split(x, ARRAYS), np.array([0.5, 2.0]))


def test_made_inside():
    check(made_inside, np.array([1.0, 0.5]))
    check(lambda x: split(x, [x, x[:1]]), np.array([0.5, 2.0]))


def test_given():
    check(given, [np.ones(2), np.ones(3)], (np.ones(2), 1.0), {"l": [np.ones(2), 1.0], "n": 2.0})


def test_lists_of_arrays():
    def numbers(x, A):
        found = A.tolist()
        total = 0.0
        for row in found:
            for v in row:
                total = total * 0.5 + v * x[0]
        found[0].append(total)
        return [total, len(found[0]), x.tolist()[1] + 1, np.array(found[1]), [v * 2 for v in x.tolist()]]

    check(numbers, np.array([1.0, 0.5]), np.arange(6.0).reshape(2, 3))
