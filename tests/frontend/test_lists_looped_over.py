"""Loops over lists and dictionaries that their bodies change, and lists set in short loops that end early."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check_both_modes
from tests.frontend.programs import V6, Case, collector

CASES: list[Case] = []
case = collector(CASES)


@case(1.2)
@case(-1.2)
def items_set_before_a_break(a):
    r = [0.0, 0.0, 0.0, 0.0]
    for i in range(1, 4):
        r[i] = 0.5 * r[i - 1] + a
        if abs(r[i]) > 2.0 or a < 0:
            break
    return r[-1] + 10.0 * r[1]


@case(1.2, 1e-14)
@case(1.2, 1e-2)
def romberg(a, tol):
    r = [[0.0] * 5 for _ in range(5)]
    r[0][0] = 0.5 + 0.5 / (1 + a)
    for i in range(1, 5):
        h = 0.5 ** i
        r[i][0] = 0.5 * r[i - 1][0] + h * sum(1 / (1 + a * (k * h) ** 2) for k in range(1, 2 ** i, 2))
        for j in range(1, i + 1):
            r[i][j] = r[i][j - 1] + (r[i][j - 1] - r[i - 1][j - 1]) / (4 ** j - 1)
        if abs(r[i][i] - r[i - 1][i - 1]) < tol:
            return r[i][i]
    return r[-1][-1]


@case(V6)
def entries_set_before_a_return(x):
    d = {"a": x[0], "b": x[1], "c": x[2]}
    s = 0.0
    for key, value in d.items():
        s += value
        d["c"] = d["c"] + s
        d[key] = s * s
        if s > 100.0:
            return s
    return s * d["a"] + d["b"] - d["c"]


@case(V6)
def items_set_behind_the_loop(x):
    p = [x, 2.0 * x, x[::-1]]
    g = [np.sin(v) for v in p]
    for i, v in enumerate(p):
        p[i] = v * v
    for i, (v, w) in enumerate(zip(p, g)):
        if v[0] > w[1]:
            p[i] = v - 0.1 * w
    for k, v in enumerate(p):
        if k == 1:
            p.append(v)
            break
    return sum(np.sum(v) for v in p)


@case(V6)
def another_list_under_the_name(x):
    front = [x[0]]
    for _ in range(3):
        after = []
        for v in front:
            after.append(0.5 * v)
            after.append(v + x[1])
        front = after
    return sum(front)


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)


def next_item(a):
    items, s = [a, a, a], 0.0
    for k, x in enumerate(items):
        s += x
        if k < 2:
            items[k + 1] = 2 * items[k]
    return s


def longer(a):
    items, s = [a, 2 * a], 0.0
    for x in items:
        s += x
        if len(items) < 5:
            items.append(2 * x)
    return s


def shorter(a):
    items, s = [a, 2 * a, 3 * a], 0.0
    for x in items:
        s += x
        items.pop(0)
    return s


def longer_at_the_end(a):
    items, s = [a, 2 * a], 0.0
    for k, (x, _) in enumerate(zip(items, range(5))):
        s += x
        if k == 1:
            items.append(x)
    return s


def long_and_longer(a):
    items, s = [], 0.0
    for i in range(100):
        items.append(a * i)
    for x in items:
        s += x
        if x < 3:
            items.append(s)
    return s


def numbers(a):
    items, s = [1.0, 2.0, 3.0] * 30, 0.0
    for x in items:
        s += np.sin(x * a) + np.cos(x * a) * np.exp(-x * a)
        items[-1] = 1.5
    return s


def other_keys(a):
    d, s = {"x": a, "y": 2 * a}, 0.0
    for k in d:
        d["z" + k] = a
        s += d[k]
    return s


def fewer_keys(a):
    d, s = {"x": a, "y": 2 * a}, 0.0
    for k, v in d.items():
        s += v
        del d[k]
    return s


@pytest.mark.parametrize("fn", [next_item, longer, shorter, longer_at_the_end, long_and_longer, numbers])
def test_what_a_loop_still_looks_at_may_not_change(fn: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="a list that changes on the way") as refused:
        parse(fn, (1.2,))
    assert "take items by their places" in str(refused.value)


@pytest.mark.parametrize("fn", [other_keys, fewer_keys])
def test_dictionaries_keep_their_keys_while_they_are_looped_over(fn: Callable[..., Any]) -> None:
    with pytest.raises(RuntimeError, match="changed size"):
        fn(1.2)
    with pytest.raises(UnsupportedError, match="a dictionary that gets other keys"):
        parse(fn, (1.2,))
