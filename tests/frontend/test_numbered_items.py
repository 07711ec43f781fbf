"""Lists and dicts of which long loops set items at places that they count: hs[t] = f(hs[t - 1])."""
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


@case(L)
def states(x):
    hs = {}
    hs[-1] = 0.1
    for t in range(len(x)):
        hs[t] = np.tanh(x[t] + 0.5 * hs[t - 1])
    return sum(hs[t] ** 2 for t in range(len(x)))


@case(L)
def a_network(x):
    W = np.array([[0.1, 0.2], [0.3, 0.4]])
    xs, hs, ys = {}, {}, {}
    hs[-1] = np.zeros(2)
    loss = 0.0
    for t in range(len(x)):
        xs[t] = np.zeros(2)
        xs[t][t % 2] = x[t]
        hs[t] = np.tanh(W @ xs[t] + 0.5 * hs[t - 1])
        ys[t] = hs[t].sum()
        loss += ys[t] ** 2
    return loss


@case(L)
def backwards(x):
    hs, d = {}, 0.0
    hs[-1] = np.copy(x[:2])
    for t in range(100):
        hs[t] = np.tanh(x[t] + 0.5 * hs[t - 1])
    for t in reversed(range(100)):
        d = d * 0.3 + np.sum(hs[t] * hs[t - 1])
    return d


@case(L)
def in_places_kept_by_none(x):
    T = len(x)
    hs = [None] * T
    h = np.zeros(2)
    for t in range(T):
        h = np.tanh(x[t] + 0.5 * h + np.array([0.1, 0.2]))
        hs[t] = h
    return np.sum(np.array(hs) ** 2)


@case(L)
def arrays_one_ahead(x):
    T = len(x)
    hs = [None] * (T + 1)
    hs[0] = np.zeros(2)
    for t in range(T):
        hs[t + 1] = np.tanh(x[t] + 0.5 * hs[t] + np.array([0.1, 0.2]))
    return np.sum(hs[-1]) + hs[50][0]


@case(L)
def zeros_at_first(x):
    T = len(x)
    hs = [0] * (T + 1)
    for t in range(T):
        hs[t + 1] = np.tanh(x[t] + 0.5 * hs[t])
    return sum(hs)


@case(L)
def floats_at_first(x):
    T = len(x)
    hs = [0.0] * (T + 1)
    hs[0] = x[0]
    for t in range(1, T + 1):
        hs[t] = np.tanh(x[t - 1] + 0.5 * hs[t - 1])
    return hs[T] + hs[3]


@case(L)
def from_the_end(x):
    T = len(x)
    v = [None] * T
    v[T - 1] = x[T - 1] ** 2
    for t in range(T - 2, -1, -1):
        v[t] = max(x[t], 0.9 * v[t + 1])
    return v[0]


@case(L)
def a_table_of_lists(x):
    n = 9
    v = [[0.0] * n for _ in range(n)]
    for i in range(1, n):
        for j in range(1, n):
            v[i][j] = x[i * j] + 0.5 * max(v[i-1][j], v[i][j-1])
    return v[n-1][n-1]


@case(L)
def keys_of_two_parts(x):
    d = {}
    for i in range(9):
        for j in range(9):
            d[i, j] = x[i * 9 + j] ** 2 + (d[i, j - 1] if j > 0 else 0.0)
    return d[8, 8] + d[3, 4]


@case(L)
def pairs_of_states(x):
    st = {0: (x[0], x[1])}
    for t in range(99):
        a, b = st[t]
        st[t + 1] = (a + 0.01 * b, b - 0.01 * a * x[t])
    return st[99][0] * st[50][1]


@case(L)
def dicts_in_a_dict(x):
    caches = {"h": {}, "c": {}}
    caches["h"][-1] = 0.0
    caches["c"][-1] = 1.0
    for t in range(100):
        caches["c"][t] = 0.5 * caches["c"][t-1] + x[t]
        caches["h"][t] = np.tanh(caches["c"][t]) + caches["h"][t-1] * 0.1
    return caches["h"][99]


@case(L)
def some_alone(x):
    hs = {}
    for t in range(100):
        if t % 2 == 0:
            hs[t] = x[t] ** 2
    return hs[4] + hs[98]


@case(L)
def set_again(x):
    d = {}
    for i in range(100):
        d[i] = x[i]
    for k in range(3):
        for i in range(1, 99):
            d[i] = 0.5 * (d[i - 1] + d[i + 1])
    return d[50] ** 2


@case(L)
def asked_for(x):
    memo = {0: x[0], 1: x[1]}
    for n in range(2, 100):
        if n not in memo:
            memo[n] = memo[n - 1] * 0.5 + memo[n - 2] * x[n]
    return memo[99]


@case(L)
def is_it_none(x):
    memo = [None] * 100
    memo[0] = x[0]
    for n in range(1, 100):
        if memo[n] is None:
            memo[n] = memo[n - 1] * 0.5 + x[n]
    return memo[99]


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)
