"""Sets of constants, names bound in comprehensions, breaks of two loops, functions chosen by classes."""
from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check_both_modes
from tests.frontend.programs import Case, collector

X = np.linspace(0.3, 1.73, 6)
L = np.linspace(0.1, 1.4, 100)
CASES: list[Case] = []
case = collector(CASES)


class Square:
    def __init__(self, a):
        self.a = a


class Circle:
    def __init__(self, r):
        self.r = r


@singledispatch
def area(shape):
    raise NotImplementedError


@area.register
def _(shape: Square):
    return shape.a ** 2


@area.register
def _(shape: Circle):
    return np.pi * shape.r ** 2


@singledispatch
def total(a, k=2.0):
    return a * k


@total.register(np.ndarray)
def _(a, k=2.0):
    return np.sum(a * a)


@total.register(list)
def _(a, k=2.0):
    return sum(a)


@case(X)
def chosen_by_class(x):
    return area(Square(x[0])) + area(Circle(x[1])) + total(x) + total([x[0], x[1]]) + total(2.5)


@case(X)
def bound_in_a_condition(x):
    ys = [y * y for i in range(6) if (y := x[i]) is not None]
    return sum(ys)


@case(X)
def bound_in_the_item(x):
    ys = [(y := np.sin(v)) * y for v in x]
    return sum(ys) + y


@case(X)
def bound_in_a_condition_of_data(x):
    ys = [y * y for v in x if (y := np.sin(v)) > 0.5]
    return sum(ys)


@case(X)
def running_sum(x):
    t = 0.0
    ys = [t := t + v * v for v in x]
    return np.sum(np.array(ys) * x) + t


@case(L)
def long_running_sum(x):
    t = 0.0
    ys = [t := t * 0.5 + v * v for v in x]
    return np.sum(np.array(ys) * x) + t


@case(L)
def bound_in_a_long_one(x):
    ys = [(y := np.sin(v)) * y for v in x]
    return np.sum(np.array(ys) * x)
@singledispatch


@case(X)
def breaks_of_both(x):
    s = 0.0
    for i in range(4):
        for j in range(3):
            if x[j] * i > 2.5:
                break
            s += x[j]
        else:
            if s > 4.0:
                break
            s *= 1.5
            continue
        s += 0.1
    return s


@case(X)
def set_fill(x):
    seen = set()
    s = 0.0
    for k in [1, 2, 1, 3]:
        if k in seen:
            continue
        seen.add(k)
        s += x[k] ** 2
    return s


@case(X)
def set_comp(x):
    ks = {k % 3 for k in range(7)}
    return sum(x[k] ** 2 for k in sorted(ks)) * len(ks)


@case(X)
def set_ops(x):
    free = set(range(6)) - {0, 5}
    return sum(x[k] ** 2 for k in free)


@case(X)
def set_ops2(x):
    fixed = {0, 5}
    free = [i for i in range(len(x)) if i not in fixed]
    fixed.add(2)
    fixed |= {3}
    return np.sum(x[free]) * len(fixed)


@case(X)
def set_graph(x):
    edges = [(0, 1), (1, 2), (2, 0), (3, 4)]
    visited = set()
    order = []
    stack = [0]
    adj = {k: set() for k in range(6)}
    for a, b in edges:
        adj[a].add(b)
        adj[b].add(a)
    while stack:
        v = stack.pop()
        if v in visited:
            continue
        visited.add(v)
        order.append(v)
        for w in sorted(adj[v] - visited):
            stack.append(w)
    return sum(x[k] * (i + 1) for i, k in enumerate(order))


@case(X)
def breaks_of_both_in_long_loops(x):
    s = 0.0
    for i in range(100):
        for j in range(6):
            if x[j] * s > 4.5:
                s *= 0.5
                break
            s += x[j] * 0.1
        else:
            if i > 60 and s > 1.5:
                break
        s += 0.01
    return s


