"""Branches that the steps of a loop decide are part of rows that run through all steps."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.program import If, Loop, Program, Stmt
from sdfgad.ir.text import program_text
from sdfgad.ir.walk import statements
from sdfgad.thresholds import changed
from sdfgad.verbs import pipeline
from tests.support.build import I8, at, each, one, position, put, when
from tests.support.interpreted import InterpretedProgram
from tests.transform.test_scaled_sums import CLEAR, SUM, S, split, total
from tests.transform.test_step_sums import HERE, LIMITS, MADE, MOVED, ONE, steps

STORED = each(HERE, put("x", ("i",), at("y", "i")))
ODD = each(HERE, put("y", ("i",), at("y", "i") * 0.75))
EVEN = each(HERE, put("y", ("i",), at("y", "i") + at("x", "i") * at("w")))
NOW = position("t", I8).compare("gt", 2)
NEVER = position("t", I8).compare("gt", 99)


def in_strips(made: Program) -> bool:
    return any(isinstance(s, If) for rows in made.body if isinstance(rows, Loop) and rows.parallel
               for s in statements(rows.body)) and not any(isinstance(s, Loop) and not s.parallel for s in made.body)


@pytest.mark.parametrize("body", [
    (MOVED, when(NOW, (ODD,))),
    (when(NOW, (ODD,), (EVEN,)), MOVED),
    (MOVED, when(NOW, (ONE,))),
    (MOVED, when(NOW, (CLEAR, SUM, total(S)))),
    (MOVED, when(NOW, (CLEAR, SUM, total(at("w") * (S / 96.0))))),
    (MOVED, when(NEVER, (CLEAR, SUM, total(S * 0.5)))),
    (MOVED, when(NOW, (one("s", (), at("w") * 0.5), each(HERE, put("y", ("i",), at("y", "i") * at("s")))))),
    (MOVED, when(NOW, (when(position("t", I8).compare("lt", 4), (ODD,)), EVEN))),
], ids=["a map", "two ways", "a sum", "a total", "a total with factors", "never", "a number", "a branch inside"])
def test_rows_run_through_all_steps(body: tuple[Stmt, ...]) -> None:
    made = split(MADE, steps(*body), STORED)
    assert in_strips(made), program_text(made)


@pytest.mark.parametrize("body", [
    (MOVED, when(at("y", 3).compare("gt", 0.0), (ODD,))),
    (MOVED, when(at("v", 1).compare("gt", 0.0), (ONE,))),
    (MOVED, when(NOW, (one("w", (), at("w") * 0.5),)), EVEN),
], ids=["rows decide", "a sum decides", "a number changes"])
def test_what_has_to_stay_in_its_step(body: tuple[Stmt, ...]) -> None:
    made = split(MADE, steps(*body), STORED)
    assert not in_strips(made), program_text(made)


def test_a_branch_not_taken_adds_nothing() -> None:
    """Zero times a quotient by zero would."""
    made = split(one("w", (), 0.0), MADE, steps(MOVED, when(NEVER, (CLEAR, SUM, total(S / at("w"))))), STORED)
    assert not any(n.startswith("s_points") for n in made.arrays)


def observed(x: np.ndarray, y: np.ndarray, dt: float, every: int) -> float:
    cost = 0.0
    for t in range(6):
        x = x + dt * np.sin(y)
        y = y - dt * x * y
        if t % every == 0:
            cost += np.mean(y * y)
        else:
            x = 0.5 * x
    return cost


@pytest.mark.parametrize("every", [1, 2, 9])
def test_gradients_are_those_of_differences(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Program] = []

    def compiled(program: Program, *more: Any, **options: Any) -> InterpretedProgram:
        made.append(program)
        return InterpretedProgram(program, *more, **options)

    monkeypatch.setattr(pipeline, "compile_program", compiled)
    x, y = np.linspace(-1.0, 1.0, 96), np.linspace(0.5, 1.0, 96)
    with changed(rows=LIMITS):
        gradient = sdfgad.grad(observed, wrt=(0, 1))(x, y, 0.3, every)
    way = np.cos(np.arange(96))
    for found, h_x, h_y in ((gradient[0], 1e-6, 0.0), (gradient[1], 0.0, 1e-6)):
        ahead, back = (observed(x + s * h_x * way, y + s * h_y * way, 0.3, every) for s in (1, -1))
        np.testing.assert_allclose(np.sum(found * way), (ahead - back) / 2e-6, rtol=1e-6)
    assert all(not isinstance(s, Loop) or s.parallel for s in made[-1].body), program_text(made[-1])


