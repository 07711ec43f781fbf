"""Names that a loop binds, looked at behind it: loops that end early, and loops that may not run at all."""
import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.support.point_loops import run

X = np.linspace(0.5, 2.0, 6)


def counter(x):
    total = 0.0
    for i in range(6):
        total += x[i]
        if total > 2:
            break
    return total * i + x[i]


def stepping_down(x):
    total = 0.0
    for i in range(5, -1, -2):
        j = 2 * i + 1
        total += x[i]
        if total > 3:
            break
    return total * j + x[i] ** 2


def nested(x):
    total = 0.0
    for i in range(6):
        for j in range(i, 6):
            total += x[i] * x[j]
            if total > 4:
                break
        total += x[j] * j
        if total > 20:
            break
    return total * i * x[j]


def again_and_again(x):
    total = 0.0
    for k in range(1, 4):
        for i in range(6):
            if x[i] * k > 2:
                break
        total += x[i] * i
    return total * i


def item_and_place(x):
    total = 0.0
    for i, v in enumerate(x):
        total += v
        if total > 2:
            break
    return total * v + i


def item_changed_later(x):
    y = x * x
    for i, v in enumerate(y):
        if v > 1:
            break
    y[i] = 7.0
    return v * y[i] + np.sum(y)


def bound_inside(x):
    for i in range(6):
        t = x * i
        if np.sum(t) > 10:
            break
    return np.sum(t * t)


def otherwise(x):
    for i in range(6):
        if x[i] > 1e3:
            break
    else:
        return x[i] * i
    return x[0]


def repeated(x):
    total = 0.0
    while total < 3:
        t = total * x
        last = total
        total = total + np.sum(x) * 0.2
    return np.sum(t) + total * last


PROGRAMS = [counter, stepping_down, nested, again_and_again, item_and_place, item_changed_later, bound_inside,
            otherwise, repeated]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_as_python_has_them(fn, scale):
    x = X * scale
    if fn is repeated and scale == 4.0:
        x = X * 2
    assert run(parse(fn, (x,)).program, {"x": x.copy()}) == pytest.approx(fn(x.copy()), rel=1e-12)
    sdfgad.check_grads(fn, x)


def test_a_loop_that_has_not_run():
    def halved(x, limit):
        y = x * 1.0
        while np.sum(y) > limit:
            y = y * 0.5
            rate = np.sum(y * y)
        return np.sum(y) * rate

    sdfgad.check_grads(halved, X, 1.0)
    with pytest.raises(UnboundLocalError, match="'rate'"):
        halved(X, 100.0)
    with pytest.raises(UnboundLocalError, match="'rate'"):
        sdfgad.grad(halved, wrt="x")(X, 100.0)


def test_nobody_looks():
    def unread(x):
        y = x * 1.0
        while np.sum(y) > 100:
            y = y * 0.5
            rate = np.sum(y)  # noqa: F841
        return np.sum(y)

    assert np.array_equal(sdfgad.grad(unread)(X), np.ones(6))


def test_a_value_of_the_iteration_before():
    """The inner loop runs in the first iteration of the outer one only: Python keeps the value."""
    def kept(x):
        total, y = 0.0, x * 1.0
        for k in range(3):
            while np.sum(y) > 2:
                y = y * 0.5
                rate = np.sum(y * y)
            total += rate
        return total

    with pytest.raises(UnsupportedError, match="'rate'"):
        parse(kept, (X,))


def test_a_row_that_a_loop_ended_at():
    def row(a):
        for r in a:
            if np.sum(r) > 3:
                break
        return np.sum(r * r)

    with pytest.raises(UnsupportedError, match="'r', which may be undefined"):
        parse(row, (np.ones((3, 2)),))
