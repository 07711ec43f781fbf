"""Loops: counted, conditional, left early."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend.checking import check
from tests.frontend.programs import V6, Case, collector

CASES: list[Case] = []
case = collector(CASES)


@case(V6)
@case(0.1 * V6)
def break_in_an_else(x):
    """It ends the loop around."""
    s, n = x[1], 0
    for t in range(12):
        for k in range(12):
            s = s + 0.01 * k
        else:
            s = s * 0.5 + 1.0
            if s > 1.6 + x[2]:
                break
        s = s - 0.1 * t
    while n < 12:
        m, n = 0, n + 1
        while m < 2:
            m, s = m + 1, s * 1.1
        else:
            if s > 2.5:
                break
        s = s + 0.2
    return s


@case(V6, 4)
def range_forms(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    for i in range(1, n):
        s += 2 * x[i]
    for i in range(5, 0, -2):
        s += 3 * x[i]
    for i in range(n, n):
        s += 100.0
    return s, i


@case(V6)
def triangular(x):
    s = 0.0
    for i in range(6):
        for j in range(i):
            s += x[i] * x[j]
        for j in range(i, 6):
            s -= x[j]
    return s


@case(V6)
def while_with_counter(x):
    k = 0
    s = 0.0
    while k < 5 and s < 100:
        s = s + x[k]
        k += 1
    return s, k


@case(V6)
def while_true_break(x):
    s = 1.0
    n = 0
    while True:
        s = s * 1.5 + x[0]
        n += 1
        if s > 9:
            break
    return s, n


@case(V6)
def int_then_float(x):
    s = 0
    udiff = 1
    n = 0
    while udiff > 0.01:
        s = s + x[0]
        udiff = udiff / 2.0
        n += 1
    return s, udiff, n


@case(V6)
def continue_in_loop(x):
    s = 0.0
    for i in range(6):
        if x[i] < 0:
            continue
        s += x[i]
        if s > 2.0:
            continue
        s *= 1.1
    return s


@case(V6)
def break_nested(x):
    s = 0.0
    for i in range(4):
        for j in range(6):
            if x[j] < i - 1.5:
                break
            s += x[j] * i
        if s > 3:
            break
        s += 0.25
    return s


@case(V6)
def for_else(x):
    for i in range(6):
        if x[i] > 5:
            r = 1.0
            break
    else:
        r = x[0]
    return r


@case(V6)
def for_else_taken(x):
    r = 0.0
    for i in range(6):
        if x[i] < 0:
            r = x[i]
            break
    else:
        r = 5.0
    return r


@case(V6)
def early_return(x):
    if x[0] > 0.5:
        return x[1] * 2
    y = x * 2
    if y[1] > 1:
        return y[2]
    return y.sum()


@case(V6)
def return_in_loop(x):
    for i in range(6):
        if x[i] < 0:
            return x[i] * 10
    return 1.0


@case(V6)
def return_in_nested_loop(x):
    s = 0.0
    for i in range(6):
        for j in range(6):
            s += x[i] * x[j]
            if s > 1.3:
                return s * i
        s += 0.01
    return s


@case(V6)
def return_index(x):
    for i in range(6):
        if x[i] < 0:
            return i
    return -1


@case(V6)
def return_array_in_loop(x):
    y = x.copy()
    for i in range(5):
        y = y * 1.5
        if y[0] > 1.0:
            return y
    return x


@case(V6)
def shifts_from_data_beside_a_rebound_name(x):
    shifts = np.array([0, 1, -1])
    for _ in range(3):
        for i in range(3):
            x[:] = np.roll(x, shifts[i])
        x = np.where(x > 0.5, x, x + 1)
    return x


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)


def test_what_a_form_that_was_refused_had_not_stored_yet_is_forgotten():
    def program(x):
        held = {}
        for k in range(4):
            held[k] = x[k]
        x += 1.0
        return np.sum(x) + held[2]

    check(program, np.linspace(0.0, 1.0, 5))


def test_breaks_of_two_loops():
    def both(x):
        for t in range(5):
            for v in x:
                if v > 0.9:
                    break
            else:
                if x[0] > t:
                    break
        return x[t]

    check(both, V6)
    check(both, 0.1 * V6)
