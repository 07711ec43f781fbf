"""Lists whose length data decide: loops that append under a condition or end early, and what becomes of the lists."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check_both_modes
from tests.frontend.programs import Case, collector

RANDOM = np.random.default_rng(6)
W, ROWS = RANDOM.uniform(-1.0, 1.0, 80), RANDOM.uniform(-1.0, 1.0, (80, 3))
CASES: list[Case] = []
case = collector(CASES)


@case(W)
def adaptive_steps(w):
    t, y = 0.0, 1.0
    ts, ys = [t], [y]
    for k in range(100):
        y = y - 0.01 * y ** 2 * w[k % 8]
        t = t + 0.1 + 0.01 * y ** 2
        ts.append(t)
        ys.append(y)
        if t > 2:
            break
    s = 0.0
    for i in range(len(ts) - 1):
        s += (ts[i + 1] - ts[i]) * 0.5 * (ys[i] + ys[i + 1])
    return s + np.max(ys) + max(ts) + np.mean(np.array(ys)) + sum(ts) * ys[-1]


@case(W)
@case(W[:9])
def some_of_them(w):
    kept = []
    for x in w:
        if x > 0:
            kept.append(x)
    if not kept:
        return w[0]
    return np.sum(np.array(kept) ** 2) + len(kept) * kept[-1] + kept[0]


@case(ROWS)
def rows_and_pairs(rows):
    pairs, found = [], []
    for i, row in enumerate(rows):
        if row[0] > 0.2:
            pairs.append((row[1], row[2] * i))
        else:
            found.append(row * 2)
            found.append(row[::-1])
    s = 0.0
    for k, (a, b) in enumerate(pairs):
        s += k * a * b
    return s + np.sum(np.array(found) ** 2) + pairs[-1][0] * found[-2][1]


@case(ROWS)
def in_inner_loops(rows):
    above, log = [], {"last": []}

    def note(x):
        if x > 0.5:
            above.append(x)

    for row in rows:
        for j in range(3):
            note(row[j] * (j + 1))
            note(-row[j])
        if len(above) > 30:
            break
        if above:
            log["last"].append(above[-1])
    return np.prod(np.array(above)) * 1e3 + sum(log["last"]) * len(log["last"])


@case(ROWS)
def begun_anew(rows):
    s = 0.0
    for row in rows:
        ups = [x for x in row if x > 0]
        s += len(ups) + (ups[-1] ** 2 if ups else row[0])
    return s


@case(W)
def conditions_in_comprehensions(w):
    ups = [i for i in range(80) if w[i] > 0.3]
    return sum(x ** 2 for x in w if x < 0) + sum(w[k] * k for k in ups) + w[ups[-1]]


@case(W)
def until_it_settles(w):
    def run():
        seen = [w[0]]
        for _ in range(100):
            x = 0.5 * np.cos(seen[-1]) + 0.1 * w[1]
            if abs(x - seen[-1]) < 1e-6:
                return seen
            seen.append(x)
        return seen

    seen = run()
    return seen[-1] * len(seen) + seen[1]


@pytest.mark.parametrize("fn, arguments", CASES, ids=[f"{c[0].__name__}{k}" for k, c in enumerate(CASES)])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)


def test_an_item_that_is_not_there() -> None:
    def third(w):
        ups = []
        for x in w:
            if x > 0:
                ups.append(x * 2)
        return ups[2]

    call = sdfgad.forward(third)
    assert call(np.array([1.0, 2.0, -1.0, 4.0])) == 8.0
    with pytest.raises(IndexError):
        call(np.array([1.0, 2.0, -1.0, -4.0]))


def changed_since(rows):
    u, seen = rows[0] * 1.0, []
    for row in rows:
        u[:] = u * 0.5 + row
        if u[0] > 0:
            seen.append(u)
    return np.sum(np.array(seen))


def longer_inside(rows):
    """The list is older than the loop around, which looks after its items."""
    seen = [0.0]
    for row in rows:
        seen[0] = seen[0] + row[0]
        for x in rows[:, 1]:
            seen.append(x * row[1])
        if row[0] > 0.5:
            break
    return len(seen) * seen[0] + seen[-1]


@pytest.mark.parametrize("program, x, what", [
    (changed_since, ROWS, "has been updated in place since"),
    (lambda w: [x for x in w if x > 0], W, "whose length data decide")])
def test_refused(program: Callable[..., Any], x: np.ndarray, what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (x,))
