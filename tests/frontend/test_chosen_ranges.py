"""Ranges that data choose, and those whose step the run knows: sweeps in either direction."""
import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

X = np.linspace(0.3, 1.1, 6)


def ordinates(x):
    """Transport of discrete ordinates: upwards and downwards."""
    s = 0.0
    for mu, w in zip(np.array([0.5, -0.5]), np.array([1.0, 2.0])):
        order = range(6) if mu > 0 else range(5, -1, -1)
        for i in order:
            s = 0.9 * s + w * x[i] ** 2
    return s


def in_branches(x):
    s = 0.0
    for k in range(70):
        if s > 2:
            order = range(1, 5)
        else:
            order = reversed(range(0, 6, 2))
        for n, i in enumerate(order):
            s = 0.9 * s + n * x[i] ** 2
    return s


def sweeps(x):
    A = np.outer(x, x)
    for k in range(70):
        ys, xs = (range(1, 6), range(1, 6)) if k % 2 == 0 else (range(4, -1, -1), range(4, -1, -1))
        for i in ys:
            for j in xs:
                A[i, j] = 0.3 * (A[i - 1, j] + A[i, (j + 1) % 6]) + 0.1 * A[i, j]
    return np.sum(A)


def handed_on(x):
    s, order = 0.0, range(6)
    for _ in range(80):
        for i in order:
            s = 0.9 * s + x[i] ** 2
        order = range(5, -1, -1) if s > 3 else range(len(order) - 1)
    return s


def steps(x):
    forward = x[0] > 0.1
    start, stop, step = (0, 6, 1) if forward else (5, -1, -1)
    s = 0.0
    for i in range(start, stop, step):
        s = 0.9 * s + x[i] ** 2
    for i in range(5, -1, -int(np.max(x) * 2.1)):
        if s > 1.6:
            break
        s = 0.9 * s + x[i] ** 3
    return s * i


def comprehended(x):
    n = int(np.max(x) * 5)
    order = range(n) if x[0] > 0.1 else range(n - 1, -1, -1)
    three = range(3) if x[0] > 1 else range(5, 2, -1)
    return sum(x[i] * k for i, k in zip(three, x)) + np.prod([x[i] for i in three]) + len(order) * x[len(three)]


def no_step(x):
    s = 0.0
    for i in range(0, 6, int(x[0])):
        s = s + x[i]
    return s


@pytest.mark.parametrize("fn", [ordinates, in_branches, sweeps, handed_on, steps, comprehended])
def test_derivatives(fn):
    check_both_modes(fn, (X,))
    check(fn, X[::-1].copy())


def test_a_step_of_zero():
    with pytest.raises(ValueError, match="must not be zero"):
        no_step(X)
    with pytest.raises(ValueError, match="must not be zero"):
        check(no_step, X + 0.7)  # the program stops where Python would
        check(lambda x: no_step(x), X)


@pytest.mark.parametrize("use", [
    lambda x, r: x[r.stop], lambda x, r: x[r.count(3)], lambda x, r: x[0] if r else x[1],
    lambda x, r: x[0] if 3 in r else x[1], lambda x, r: x[0] if r == range(6) else x[1]])
def test_refused(use):
    with pytest.raises(UnsupportedError):
        parse(lambda x: use(x, range(6) if x[0] > 0 else range(5, -1, -1)), (X,), {})
