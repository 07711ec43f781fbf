"""Keys and attributes that a loop or branch sets: who asks whether they are there gets Python's answer, or none.

And `try`, whose handler is chosen where the classes of values decide, not the data.
"""
import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check

X = np.array([0.4, -1.2, 0.7, 0.9])


class Model:
    def __init__(self):
        self.scale = 2.0


def counted(x):
    d, p = {}, Model()
    for i in range(5):
        x = x * 1.1 + len(d)
        d["a"] = d.get("a", 0.0) + x[0]
        if "b" in d:
            d["b"] = d["b"] + x[1]
        else:
            d["b"] = x[1]
        d.setdefault("c", x[2])
        p.total = getattr(p, "total", 0.0) + x[3] * i
        p.last = x * 2
    return x * d["a"] + d["b"] * d["c"] + p.total + p.last


def collected(x):
    d, t, n = {"a": x[0]}, 0.0, 0
    for i in range(4):
        for key in list(d):
            t = t + d[key] * len(d)
        if i == 2:
            d["b"] = x[1]
    while n < 3:
        if n > 0 and "k" in d:
            t = t + d["k"]
        d["k"] = x[2] * n
        n += 1
    return x * t


def tried(x):
    d, y, found, t = {"a": x}, x * x, Model(), x[1] * 0
    try:
        y.name = "square"
    except AttributeError:
        pass
    masked = np.where(x > 0, x, np.nan)
    try:
        masked.fillna(0, inplace=True)
    except AttributeError:
        masked = np.where(np.isnan(masked), 0, masked)
    for i in range(3):
        try:
            t = t + d["b"][0] * i
        except (KeyError, TypeError):
            d["b"] = d["a"] * 2
        else:
            t = t + 1
    try:
        y = y + 1
        y = y * found.offset
    except AttributeError as _:
        y = y * found.scale
    return masked + y + t + values_of(x) + values_of(x[0])


def told(x):
    held = np.array([[None] * 2]).T  # a place where a filter keeps measurements
    try:
        y = np.linalg.inv(np.diag(x))
    except Exception:
        print(x)
        raise
    else:
        y = y * held.shape[0]
    return y


def values_of(a):
    try:
        return a.values * 2
    except AttributeError:
        return a * 3


@pytest.mark.parametrize("program", [counted, collected, tried, told], ids=lambda p: p.__name__)
def test_same_as_python(program):
    check(program, X)


def sometimes(ask):
    def program(x):
        d, p = {}, Model()
        if x[0] > -9:
            d["k"] = p.k = x[0]
        return ask(x, d, p)

    return program


MAY_NOT_BE_THERE = {
    "in": lambda x, d, p: x * 2 if "k" in d else x, "hasattr": lambda x, d, p: x if hasattr(p, "k") else -x,
    "get": lambda x, d, p: x * d.get("k", 2.0), "len": lambda x, d, p: x * len(d), "dict": lambda x, d, p: dict(d),
    "values": lambda x, d, p: x * sum(d.values()), "item": lambda x, d, p: x * d["k"], "read": lambda x, d, p: x * p.k,
    "truth": lambda x, d, p: x if d else -x, "pop": lambda x, d, p: x * d.pop("k", 1.0),
    "keywords": lambda x, d, p: x * (lambda k=1.0: k)(**d)}


@pytest.mark.parametrize("ask", MAY_NOT_BE_THERE.values(), ids=MAY_NOT_BE_THERE)
def test_what_only_some_ways_set(ask):
    with pytest.raises(UnsupportedError, match="may not be there at this point"):
        parse(sometimes(ask), (X,), {})


def in_any_order(x):
    d = {}
    if x[0] > 0:
        d["a"], d["b"] = x[0], x[1]
    else:
        d["b"], d["a"] = x[1], x[0]
    return x * (d["a"] + len(d))


def own_raise(x):
    try:
        if x[0] > 9:
            raise TypeError("large")
    except TypeError:
        x = x * 3
    return x


def in_a_loop(x):
    try:
        for _ in range(3):
            x = x + 1
            x = x.foo
    except AttributeError:
        x = x * 3
    return x


def elsewhere(x):
    def inner(y):
        return y.foo

    try:
        x = inner(x)
    except AttributeError:
        x = x * 3
    return x


@pytest.mark.parametrize("program, what", [
    (in_any_order, "another order"), (own_raise, "when data say so"),
    (lambda x: x + np.array([None, None])[0], "dtype object"),
    (in_a_loop, "attribute 'foo'"), (elsewhere, "attribute 'foo'")], ids=lambda p: getattr(p, "__name__", ""))
def test_refused(program, what):
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (X,), {})
