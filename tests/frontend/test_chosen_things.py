"""Functions and objects of which data choose one: what follows is run for each. And `with` statements that return."""
from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

X = np.array([0.9, -0.35, 0.62, 1.4, -2.3, 0.05])
LONG = np.sin(np.arange(100.0)).astype(np.float32)


class Spring:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.k * x

    def energy(self, x):
        return 0.5 * self.k * x ** 2


SOFT, HARD = Spring(2.0), Spring(30.0)


def objects(x):
    spring = SOFT if x[0] > 0 else HARD
    return spring.energy(x) + spring(x)


def functions(x):
    total = 0.0
    for v in x:
        if v > 1:
            f, scale = np.sin, 2.0
        elif v > 0:
            f, scale = Spring(v), 1.0
        else:
            f, scale = (lambda z: z * z), 0.5
        total += scale * f(v)
    return total * x


def classes(x):
    form = Spring if x[1] < 0 else list
    return form(x[1]).energy(x) if form is Spring else x


@contextlib.contextmanager
def scaled(y, s):
    y *= s
    yield y * s
    y += 10.0


def returned(x):
    y = x.copy()

    def inside(v):
        with scaled(v, 2.0) as z, scaled(z, 3.0):
            first = z[0]
            return first * z

    return inside(y) + y


def shown(x):
    y = x.copy()
    with scaled(y, 2.0):
        return y


def several(x):
    y, z = x.copy(), x * 2
    with contextlib.nullcontext(y) as a, scaled(a, 2.0) as b, scaled(z, 0.5):
        total = np.sum(a * b * z)
    return total + y * z


@pytest.mark.parametrize("fn", [objects, functions, classes, returned, shown, several])
def test_value_and_slopes(fn) -> None:
    check(fn, X)
    check(fn, -X)
    check_both_modes(lambda x: np.sum(np.sin(fn(x))), (X,))


def test_a_choice_inside_of_an_expression_says_what_to_do() -> None:
    with pytest.raises(UnsupportedError) as caught:
        parse(lambda x: (SOFT if x[0] > 0 else HARD)(x), (X,))
    assert "into the branches" in caught.value.help


def cycled(x):
    total = np.float32(0)
    for v, w, (a, b) in zip(x, itertools.cycle([1, -2]), itertools.cycle([(1, 0.5), (2, 0.25)])):  # noqa: B905
        total += v * w + v * a * b
    return total


def test_numbers_in_a_circle_keep_single_precision() -> None:
    check(cycled, LONG)
