"""A `while` loop that has been left does not ask for its condition any more: it may change something, or look where
nothing is."""
from __future__ import annotations

import ast

import numpy as np
import pytest

from sdfgad.frontend.syntax.plain import plain_statements
from tests.frontend.checking import check, check_both_modes

X = np.array([0.9, 0.35, 0.62, 1.4, 2.3, 0.05])


def counting(x):
    count = np.zeros(1)

    def more():
        count[0] += 1.0
        return count[0] < 5

    while more():
        if x[0] * count[0] > 1.5:
            break
    return count[0] * x


def adding(x):
    seen = [0.0]

    def more():
        seen[0] += x[1]
        return seen[0] < 5

    while more():
        if seen[0] > 1.5:
            break
    return seen[0] * x


def returning(x):
    count, s = np.zeros(1), 0.0

    def more():
        count[0] += 1.0
        return count[0] < 5

    while more():
        s += x[int(count[0])] ** 2
        if s > 1.5:
            return s * count * x
    return s + count * x


def with_an_else(x):
    count = np.zeros(1)

    def more(k):
        count[0] += x[k]
        return count[0] < 9

    k = 0
    while more(k):
        k += 1
        if k == 6 and x[0] < 2:
            break
    else:
        count[0] *= 10.0
    return count * x


def behind_the_end(x):
    i, s = 0, 0.0
    while np.sum(x[i] * x) > 0.01:
        s += x[i] ** 2
        i += 1
        if i == 6:
            break
    return s * x


@pytest.mark.parametrize("fn", [counting, adding, returning, with_an_else, behind_the_end])
@pytest.mark.parametrize("x", [X, 0.4 * X, X + 2.0], ids=["left", "ended", "left soon"])
def test_the_last_condition(fn, x) -> None:
    check(fn, x)
    check_both_modes(lambda x: np.sum(np.sin(fn(x))), (x,))


@pytest.mark.parametrize(("test", "stays"), [
    ("e > tol and n < 5", True), ("abs(e) > 1e-3 and np.max(y) < x[0]", True), ("y.max() > x[-1]", True),
    ("x[i] > 0", False), ("more()", False), ("state.step() > 0", False)])
def test_conditions_that_may_be_asked_once_more_stay_where_they_are(test: str, stays: bool) -> None:
    loop, = ast.parse(f"while {test}:\n    if c:\n        break").body
    assert (plain_statements(loop) == [loop]) is stays
    never_left, = ast.parse(f"while {test}:\n    n += 1").body
    assert plain_statements(never_left) == [never_left]
