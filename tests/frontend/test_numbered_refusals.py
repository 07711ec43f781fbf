"""Lists and dicts of which long loops set items at places that they count: what is not taken."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.frontend.programs import Case, collector
from tests.support.interpreted import interpreted

L = np.linspace(0.1, 1.4, 100)
REFUSED: list[Case] = []
refused = collector(REFUSED)


@refused(L)
def under_two_names(x):
    hs, gs = [None] * 100, [None] * 100
    for t in range(100):
        if t > 0:
            hs[t - 1][0] = 5.0
        h = np.sin(x[t]) * np.ones(2)
        hs[t] = h
        gs[t] = h
    return sum(g[0] for g in gs)


@refused(L)
def assigned_to_two(x):
    hs, gs = [None] * 100, [None] * 100
    for t in range(100):
        hs[t] = gs[t] = x[t] * np.ones(2)
        hs[t][0] = 5.0
    return np.sum(np.array(gs)[:, 0])


@refused(L)
def one_array_in_two_places(x):
    hs = [None] * 101
    hs[0] = np.zeros(2)
    for t in range(100):
        hs[t + 1] = hs[t]
        hs[t + 1][0] += x[t]
    return np.sum(np.array(hs)[:, 0])


@refused(L)
def moved(x):
    hs = [None] * 101
    hs[0] = np.zeros(2)
    for t in range(100):
        a = hs[t]
        hs[t] = np.sin(a) + x[t]
        hs[t + 1] = a
        a[0] = 3.0
    return np.sum(np.array(hs)[:, 0])


@refused(L)
def named_before(x):
    hs = {0: np.zeros(2)}
    a = hs[0]
    for t in range(100):
        hs[t] = np.ones(2) * x[t]
    a[0] = 7.0
    return hs[0][0] + hs[99][1]


@refused(L)
def bound_to_a_name_as_well(x):
    hs = [None] * 100
    s = 0.0
    for t in range(100):
        hs[t] = a = x[t] * np.ones(2)
        hs[t][0] = 5.0
        s += a[0] * x[t]
    return s


@refused(L)
def one_of_two(x):
    a, b = x[:2].copy(), x[2:4].copy()
    hs = [None] * 100
    for t in range(100):
        hs[t] = a if x[t] > 0.5 else b
    hs[99][0] = 5.0
    return a[0] * x[3] + b[0]


@refused(L)
def a_view(x):
    a = x[:4].copy()
    hs = []
    for t in range(100):
        hs.append(a.reshape(2, 2).T)
        hs[t][0, 1] = 5.0
    return a.sum() * x[3]


@refused(L)
def half_of_an_array(x):
    z = x[:4] + 1j * x[4:8]
    hs = []
    for t in range(100):
        hs.append(z.real)
        hs[t][1] = 5.0
    return np.sum(np.abs(z) ** 2) * x[3]


@refused(L)
def in_two_lists(x):
    hs, g = [], []
    for t in range(100):
        hs.append(np.ones(2) * x[t])
        g.append(hs[t])
        hs[t][0] = 7.0
    return sum(v[0] for v in g) * x[0]


@refused(L)
def a_part_of_an_array(x):
    m = x[:4].copy()
    hs = {}
    for t in range(100):
        hs[t] = m[:2]
        hs[t][0] += x[t]
    return m[0]


@pytest.mark.parametrize("fn, arguments", REFUSED, ids=[c[0].__name__ for c in REFUSED])
def test_items_that_others_know_as_well(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Rows are copies: an update would not be seen where Python has one array."""
    with pytest.raises(UnsupportedError, match="list"):
        parse(fn, arguments)


def never_set(x):
    hs = {}
    for t in range(100):
        if t % 2 == 0:
            hs[t] = x[t] ** 2
    return hs[3]


def none_there(x):
    hs = [None] * 100
    for t in range(1, 100):
        hs[t] = x[t] ** 2
    return hs[0] + x[0]


def some_are_none(x):
    hs = [None] * 100
    for t in range(1, 100):
        hs[t] = x[t] ** 2
    return np.sum(np.array(hs))


def replaced_under_a_name(x):
    hs = {0: np.zeros(2)}
    for t in range(100):
        hs[t] = np.ones(2) * x[t]
    a = hs[5]
    for t in range(100):
        hs[t] = np.ones(2) * x[t] ** 2
    return a[0]


@pytest.mark.parametrize("fn, kind", ((never_set, KeyError), (none_there, TypeError), (some_are_none, TypeError),
                                      (replaced_under_a_name, RuntimeError)))
def test_what_the_run_raises(fn: Callable[..., Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        check(fn, L) if fn is replaced_under_a_name else _value(fn)


def _value(fn: Callable[..., Any]) -> None:
    with interpreted():
        sdfgad.value_and_grad(fn)(L)


def in_what_order(x):
    hs = {}
    for t in range(100):
        hs[t] = x[t] ** 2
    return sum(hs.values())


def known_to_the_run(x):
    hs, k = {}, 0
    while np.sin(x[k]) < 0.5:
        hs[k] = x[k]
        k += 1
    return hs[0]


def keys_of_several_kinds(x):
    hs = {"first": x[0]}
    for t in range(100):
        hs[t] = x[t]
    return hs[5] * hs["first"]


def is_it_empty(x):
    hs = {}
    for t in range(100):
        hs[t] = x[t] if not hs else hs[0]
    return hs[3]


def is_it_equal(x):
    hs, gs = {}, {}
    for t in range(100):
        hs[t] = gs[t] = x[t]
    return x[0] if hs == gs else x[1]


@pytest.mark.parametrize("fn, what", (
    (is_it_empty, "the truth of a list or dictionary of which loops count"),
    (is_it_equal, "a comparison of dictionaries"),
    (in_what_order, "the method 'values' of a dictionary of which loops count"),
    (known_to_the_run, "a key of a dictionary"),
    (keys_of_several_kinds, "a dictionary with keys of several kinds")))
def test_refusals(fn: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        parse(fn, (L,))


def test_results() -> None:
    def lists(x):
        hs, gs = [None] * 100, [0.0] * 100
        for t in range(100):
            hs[t] = np.array([x[t], 1.0])
            gs[t] = x[t] ** 2
        return hs, gs

    check(lists, L)

    def dicts(x):
        hs = {}
        for t in range(100):
            hs[t] = x[t]
        return hs

    with pytest.raises(UnsupportedError, match="a dictionary whose keys a loop counts, as a whole"):
        parse(dicts, (L,))
