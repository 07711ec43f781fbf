"""Lists and dicts of which long loops set items at places that they count, and look at them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend.checking import check_both_modes
from tests.frontend.programs import Case, collector

L = np.linspace(0.1, 1.4, 100)
CASES: list[Case] = []
case = collector(CASES)


class Net:
    def __init__(self):
        self.hs = {}

    def run(self, x):
        self.hs[-1] = 0.0
        for t in range(len(x)):
            self.hs[t] = np.tanh(x[t] + self.hs[t - 1])
        return self.hs[len(x) - 1]


def fill(d, x):
    for t in range(100):
        d[t] = x[t] ** 2


@case(L)
def no_item_at_first(x):
    hs = {}
    for t in range(100):
        prev = hs[t - 1] if t > 0 else 0.1
        hs[t] = np.tanh(prev + x[t])
    return hs[99]


@case(L)
def with_a_default(x):
    hs = {}
    for t in range(100):
        hs[t] = np.tanh(hs.get(t - 1, 0.1) + x[t])
    return hs[99]


@case(L)
def longer_keys(x):
    d = {}
    for i in range(70):
        for j in range(2):
            d[(i, j)] = x[i] * (j + 1)
    s = 0.0
    for i in range(70):
        s += d[i, 0] * d[i, 1]
    return s


@case(L)
def in_while(x):
    v = [0.0] * 100
    t = 0
    while t < 100:
        v[t] = x[t] ** 2
        t += 1
    return sum(v) + v[3]


@case(L)
def updated_items(x):
    g = [0.0] * 100
    for t in range(99):
        g[t] += x[t]
        g[t + 1] += 0.5 * x[t] * g[t]
    return np.sum(np.array(g) * x)


@case(L)
def two_dicts(x):
    hs = {-1: np.zeros(3)}
    cs = {-1: np.zeros(3)}
    for t in range(len(x)):
        cs[t] = 0.5 * cs[t-1] + x[t] * np.arange(3.0)
        hs[t] = np.tanh(cs[t]) * hs[t-1] + 0.1
    dh = np.zeros(3)
    for t in reversed(range(len(x))):
        dh = dh * 0.3 + hs[t] * cs[t - 1]
    return np.sum(dh)


@case(L)
def in_an_object(x):
    n = Net()
    return n.run(x) + n.hs[5]


@case(L)
def in_a_function(x):
    d = {}
    fill(d, x)
    return d[4] * d[77]


@case(L)
def left_early(x):
    hs = [0.0] * 101
    for t in range(100):
        hs[t + 1] = hs[t] + x[t]
        if hs[t + 1] > 20.0:
            break
    return hs[t] * t


@case(L)
def tuples_of_arrays(x):
    st = [None] * 101
    st[0] = (0.1, np.zeros(2))
    for t in range(100):
        a, b = st[t]
        st[t + 1] = (a * 0.5 + x[t], np.tanh(b + a))
    return st[100][0] + st[100][1].sum()


@case(L)
def both_ends(x):
    T = 100
    g = [None] * T
    for t in range(T - 1, -1, -1):
        g[t] = x[t] if t == T - 1 else x[t] + 0.9 * g[t + 1]
    return sum(g)


@case(L)
def integers(x):
    p_ = [0] * 100
    for i in range(1, 100):
        p_[i] = (p_[i - 1] * 3 + 1) % 100
    s = 0.0
    for i in range(100):
        s += x[p_[i]] * i
    return s


@case(L)
def items_of_a_list_updated(x):
    hs = []
    for t in range(len(x)):
        hs.append(np.zeros(2))
        hs[t][t % 2] = x[t]
    return np.sum(np.array(hs) ** 2)


@case(L)
def the_last_item_updated(x):
    hs = []
    for t in range(len(x)):
        hs.append(np.zeros(2))
        hs[-1][t % 2] = x[t]
    return np.sum(np.array(hs) ** 2)


@case(L)
def texts_in_keys(x):
    alpha = {}
    for t in range(90):
        for s in ("a", "b"):
            if t == 0:
                alpha[t, s] = 0.5 * x[t]
            else:
                alpha[t, s] = (alpha[t - 1, "a"] * 0.3 + alpha[t - 1, "b"] * 0.6) * x[t]
    return alpha[89, "a"] + alpha[89, "b"]


@case(L)
def updated_behind(x):
    hs = []
    for t in range(100):
        hs.append(np.ones(2) * x[t])
    a = hs[3]
    b = hs[2:5]
    for t in range(100):
        hs[t][0] = x[t] * t
    return a[0] * x[1] + b[1][0]


@case(L)
def a_part_of_some(x):
    hs = []
    for t in range(100):
        if x[t] > 0.3:
            hs.append(np.ones(2) * x[t])
    b = hs[1:]
    hs[2][0] = 9.0
    return b[1][0] * x[1]


@case(L)
def arrays_in_tuples(x):
    hs = []
    for t in range(100):
        hs.append((np.ones(2) * x[t], x[t]))
        hs[t][0][1] = 3.0
    for a, b in hs:
        a[0] *= b
    return sum(a.sum() * b for a, b in hs)


@case(L)
def each_in_turn(x):
    hs = []
    for t in range(100):
        hs.append(np.zeros(2))
    for h in hs:
        h += x[3]
    for i, h in enumerate(hs):
        h[0] = x[i]
    return np.sum(np.array(hs))


@case(L)
def what_is_it(x):
    hs = {}
    for t in range(100):
        hs[t] = x[t] * (2.0 if isinstance(hs, dict) else 3.0)
    return hs[7] * len(hs)


@case(L)
def as_results(x):
    hs, gs = [None] * 100, [None] * 100
    for t in range(100):
        hs[t] = x[t] ** 2
        gs[t] = np.array([x[t], 1.0])
    return np.sum(np.array(hs)) * gs[3][0]


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)
