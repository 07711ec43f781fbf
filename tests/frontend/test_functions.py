"""Calls: helpers, closures, constants of the module, nested arguments."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.ir.program import Loop
from sdfgad.ir.walk import statements
from tests.frontend.checking import check
from tests.frontend.programs import A34, V4, V6, Case, collector

SCALE = 2.5
WEIGHTS = np.array([0.5, 1.0, 2.0, 4.0])
CONFIG = (2, 3, "mean")
SWAPPED = np.array([0.5, 1.0, 2.0], dtype=">f8")

CASES: list[Case] = []
case = collector(CASES)


def helper(a, b=2.0, *, scale=1.0):
    if b > 100:
        return a
    c = a * b
    return c * scale + SCALE


def several(a):
    return a[0], a[1:] * 2


def add_to(a, v):
    a += v


def relu(x):
    return np.maximum(x, 0)


def factorial_like(x, n):
    return x if n == 0 else x * factorial_like(x, n - 1)


@case(V6)
def helper_calls(x):
    y = helper(x) + helper(x, 3.0) + helper(b=1.5, a=x, scale=x[0])
    first, rest = several(y)
    add_to(y, first)
    return relu(y), rest


@case(V6)
def recursion(x):
    return factorial_like(x, 4)


@case(V6)
def nested_functions(x):
    k = 3.0

    def inner(v, w=k):
        return v * w + x[0]

    square = lambda v: v * v  # noqa: E731
    return inner(square(x)) + inner(2.0, 1.0)


def _closure(factor: float, table: np.ndarray) -> Callable[..., Any]:
    def scaled(x):
        return x * factor + table[0]

    return scaled


CASES.append((_closure(1.5, np.array([3.0, 4.0])), (V6,)))
CASES.append((lambda x: x * 2 + np.sin(x), (V6,)))


@case(V6)
def module_constants(x):
    n, m, mode = CONFIG
    y = x[:4] * WEIGHTS * SCALE
    return y[n] + m if mode == "mean" else y[0]


@case(V6, (V4, A34), [V6 * 2, 3.0])
def nested_arguments(x, pair, items):
    v, m = pair
    m[0] += v
    return x + items[0] * items[1], m @ v


@case(V6)
def star_arguments(x):
    def total(*parts):
        s = 0.0
        for p in parts:
            s = s + p
        return s

    args = (x[0], x[1])
    return total(*args, x[2])


def until_small(x, trips, least):
    for _ in range(trips):
        step = np.sin(x)
        if step[0] < least:
            break
        x = x + step
    return x


def until_positive(x):
    while True:
        x = x + 1.0
        if x > 3:
            return x * x
        elif x < -50:
            break
    return -x


def without_negatives(x):
    s = 0.0
    for e in x:
        if e < 0:
            continue
        if e > 5:
            break
        s += e
    else:
        s *= 2.0
    return s


@case(V6)
def helpers_with_exits(x):
    y = until_small(x, 3, 0.1) * until_small(x, 40, 1e-3)
    return y, until_positive(x[0]), without_negatives(x), without_negatives(x + 10)


def first_above(x, lim):
    for k, v in enumerate(x):
        if v > lim:
            return k, v
    return -1, x[0]


def pair_above(x, lim):
    for k in range(x.shape[0] - 1):
        for j in range(k + 1, x.shape[0]):
            if x[k] + x[j] > lim:
                return k, (j, x[j])
    return 0, (0, x[0])


@case(V6)
def helpers_that_return_places(x):
    k, v = first_above(x, 0.5)
    n, w = first_above(x, 1e9)
    i, (j, y) = pair_above(x, 1.0)
    return x[k] * v, x[n] * w, i + 10 * j, x[j] + y, first_above(x, 0.1)


@case(A34)
def helpers_with_exits_in_loops(a):
    out = np.zeros(3)
    for i in range(3):
        out[i] = without_negatives(a[i]) + until_positive(a[i, 0])
    return out


@case(V4.astype(">f8"), np.arange(3, dtype=">i4"))
def other_byte_orders(x, k):
    y = np.zeros(4, dtype=">f4") + WEIGHTS.astype(">f8")
    x[k] *= SWAPPED[k]
    return x * y


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)


def names_of_a_lambda(x):
    def last(k, c=2.0):
        return c * k

    g, total = (lambda c: 1 + c ** 2), 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            continue
        c, k = 2 * x[i], [v * v for v in x]
        v = g(c) + last(c)
        total += v * k[0]
    return total


def test_parameters_are_of_their_functions_alone() -> None:
    """A loop that binds such a name is a loop, not written out as if an earlier iteration's value could be read."""
    parsed = check(names_of_a_lambda, V6)
    assert sum(isinstance(s, Loop) for s in statements(parsed.program.body)) == 1