@case(X)
def the_outer_one_at_once(x):
    s = 0.0
    for i in range(3):
        for j in range(6):
            if x[j] > 5:
                break
        else:
            break
        s += 1
    return s + x[0]


@case(X)
def in_while(x):
    s = 0.0
    k = 0
    while k < 50:
        k += 1
        for j in range(6):
            s += x[j]
            if s > 3.0 * k:
                break
        else:
            s *= 0.9
            if s > 40:
                break
    return s


@case(X)
def in_a_generator(x):
    return sum((d := v - 1.0) * d for v in x)


@case(X)
def of_two_loops(x):
    ys = [(z := a * b) + z * z for a in x for b in (1.0, 2.0)]
    return sum(ys) + z


@case(X)
def as_data_decide(x):
    ys = [y for v in x if (y := np.sin(v)) > 0.5]
    return np.sum(np.array(ys) ** 2) * len(ys)


@case(X)
def set_order(x):
    s = 0.0
    for k in {5, 1, 3}:
        s = s * 0.5 + x[k]
    return s


@case(X)
def set_more(x):
    a = {1, 2, 3}
    b = a.copy()
    b.add(4)
    b.discard(1)
    c = a & b
    d = a | b
    e = a ^ b
    ok = c <= a and a != b and b.issubset(d) and a.isdisjoint({9})
    a -= {3}
    a |= {5}
    a.update([0])
    return sum(x[k] for k in sorted(a)) * len(d) * len(e) * (2.0 if ok else 1.0)


@case(X)
def set_alias(x):
    a = {1}
    b = a
    b.add(2)
    return np.sum(x) * len(a)


@case(X)
def set_while(x):
    todo = {0, 1, 2}
    s = 0.0
    while todo:
        k = min(todo)
        todo.remove(k)
        s += x[k] ** 2
    return s


@case(X)
def set_long(x):
    keep = {k for k in range(100) if k % 7 == 0}
    s = 0.0
    for k in range(100):
        if k in keep:
            s += x[k % 6] * k
    return s


@case(X)
def set_dict(x):
    g = {"a": {1, 2}, "b": set()}
    g["b"].add(3)
    for name, ks in g.items():
        ks.add(0)
    return sum(x[k] for n in g for k in sorted(g[n]))


@case(X)
def uniq(x):
    labels = ["a", "b", "a"]
    names = sorted(set(labels))
    return sum(x[names.index(label)] for label in labels) * len(set(labels))


@case(X)
def what_is_it(x):
    a = {1, 2}
    return x[3] * isinstance(a, set) + x[0] * isinstance(a, (list, dict)) + x[1] * (type(a) is set)


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)


def keys_of_dicts(x):
    a, b = {"x": x[0], "y": x[1]}, {"z": x[2], "x": 2.0}
    both = set(a).union(b)
    maps = ChainMap(a, b, {"w": x[3]})
    return (sum(a.get(k, 0.5) * b.get(k, 1.0) for k in sorted(both)) + len(set().union(*[a, b]) - {"x"})
            + maps["w"] * maps["x"] * maps["z"] + len(maps) + maps.get("none", x[4]))


def test_keys_of_dicts() -> None:
    """`ChainMap` of the standard library catches the KeyError of a dict that has no such key."""
    check_both_modes(keys_of_dicts, (X,))


def the_first_one(x):
    if any((w := v) > 1.0 for v in x):
        return w * w
    return x[0]


def as_data_say(x):
    a = {1}
    if x[0] > 0:
        a.add(2)
    return np.sum(x) * len(a)


def of_data(x):
    return len({int(v) for v in x}) * x[0]


def as_a_result(x):
    return {1, 2}, x[0]


@pytest.mark.parametrize("fn, what", (
    (the_first_one, "a name bound in a generator expression"), (as_data_say, "a set changed inside a loop or branch"),
    (of_data, "a set of values only known at run time"), (as_a_result, "a return value that is not made of arrays")))
def test_refusals(fn: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        parse(fn, (X,))
