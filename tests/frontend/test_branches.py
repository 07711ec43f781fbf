"""Conditionals and what is bound in them."""
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
def conditional_expression(x):
    a = x[0] if x[1] > 0.5 else x[2]
    b = x if x[3] > 0 else x * 2
    return a + b.sum()


@case(V6)
def guarded_index(x):
    s = 0.0
    for i in range(6):
        if i > 0 and x[i - 1] > 0:
            s += x[i]
        if i == 5 or x[i + 1] < 0:
            s -= x[i]
    return s


@case(V6)
def chained_comparison(x):
    n = 0
    for i in range(6):
        if 0 < x[i] <= 0.7:
            n += 1
    return n


@case(V6, True, None, "a")
def compile_time_branches(x, flag, option, mode):
    if flag and option is None:
        y = x * 2
    else:
        y = undefined_name  # noqa: F821
    if mode == "b":
        y = y + 1
    elif mode in ("a", "c"):
        y = y - 1
    return y


@case(V6)
def if_elif_else(x):
    y = np.zeros(6)
    for i in range(6):
        if x[i] < 0:
            t = -x[i]
        elif x[i] < 0.5:
            t = x[i] * x[i]
        else:
            t = 1.0
        y[i] = t
    return y


@case(V6)
def branch_on_index(x):
    y = np.empty(6)
    for i in range(6):
        if i == 0:
            y[i] = x[i]
        elif i < 3:
            y[i] = y[i - 1] + x[i]
        else:
            y[i] = y[i - 1] * x[i]
    return y


@case(V6)
def branch_writes_array(x):
    if x[0] > 0:
        x[1:3] = 5.0
        y = x * 1
    else:
        y = x + 1
    return y


@case(V6)
def int_phi(x):
    k = 0
    if x[0] > 0:
        k = 2
    return x[k] + k


@case(V6)
def loop_variable_after(x):
    for i in range(3):
        pass
    for j in range(2, 9, 3):
        pass
    return x[i] + j


@case(V6)
def last_value_after_loop(x):
    for i in range(6):
        t = x[i] * 2
        v = x[i:]
    return t + v[0]


@case(V6)
def one_of_two_conditions(x):
    s = 0.0
    for i in range(6):
        if (i < 2 if x[0] > 9 else i < 4):
            s += i * x[i - 2]
    return s


@case(V6)
def one_of_a_set(x):
    s = x[0]
    for i in range(6):
        t = np.maximum(x[i], 0.3)
        s += 2 * x[i] if t not in {0.7, x[2], s} else 3.0
    return s


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)
