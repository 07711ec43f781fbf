"""State that loops, branches and inner functions keep: items of lists, nonlocal names, what begins as None or 0."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import Case, collector

RANDOM = np.random.default_rng(3)
W, ROWS = RANDOM.uniform(-0.9, 0.9, 80), RANDOM.uniform(-0.9, 0.9, (80, 3))
CASES: list[Case] = []
case = collector(CASES)


# items of lists

@case(W)
def scratch(w):
    hsv, s = [0.0, 0.0, 1], 0.0
    for k in range(80):
        hsv[0] = w[k] * 0.5 + hsv[2]
        if hsv[0] > 0.2:
            hsv[1] += hsv[0] * w[1]
        hsv[2] = np.sin(hsv[1])
        s += hsv[0] * hsv[1]
    return s + hsv[2]


@case(W)
def in_a_branch(w):
    a = [w[0], w[1], 1.0]
    if w[2] > 0.1:
        a[0], a[2] = w[3] * 2, a[2] + w[4]
    else:
        a[1] = a[0] * w[1]
    return a[0] * a[1] + a[2] ** 2


@case(W)
def places_that_data_choose(w):
    bins, rows, pairs, top = [0.0] * 3, [w[:2], w[1:3] * 2, w[2:4] ** 2], [(w[0], 1), (w[1], 2.0)], 0
    stack = [w[5], 0.0, 0.0, 0]
    for k in range(80):
        bins[int(3 * abs(w[k]))] += w[k] ** 2
        if w[k] > 0 and top < 3:
            top += 1
            stack[top] = w[k] * stack[top - 1]
        elif top > 0:
            top -= 1
            bins[-1 - top % 2] = bins[k % 3] * 0.5 + rows[top % 3][k % 2]
    a, b = pairs[int(w[3] > 0)]
    return bins[0] * bins[1] + bins[2] + stack[top] * a * b


@case(W)
def window(w):
    h = [0.0, 0.0, 0.0]
    s = 0.0
    for t in w:
        h.append(t * 0.5 + h[-1] * 0.3)
        h.pop(0)
        s += h[0] * h[1] - h[2] ** 2
    return s


@case(ROWS)
def history_of_arrays(rows):
    h = [rows[0], rows[1] * 2]
    for k in range(80):
        h.append(np.tanh(1.5 * h[-1] - 0.5 * h[-2] + rows[k]))
        h.pop(0)
        if k % 7 == 3:
            h[0], h[1] = h[1], h[0]
    return np.sum(h[0] * h[1])


@case(W)
def lists_in_lists(w):
    g, state = [[1.0, 0.0], [0.0, 1.0]], {"a": [0.0, 1.0], "n": 0}
    for t in range(80):
        c, s = np.cos(w[t]), np.sin(w[t])
        g[0][0], g[0][1] = c * g[0][0] - s * g[1][0], c * g[0][1] - s * g[1][1]
        g[1][0] = s * g[0][0] + c * g[1][0] * 0.5
        state["a"][0] += g[0][0] * 0.1
        for j in range(2):
            state["a"][j] *= 0.9
        state["n"] += 1
    return g[0][0] + g[1][0] * g[0][1] + state["a"][0] * state["n"] + state["a"][1]


@case(W)
def one_list_of_several_names(w):
    row = [0.0, 1.0]
    grid, held = [row] * 3, {"k": row}

    def change(q, t):
        q[0] = q[1] * 0.5 + t

    for t in w:
        change(row, t)
        grid[2][1] = held["k"][0] * 0.5
    return grid[1][0] * row[1]


@case(ROWS)
def arrays_in_place(rows):
    a = [np.zeros(3), np.ones(3)]
    z = a[0]
    for k in range(80):
        a[0] += rows[k]
        a[1][1:] *= 0.99
        if rows[k, 0] > 0.9:
            a[1] = a[0] * 0.5
    return np.sum(z) * np.sum(a[1]) + a[0][0]


@case(W)
def copies(w):
    a, s = [w[0], w[1]], 0.0
    for t in w:
        b, c, d = a[:], list(a), a
        b[0], c[1], d[0] = t, 2.0, d[0] * 0.9 + t
        s += a[0] * b[0] * c[1] + d[1]
    a[:] = [s, a[0]]
    return s + a[1]


@case(W)
def until_they_say(w):
    a, n = [1.0 + w[0] ** 2, 0.0], 0
    while a[0] > 0.01:
        a[1] += a[0] * w[n % 80]
        a[0] = a[0] * 0.9
        n += 1
        if n > 100:
            break
    return a[1] * a[0] + n


# nonlocal

@case(W)
def counted(w):
    total, best, where = 0.0, -1e9, 0

    def see(k, t):
        nonlocal total, best, where
        total = total * 0.5 + t * t
        if t > best:
            best, where = t, k

    for k in range(80):
        see(k, w[k])
    return total + best * w[where]


@case(W, 2.0)
def parameters_and_arrays(w, a):
    u, n = np.zeros(5), 0

    def step(t):
        nonlocal u, n, a
        u = 0.9 * u + w[t:t + 5]
        u[0] += 1.0
        n, a = n + 1, a * 0.99

    for t in range(70):
        step(t)
    return np.sum(u ** 2) / n * a


@case(W)
def functions_in_functions(w):
    a = 0.0

    def outer(t):
        b = t

        def inner():
            nonlocal a, b
            b *= 2
            a += b

        inner()
        inner()
        return b

    s = 0.0
    for t in w:
        s += outer(t)
    return s * a


@case(W)
def other_names_of_the_same_text(w):
    s = w[0]

    def f():
        nonlocal s
        s = s + 1
        return [s for s in (1.0, 2.0)][0]

    def g(s):
        return s * s

    def counter():
        n = 0.0

        def add(t):
            nonlocal n
            n += t
            return n

        return add

    h = lambda s: s * 2  # noqa: E731
    p, q = counter(), counter()
    p(w[2])
    q(w[3])
    return (f() + h(3.0) + g(w[1])) * s + p(w[4]) * q(0.0)


@case(W)
def names_of_loops(w):
    def double():
        nonlocal t
        t = t * 2

    t = w[0]
    for _ in range(3):
        double()
    for t in w:
        pass
    double()
    a, t = t, w[1]
    double()
    return t + a


# values that are of another kind before the first iteration

@case(ROWS)
def from_zero(rows):
    total = 0
    for i in range(80):
        row = 0
        for j in range(70):
            row = row + rows[j] * rows[i]
        total = total + np.tanh(row)
    return np.sum(total)


@case(ROWS)
def from_none(rows):
    before, s = None, 0.0
    for k in range(80):
        u = np.tanh(rows[k])
        if before is not None:
            s += np.sum((u - before) ** 2)
        before = u
    return s + before[0]


@case(ROWS)
def stages(rows):
    u, k = rows[0], [None] * 2
    for _ in range(80):
        k[0] = np.sin(u) * u[::-1]
        k[1] = np.sin(u + 0.05 * k[0])
        u = u + 0.05 * (k[0] + k[1])
    return np.sum(u ** 2)


@case(ROWS)
def after_two_iterations(rows):
    d = {"last": None, "s": 0}
    for k in range(80):
        if d["last"] is not None:
            d["s"] = d["s"] + d["last"] * rows[k]
        d["last"] = rows[k] * 2
    return np.sum(d["s"])


@case(W)
def while_none(w):
    before, x, n = None, 1.0, 0
    while before is None or abs(x - before) > 1e-10:
        before = x
        x = 0.5 * (x + (2 + w[0] ** 2) / x)
        n += 1
    return x * n


# else of loops

@case(W)
def ended_without_break(w):
    found = {"a": 0.0, "n": 0}
    for i in range(70):
        t = 0.0
        for j in range(70):
            t += w[i] * w[j]
            if t > 1.0:
                found["n"] += 1
                break
            if t < -2.0:
                continue
            found["a"] += t * 0.01
        else:
            found["a"] *= 0.5
    return found["a"] * found["n"] + found["a"]


@case(ROWS)
def ended_with_names_exchanged(rows):
    p, q, s = np.zeros(3), np.ones(3), 0.0
    for k in range(71):
        p[1:] = 0.5 * q[:-1] + rows[k, 1:]
        p, q = q, p
    else:
        s = np.sum(p * 2) + p[1]
        p[0] = 7.0
    return s + np.sum(q * p)


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)


def test_a_function_with_finally_is_translated_twice() -> None:
    def f(w):
        s = 0.0
        for t in w:
            try:
                s += t
            finally:
                s *= 0.99
        while (n := s) > 3.0:
            s = s * 0.5
        return s * n

    check(f, W)
    check(f, W[:70])


def longer(w):
    b = [[0.0]]
    for t in w:
        if t > 0:
            b[0].append(t)
    return b[0]


def somewhere(w):
    a = [[0.0], [1.0]]
    for k in range(80):
        a[k % 2][0] = w[k]
    return a[0][0] * a[1][0]


@pytest.mark.parametrize("program, what", [
    (longer, "a list whose length data decide"), (somewhere, "a list changed that may be one of several")])
def test_refused(program: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (W,))
