"""Sums of a step that go into a total with a factor wait for the end of the loop, and come to the same."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Loop, Map
from sdfgad.ir.text import program_text
from sdfgad.thresholds import changed
from sdfgad.verbs import pipeline
from tests.support.build import F8, at, each, one, put, span
from tests.support.interpreted import InterpretedProgram
from tests.transform.test_step_sums import ARRAYS, HERE, LIMITS, MADE, MOVED, STEPS, in_rows, steps
from tests.transform.test_step_sums import split as split_in_steps

WITH = {**ARRAYS, "c": Array("c", (STEPS,), F8, "argument"), "s": Array("s", (), F8), "r": Array("r", (), F8)}
CLEAR, CLEAR_R = one("s", (), 0.0), one("r", (), 0.0)
SUM = each(HERE, put("s", (), at("y", "i") * at("y", "i"), "+"))
SUM_R = each(HERE, put("r", (), at("y", "i") * at("x", "i"), "+"))
S, R, V = at("s"), at("r"), at("v", 1)


def total(value: object, op: str | None = "+") -> Map:
    return one("v", (1,), value, op)  # type: ignore[arg-type]


split = partial(split_in_steps, arrays=WITH)


@pytest.mark.parametrize("body", [
    (CLEAR, SUM, total(S * 0.25)),
    (CLEAR, SUM, total(S / at("w") * at("w"))),
    (CLEAR, SUM, SUM, total(-S)),
    (CLEAR, SUM, total(V - 0.5 * S, None)),
    (CLEAR, CLEAR_R, SUM, SUM_R, total(0.5 * (S + R / 3.0))),
    (CLEAR, CLEAR_R, SUM, SUM_R, total((V + S) - R, None)),
    (CLEAR, SUM, total(S), CLEAR_R, SUM_R, total(0.1 * R)),
    (CLEAR, SUM, total(at("c", "t") * S / 3.0)),
], ids=["factor", "quotient", "two sums", "written out", "together", "one by one", "two totals", "factor of the step"])
def test_rows_run_through_all_steps(body: tuple[Map, ...]) -> None:
    made = split(MADE, steps(MOVED, *body), total(at("w") * 2.0))
    assert any(n.startswith("s_points") for n in in_rows(made)), program_text(made)
    (rows,) = (s for s in made.body if isinstance(s, Loop))
    (loop,) = (s for s in rows.body if isinstance(s, Loop))
    assert all(isinstance(s, Map) and s.domain for s in loop.body), program_text(made)


def test_in_a_loop_inside() -> None:
    made = split(MADE, Loop(span("s", 0, 2), (steps(MOVED, CLEAR, SUM, total(S * 0.5)), MOVED)))
    assert "s_points" in in_rows(made)


@pytest.mark.parametrize("body", [
    (CLEAR, SUM, total(S * S)),
    (CLEAR, SUM, total(1.0 / S)),
    (CLEAR, SUM, total(S * 0.5), one("w", (), S)),
    (CLEAR, SUM, total(S * 0.5), total(S * 0.25)),
    (CLEAR, SUM, total(S / at("c", "t"))),
    (CLEAR, SUM, total(S * V)),
    (CLEAR, SUM, total(S * 0.5), one("w", (), V)),
    (CLEAR, SUM, one("w", (), at("w") * 0.5), total(S * at("w"))),
    (SUM, total(S * 0.5)),
    (CLEAR, SUM, total(at("c", "t") * S + S)),
    (CLEAR, SUM, total(S * (0.5 - at("c", "t")))),
], ids=["square", "inverse", "read again", "added twice", "divided by the step", "of the total", "total is read",
        "factor changes", "never cleared", "two factors", "a difference of factors"])
def test_what_has_to_stay_in_its_step(body: tuple[Map, ...]) -> None:
    made = split(*(() if CLEAR in body else (CLEAR,)), MADE, steps(MOVED, *body))
    assert not any(n.startswith("s_points") for n in made.arrays), program_text(made)


def test_a_loop_that_does_not_run_adds_nothing() -> None:
    """Zero times a quotient by zero would."""
    nothing = Loop(span("t", 0, 0), (MOVED, CLEAR, SUM, total(S / at("w"))))
    made = split(MADE, one("w", (), 0.0), nothing, each(HERE, put("x", (ix("i"),), at("y", "i"))))
    assert not any(n.startswith("s_points") for n in made.arrays)


def objective(x: np.ndarray, c: np.ndarray, p: float) -> float:
    """A sum with two factors, and one with a difference."""
    total = 0.0
    for k in range(c.shape[0]):
        x = x + p * np.sin(x)
        s = np.sum(x)
        total += s * c[k] + s
        total -= np.sum(x * x) * (c[k] - 0.5)
    return total


@pytest.mark.parametrize("verb", [sdfgad.forward, lambda f: sdfgad.value_and_grad(f, wrt="x")],
                         ids=["forward", "reverse"])
def test_each_factor_counts(monkeypatch: pytest.MonkeyPatch, verb: Callable[..., Any]) -> None:
    monkeypatch.setattr(pipeline, "compile_program", InterpretedProgram)
    rng = np.random.default_rng(5)
    x, c = rng.normal(size=96), rng.normal(size=4)
    with changed(rows=LIMITS):
        found = verb(objective)(x, c, 0.3)
    value = found[0] if isinstance(found, tuple) else found
    np.testing.assert_allclose(value, objective(x, c, 0.3), rtol=1e-12)
