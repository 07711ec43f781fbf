"""Masks of which arrays from outside, or the program, tell what they hold: what they select may be returned."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from tests.frontend.checking import check, check_both_modes
from tests.support.interpreted import interpreted

X = np.array([0.9, -0.35, 0.62, 1.4, -2.3, 0.05])
A = np.sin(np.arange(12.0)).reshape(3, 4) + 0.1
MASK = np.array([True, False, True, False, True, False])
PLANE = A > 0.3
TABLE = np.array([0.5, 1.5, 2.5, 0.1, 3.0, 1.0])


def of_a_table(x):
    large = TABLE > 1.0
    small = ~large & MASK
    return x[large] ** 2, np.sum(large) * x[small]


def made_inside(x):
    inner = np.zeros(6, dtype=bool)
    inner[1:3] = True
    y = np.zeros(int(inner.sum()))
    y[:] = x[inner] * 2
    return y, x[~inner]


def several_at_once(x):
    y = x * 1.0
    y[MASK] = x[:3]
    y[~MASK] += y[MASK]
    return y


PROGRAMS = {
    "returned": lambda x: x[MASK] * 2, "of two dimensions": lambda x: (A * x[0])[PLANE],
    "columns": lambda x: (A * x[0])[:, MASK[:4]], "compress": lambda x: np.compress(MASK[:4], A * x[0], axis=1),
    "both": lambda x: x[MASK] - x[~MASK], "by place": lambda x: x[np.arange(6) % 3 == 0],
    "places": lambda x: x[np.where(TABLE > 1)[0]], "computed": of_a_table, "made inside": made_inside,
    "assigned": several_at_once,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_selected(name: str) -> None:
    check(PROGRAMS[name], X)


@pytest.mark.parametrize("name", ["returned", "of two dimensions", "both", "assigned"])
def test_slopes(name: str) -> None:
    selected = PROGRAMS[name]
    check_both_modes(lambda x: np.sum(np.sin(selected(x))), (X,))


def test_later_calls_look_again() -> None:
    """What a mask holds, or what it is computed of, decides the program."""
    flags, table = MASK.copy(), TABLE.copy()

    def selected(x):
        return np.concatenate((x[flags] ** 2, x[table > 1.0]))

    with interpreted():
        run = sdfgad.forward(selected)
        for change in (lambda: None, lambda: flags.__setitem__(1, True), lambda: table.__setitem__(0, 9.0)):
            change()
            np.testing.assert_allclose(run(X), selected(X))
