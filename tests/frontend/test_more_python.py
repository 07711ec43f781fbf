"""Managers that are generators, counters, generics, `finally`, the first item that fits."""
from __future__ import annotations

import collections
import contextlib
import functools
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check_both_modes

X = np.array([0.43, -1.2, 0.9, 1.7, -0.3, 0.6])
G = 2
T = typing.TypeVar("T")


@contextlib.contextmanager
def scaled(x, s):
    x *= s
    yield x
    x /= s


@contextlib.contextmanager
def scaled2(x, s):
    x *= s
    try:
        yield
    finally:
        x /= s


@contextlib.contextmanager
def copies(*arrays):
    found = [a.copy() for a in arrays]
    try:
        if len(found) == 1:
            yield found[0]
        else:
            yield found
    finally:
        found[0][0] = 4.0


@contextlib.contextmanager
def by_data(x):
    if x[0] > 0.5:
        yield x * 2
    else:
        yield x ** 2


@contextlib.contextmanager
def one_way(x):
    if x.shape[0] > 1:
        yield x


def ctxbranches(x):
    with copies(x) as y:
        y[1] = 2.0
        total = np.sum(y * x)
    with copies(x, x * 2) as (a, b):
        a[2] = b[1] ** 2
    for i in range(5):
        with by_data(x * i) as z:
            total = total + np.sum(z)
    return total + np.sum(y ** 2) + np.sum(a * b)


def ctxoneway(x):
    with one_way(x) as y:
        total = np.sum(y)
    return total


def ctxman(x):
    y = x.copy()
    with scaled(y, 2.0) as z:
        r = np.sum(z ** 3)
    return r + np.sum(y)


def ctxman2(x):
    y = x.copy()
    with scaled2(y, 2.0):
        r = np.sum(y ** 3)
    return r + np.sum(y)


def counter(x):
    c = collections.Counter()
    for i in range(3):
        c['a'] += 1
    return np.sum(x) * c['a']


def counter2(x):
    c = collections.Counter('abca')
    return np.sum(x) * c['a'] + c['zz']


def counter3(x):
    c = collections.Counter([1, 2, 2, 3])
    for k, v in c.most_common(2):
        x = x * v
    return np.sum(x) * sum(c.values())


def glob2(x):
    global G
    return np.sum(x) * G


class Box(typing.Generic[T]):

    def __init__(self, x):
        self.x = x

    def get(self):
        return self.x * 2


def generic(x):
    return np.sum(Box(x).get())


def generic2(x):
    return np.sum(Box[np.ndarray](x).get())


class Cp:

    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def n(self):
        return np.sum(self.x ** 2)


def cachedprop(x):
    c = Cp(x)
    return c.n * c.n


def cnt_items(x):
    names = ['a', 'b', 'a']
    c = collections.Counter(names)
    return sum((v * x[i] for i, (k, v) in enumerate(sorted(c.items()))))


def cnt_upd(x):
    c = collections.Counter()
    c.update(['a', 'b', 'a'])
    return x[0] * c['a'] + x[1] * c['b']


def tryfin(x):
    y = x.copy()
    try:
        if x.shape[0] > 3:
            return np.sum(y ** 2)
        return np.sum(y)
    finally:
        y[0] = 0.0


def tryfin2(x):
    y = x.copy()
    s = 0.0
    try:
        for i in range(6):
            s = s + y[i]
            if s > 0.2:
                return s * 2 + np.sum(y)
    finally:
        y[:] = 0.0
    return np.sum(y) * s


def nextgen(x):
    i = next((i for i in range(6) if x[i] > 1.0), -1)
    return x[i] ** 2


def nextgen2(x):
    v = next((v for v in x if v > 0.5), 0.0)
    return v ** 2


def nextgen3(x):
    v = next((v * 2 for v in x if v > 50), None)
    if v is None:
        return x[0]
    return v ** 2


def nextgen4(x):
    i = next(i for i in range(6) if x[i] > 1.0)
    return x[i] ** 2


def nextgen5(x):
    i = next((k for k, v in enumerate(x) if v > 1.0), len(x) - 1)
    return x[i] ** 2 * i


def nextgen6(x):
    s = 0.0
    for t in (0.1, 0.5, 1.0):
        i = next((k for k in range(6) if x[k] > t), 0)
        s += x[i] * t
    return s


def assigned_global(x):
    global G
    G = 3
    return np.sum(x) * G


def left_early(x):
    y = x.copy()
    with scaled(y, 2.0):
        if x[0] > 0:
            return np.sum(y)
    return y[0]


def nothing_fits(x):
    return next(v for v in x if v > 100.0)


@pytest.mark.parametrize("program", [
    ctxman, ctxman2, ctxbranches, counter, counter2, counter3, glob2, generic, generic2,
    cachedprop, cnt_items, cnt_upd, tryfin, tryfin2, nextgen, nextgen2, nextgen3, nextgen4, nextgen5, nextgen6])
def test_values_and_derivatives(program: Callable[..., Any]) -> None:
    check_both_modes(program, (X,))


@pytest.mark.parametrize("program, what", [(assigned_global, "an assignment to the global name 'G'"),
                                           (left_early, "left early"),
                                           (ctxoneway, "not once in every branch")])
def test_refused(program: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (X,))
