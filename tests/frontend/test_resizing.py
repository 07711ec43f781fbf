"""Arrays that loops make longer or shorter: by as much in every iteration, in a loop of the program."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from sdfgad.ir.program import Loop
from sdfgad.ir.walk import statements
from tests.frontend.checking import check, check_both_modes

X = np.linspace(0.3, 0.9, 12) ** 2


def tree(x):
    s, v = x[0] * np.exp(0.1 * np.arange(12)), np.maximum(1.2 - x, 0)
    for i in range(10, -1, -1):
        s = s[:-1] * 1.05
        v = np.maximum(0.99 * (0.5 * v[1:] + 0.5 * v[:-1]), 1 - s)
    return 2 * v[0] + s.sum()


def appended(x):
    u = x[:1] * 1.0
    for k in range(len(x)):
        u = np.append(u, np.sum(u) * x[k])
    return np.sum(u ** 2)


def multiplied(x):
    a = np.array([1])
    for k in range(len(x)):
        a = np.convolve(a, [1.0, -x[k]])
    return np.sum(a ** 2)


def deflated(x):
    a, total = np.outer(x, x) * 0.1 + np.eye(len(x)), 0.0
    for k in range(len(x) - 1):
        total += np.log(a[0, 0])
        a = a[1:, 1:] - np.outer(a[1:, 0], a[0, 1:]) / a[0, 0]
    return total + np.log(a[0, 0])


def divided(x):
    d, heads = x * 1.0, [x[0]]
    for k in range(1, len(x)):
        d = (d[1:] - d[:-1]) / k
        heads.append(d[0])
    return np.sum(np.array(heads) ** 2)


def called(x):
    def price(s):
        v = np.maximum(x * s - 0.3, 0)
        for _ in range(len(x) - 1):
            v = 0.5 * v[1:] + 0.4 * v[:-1]
        return v[0]

    total = 0.0
    for s in range(1, 10):
        total += price(s) ** 2
    return total


@pytest.mark.parametrize("fn", [tree, appended, multiplied, deflated, divided, called])
def test_lengths_that_change_by_as_much(fn: Callable[..., object]) -> None:
    check_both_modes(fn, (X,))
    assert sum(isinstance(s, Loop) for s in statements(check(fn, X).program.body)) <= 2


def kept(x):
    t, v, before = 0.0, x * 1.0, x
    for k in range(66):
        t += before[0] * v[-1]
        before = v
        v = v[1:] + v[:-1]
    return t


def halved(x):
    v = x * 1.0
    for k in range(66):
        v = v[1:] if k < 30 else v * 0.5
    return np.sum(v)


@pytest.mark.parametrize("fn", [kept, halved])
def test_others_are_refused(fn: Callable[..., object]) -> None:
    with pytest.raises(UnsupportedError, match="(?s)SG104.*an array of shape .70."):
        parse(fn, (np.ones(70),))
