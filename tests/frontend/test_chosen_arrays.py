"""One of several arrays, which data choose, updated in place: the array that it is changes under all its names."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check_both_modes
from tests.frontend.programs import Case, collector

CASES: list[Case] = []
case = collector(CASES)
X, Y = np.array([0.7, 1.3, 0.4]), np.array([0.2, -0.3, 0.9])
M = np.random.default_rng(1).uniform(-1, 1, (4, 4))


@case(X, Y)
def br_after(x, y):
    a = x * 2
    b = y * 3
    if x[0] > y[0]:
        t = a
    else:
        t = b
    t[0] = 7 * x[1]
    return np.sum(a * a) + np.sum(b ** 3) + np.sum(t)


@case(X, Y)
def br_loop(x, y):
    a = x * 2
    b = y * 3
    for k in range(3):
        if a[k] > b[k]:
            t = a
        else:
            t = b
        t[k] = 7 * x[1]
    return np.sum(a * a) + np.sum(b ** 3)


@case(X, Y)
def br_long(x, y):
    a = x * 2
    b = y * 3
    for k in range(300):
        if a[k % 3] > b[k % 3]:
            t = a
        else:
            t = b
        t[k % 3] -= 0.01 * x[1]
    return np.sum(a * a) + np.sum(b ** 3)


@case(X, Y)
def if_long(x, y):
    a = x * 2
    b = y * 3
    for k in range(300):
        t = a if a[k % 3] > b[k % 3] else b
        t[k % 3] -= 0.01 * x[1]
    return np.sum(a * a) + np.sum(b ** 3)


@case(X, Y)
def read_after_origin(x, y):
    a = x * 2
    b = y * 3
    t = a if x[0] > y[0] else b
    t[0] = 7 * x[1]
    a[1] = 3 * x[2]
    return np.sum(a * a) + np.sum(b ** 3)


@case(X, Y)
def stale_t(x, y):
    a = x * 2
    b = y * 3
    t = a if x[0] > y[0] else b
    a[1] = 3 * x[2]
    return np.sum(t)


@case(X, Y)
def cond_changes(x, y):
    a = x * 2
    b = y * 3
    t = a if a[0] > b[0] else b
    t[0] = -7 * x[1]
    t[1] = 5 * x[0]
    return np.sum(a * a) + np.sum(b ** 3)


@case(X, Y)
def three(x, y):
    a = x * 2
    b = y * 3
    c = x + y
    t = a if a[0] > b[0] else b if b[1] > 0 else c
    t[0] = -7 * x[1]
    t *= 2
    return np.sum(a * a) + np.sum(b ** 3) + np.sum(c ** 2)


@case(X, Y)
def whl(x, y):
    a = x * 2
    b = y * 3
    t = a if a[0] > b[0] else b
    while t[0] > 0.1:
        t *= 0.5
    return np.sum(a * a) + np.sum(b ** 3)


@case(X, Y)
def other_view(x, y):
    a = x * 2
    b = y * 3
    t = a if a[0] > b[0] else b
    v = t[1:]
    v += x[0]
    t.sort()
    return np.sum(a * a * np.arange(3)) + np.sum(b ** 3)


@case(M)
def matview(m):
    a = m * 2
    r = a[0] if m[0, 0] > 0 else a[:, 1]
    r[1:] = m[2, 1:] * 2
    r @= np.eye(4)
    return np.sum(a ** 3)


@case(M)
def lib(m):
    a = m * 2
    b = m * 3
    r = a if m[0, 0] > 0 else b
    r[:] = m @ m
    np.matmul(m, m.T, out=r)
    return np.sum(a ** 3) + np.sum(b)


@case(X, Y)
def fresh_side(x, y):
    a = x * 2
    t = a if x[0] > 0.5 else np.zeros(3)
    t[1] = x[2] * 9
    return np.sum(a ** 3) + np.sum(t ** 2)


@case(X, Y)
def reassign(x, y):
    a = x * 2
    b = y * 3
    t = a if x[0] > 0.5 else b
    a = a * 2
    t[1] = x[2] * 9
    return np.sum(a ** 3) + np.sum(t ** 2)


@case(X, Y)
def ptrs(x, y):
    lo = x * 1.0
    hi = y * 1.0
    for k in range(5):
        w = lo if np.sum(lo) > np.sum(hi) else hi
        w[:] = 0.5 * (lo + hi)
    return np.sum(lo ** 2) + np.sum(hi ** 3)


@case(X, Y)
def maskw(x, y):
    a = x * 2
    b = y * 3
    t = a if x[0] > 0.5 else b
    t[t > 1] = 0.3 * x[0]
    t[[0, 2]] += 1.0
    np.add.at(t, [0, 0], x[1])
    return np.sum(a ** 3) + np.sum(b ** 2)


@case(X, Y)
def if_in_if(x, y):
    a = x * 2
    b = y * 3
    t = a if x[0] > 0.5 else b
    if y[0] > 0:
        t[0] = x[1] * 4
    else:
        t[1] = x[0] * 3
    return np.sum(a ** 3) + np.sum(b ** 2)


@case(X, Y)
def elif3(x, y):
    a = x * 2
    b = y * 3
    c = x + y
    if a[0] > b[0]:
        t = a
    elif b[1] > 0:
        t = b
    else:
        t = c
    t[0] = -7 * x[1]
    t *= 2
    return np.sum(a * a) + np.sum(b ** 3) + np.sum(c ** 2)


@case(X, Y)
def two_choices(x, y):
    a = x * 2
    b = y * 3
    t = a if x[0] > 0.5 else b
    u = b if y[0] > 0.5 else a
    t[0] = x[1] * 4
    u[1] = x[2] * 3
    return np.sum(a ** 3) + np.sum(b ** 2) + np.sum(t * u)


@case(X, Y)
def tup(x, y):
    a = x * 2
    b = y * 3
    t, u = (a, b) if x[0] > 0.5 else (b, a)
    t[0] = x[1] * 4
    u[1] = x[2] * 3
    return np.sum(a ** 3) + np.sum(b ** 2) + np.sum(t * u)


@case(X, Y)
def with_break(x, y):
    a = x * 2
    b = y * 3
    for k in range(50):
        t = a if a[k % 3] > b[k % 3] else b
        if t[k % 3] < 0.3:
            break
        t[k % 3] *= 0.8
        if t[k % 3] > 2:
            continue
        t[(k + 1) % 3] += 0.01
    return np.sum(a ** 3) + np.sum(b ** 2)


@case(X, Y)
def ret_in(x, y):
    a = x * 2
    b = y * 3
    t = a if a[0] > b[0] else b
    if t[1] > 2:
        t[0] = 5.0
        return np.sum(a ** 2)
    t[0] = 4.0 * x[0]
    return np.sum(a ** 3) + np.sum(b ** 2)


@case(X, Y)
def swap_after(x, y):
    a = x * 2
    b = y * 3
    t = a if a[0] > b[0] else b
    a, b = (b, a)
    t[0] = 4.0 * x[0]
    return np.sum(a ** 3) + np.sum(b ** 2)


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_values_and_derivatives(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)
    if len(arguments) > 1:
        check_both_modes(lambda y, x: fn(x, y), arguments[::-1])


def test_compiled_on_both_ways():
    program = sdfgad.grad(if_long, argnums=(0, 1))
    for x, y in ((X, Y), (Y, X)):
        sdfgad.check_grads(if_long, x.copy(), y.copy())
        assert len(program(x, y)) == 2


def test_too_many_choices_are_refused():
    def run(x, y):
        a, b = x * 2, y * 3
        for k in range(3):
            t = [a, b][int(x[k] > y[k])]
            t[k] = 1.0
        return np.sum(a * b)

    with pytest.raises(UnsupportedError, match="one of several arrays"):
        parse(run, (X, Y), {})
