"""Lists and dicts of which long loops set items at places that they count: hs[t] = f(hs[t - 1])."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import Case, collector
from tests.support.interpreted import interpreted

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
