"""Names that are None, or not bound, on some ways: found or not, best so far, the one before."""
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

RANDOM = np.random.default_rng(5)
W, ROWS = RANDOM.uniform(-1.0, 1.0, 80), RANDOM.uniform(-1.0, 1.0, (80, 3))
CASES: list[Case] = []
case = collector(CASES)


@case(W)
@case(W[:9])
def best_of_some(w):
    best = None
    for i in range(w.size):
        if w[i] > -0.3 and (best is None or w[i] ** 2 < best):
            best = w[i] ** 2
    return best * 2 if best is not None else w[0]


@case(ROWS)
def best_row(rows):
    best = least = None
    for row in rows:
        cost = np.sum((row - 0.3) ** 2)
        if row[0] > 0 and (least is None or cost < least):
            best, least = row * 2, cost
    return np.sum(best ** 3) + least


@case(W)
def one_before(w):
    before, s = None, 0.0
    for x in w:
        if x < 0:
            continue
        if before is not None:
            s += (x - before) ** 2  # noqa: F821
        before = x
    return s


@case(ROWS)
def bound_first_and_then_behind(rows):
    """The slope of the step before, which the first step has not: it takes its own."""
    x = np.ones(3)
    for t in range(80):
        slope = np.sin(x) * rows[t]
        if t == 0:
            before = slope
        x = x + 0.1 * (1.6 * slope - 0.6 * before)  # noqa: F821
        before = slope
    return np.sum(x)


@case(W)
@case(W[:9])
def bound_by_data_and_then_behind(w):
    x, n = 1.0, 0
    while n < w.size and x < 3.0:
        if w[n] > 0.2 or n == 0:
            kept = w[n] * x
        x = x + 0.3 * kept ** 2  # noqa: F821
        if w[n] < -0.9:
            n += 2
            continue
        kept = x * w[n] + 0.1
        n += 1
    return x


@case(W)
@case(W - 5.0)
def found_by_break(w):
    found = None
    for i in range(80):
        if w[i] > 0.8:
            found = i
            break
    return w[found] ** 2 if found is not None else w[0] * 3


@case(W)
def found_while(w):
    found, k = None, 0
    while found is None and k < 80:
        if w[k] > 0.7:
            found = w[k] * 2
        k += 1
    return w[1] if found is None else found ** 2


@case(W)
def forgotten(w):
    run, s = None, 0.0
    for x in w:
        if x > 0:
            run = x if run is None else run * 0.5 + x
        elif run:
            s, run = s + run ** 2, None
    return s


@case(W)
def by_a_call(w):
    def above(level):
        for i in range(80):
            if w[i] > level:
                return i, w[i]

    s = 0.0
    for level in (0.2, 0.6, 40.0):
        if (found := above(level)) is not None:
            s += found[0] * found[1]
    return s


@case(ROWS)
def summed_in_place(rows):
    total = None
    for row in rows:
        if row[0] < 0:
            continue
        if total is None:
            total = row.copy()
        else:
            total += row ** 2
    return np.sum(total ** 2)


@case(W)
def in_an_object(w):
    seen = {"low": None, "pair": None}
    for x in w:
        if x > 0 and (seen["low"] is None or x < seen["low"]):
            seen["low"] = x
            seen["pair"] = (x, x ** 2)
    return seen["low"] + seen["pair"][0] * seen["pair"][1]


@case(ROWS)
def state_of_the_best(rows):
    best, least, s = None, np.inf, 0.0
    for row in rows:
        cost = np.sum(row ** 2)
        if cost < least:
            best, least = {"x": row * 2, "c": cost}, cost
        if best is not None:
            best["c"] = best["c"] * 0.9
            s += best["c"]
    return np.sum(best["x"]) + s


@case(W)
def told_and_changed(w):
    best, other, s = None, None, 0.0
    for x in w:
        if best is not None:
            s += best * x
            best = None if x > 0.5 else x
            if best is not None:
                s += best * 3
        elif x > 0:
            best = x * 2
        other = best
        s += 0.5 if other is None else other
    return s


@case(W)
def not_bound_at_first(w):
    have, s = False, 0.0
    for x in w:
        if x < 0:
            continue
        if have:
            s += (x - before) ** 2  # noqa: F821
        have, before = True, x  # noqa: F841
    return s


@case(W)
@case(W[:9] + 0.7)
def bound_at_a_break(w):
    for i in range(w.size):
        if w[i] > 0.8:
            k, found = i, w[i] * 2
            break
    return w[k] ** 2 + found


@case(W)
def where_a_loop_ended(w):
    for i in range(80):
        if w[i] > 0.8:
            k = i
            break
    else:
        k = 0
    return w[k] ** 2


@pytest.mark.parametrize("fn, arguments", CASES, ids=[f"{c[0].__name__}{k}" for k, c in enumerate(CASES)])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)


def test_runs_without_a_value() -> None:
    """Python's errors, in the runs where it has them."""
    def largest(w):
        best = None
        for x in w:
            if x > 0.5 and (best is None or x > best):
                best = x
        return best

    def sure(w):
        if w[0] > 0.5:
            y = w[1]
        return w[2] * y

    for f, error, what in ((largest, TypeError, "None where a value"), (sure, UnboundLocalError, "'y'")):
        call = sdfgad.forward(f)
        np.testing.assert_allclose(call(np.array([0.7, 0.9, -1.0])), f(np.array([0.7, 0.9, -1.0])))
        with pytest.raises(error, match=what):
            call(np.array([0.1, 0.2, 0.3]))


def of_two_kinds(w):
    a = w if w[0] > 0 else None
    if a is None:
        a = "none"
    return np.sum(a)


def clipped(w):
    low = None
    for x in w:
        if x > 0:
            low = x
    return np.sum(np.clip(w, low, 1.0))


def the_same_dict(rows):
    state, best = {"x": rows[0]}, None
    for row in rows:
        state["x"] = state["x"] * 0.5 + row
        if row[0] > 0:
            best = state
    return np.sum(best["x"])


@pytest.mark.parametrize("program, x, what", [
    (of_two_kinds, W, "is .none. on some paths, and on others an array"),
    (clipped, W, "None or not bound .* as an argument"),
    (the_same_dict, ROWS, "'best', which changes its shape or type")])
def test_refused(program: Callable[..., Any], x: np.ndarray, what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (x,))
