"""`global` statements: names of modules that functions assign."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

X = np.array([0.7, 1.9, 2.2, -1.5])
MODE, COUNT, FOUND = "plain", 3, None


class mode:
    def __init__(self, name: str) -> None:
        self.name, self.before = name, MODE

    def __enter__(self) -> None:
        set_mode(self.name)

    def __exit__(self, *_: Any) -> None:
        set_mode(self.before)


def set_mode(name):
    global MODE
    MODE = name


def scaled(x):
    return x * {"plain": 1.0, "twice": 2.0, "squared": x}[MODE]


def nested(x):
    y = scaled(x)
    with mode("twice"):
        y = y + np.sin(scaled(x))
        with mode("squared"):
            y = y * scaled(x)
        y = y - scaled(x)
    return np.sum(y * scaled(x))


def in_loops_and_branches(x):
    s = 0.0
    for k in range(x.shape[0]):
        if x[k] > 0:
            with mode("squared"):
                s += scaled(x[k])
        else:
            s += scaled(x[k])
    return s


def counted_and_put_back(x):
    global COUNT
    before = COUNT
    COUNT += 1
    y = x * COUNT
    COUNT = before
    return np.sum(y * COUNT)


def found_when_asked(x):
    global FOUND
    if FOUND is None:
        from numpy import tanh as FOUND
    return np.sum(FOUND(x))


def looked_at_in_other_ways(x):
    with mode("twice"):
        from tests.frontend.test_module_names import MODE as now
        y = x * (2.0 if sys.modules[__name__].MODE == now == getattr(sys.modules[__name__], "MODE") else 3.0)
    return np.sum(y * (1.0 if now == "twice" and sys.modules[__name__].MODE == "plain" else 5.0))


@pytest.mark.parametrize("program", [nested, looked_at_in_other_ways, in_loops_and_branches, counted_and_put_back,
                                     found_when_asked])
def test_names_that_are_put_back(program: Callable[..., Any]) -> None:
    before = parse(program, (X,))
    check_both_modes(program, (X,))
    assert before.surroundings.unchanged() == (program is not found_when_asked)


def stays(x):
    global COUNT
    COUNT = 4
    return np.sum(x) * COUNT


def counts(x):
    global COUNT
    COUNT = COUNT + 1
    return np.sum(x)


def is_data(x):
    global COUNT
    COUNT = x[0]
    return np.sum(x) * COUNT


def chosen_by_data(x):
    if x[0] > 0:
        set_mode("twice")
    y = scaled(x)
    set_mode("plain")
    return np.sum(y)


def left_in_a_loop(x):
    s = 0.0
    for k in range(x.shape[0] * 50):
        s += scaled(x[k % 4])
        set_mode("twice")
    set_mode("plain")
    return s


def behind_a_return(x):
    if x[0] > 0:
        return np.sum(x)
    set_mode("twice")
    y = scaled(x)
    set_mode("plain")
    return np.sum(y) if x[1] > 0 else 0.0


def is_a_loop_variable(x):
    global COUNT
    for COUNT in range(3):
        x = x * 2.0
    return np.sum(x)


@pytest.mark.parametrize("program", [stays, counts, is_data, chosen_by_data, left_in_a_loop, is_a_loop_variable])
def test_names_that_somebody_would_see(program: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="an assignment to the global name"):
        parse(program, (X,))


def test_put_back_on_one_way() -> None:
    check(behind_a_return, X)
