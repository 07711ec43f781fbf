"""Sums into elements that move let rows run through all steps, and are the same sums."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.program import Array, Loop, Program, Stmt
from sdfgad.ir.text import program_text
from sdfgad.thresholds import changed
from sdfgad.verbs import pipeline
from tests.support.build import F8, at, each, one, put, span
from tests.support.interpreted import InterpretedProgram
from tests.transform.test_step_sums import ARRAYS, HERE, LIMITS, MADE, MOVED, POINTS, STEPS, in_rows, steps
from tests.transform.test_step_sums import split as split_in_steps

KINDS = 4
BOX = (span("k", 0, KINDS), *HERE)
WITH = {**ARRAYS, "c": Array("c", (STEPS,), F8, "argument"), "d": Array("d", (2, STEPS + 1), F8, "argument"),
        "s": Array("s", (), F8), "a": Array("a", (KINDS,), F8, "argument"),
        "b": Array("b", (KINDS, POINTS), F8, "argument"),
        "z": Array("z", (KINDS, POINTS), F8)}
SUM = each(HERE, put("c", ("t",), at("y", "i") * at("y", "i"), "+"))
STEP = each(HERE, put("s", (), at("y", "i") * at("y", "i"), "+"))
MADE_TOO = each(BOX, put("z", ("k", "i"), at("b", "k", "i") * 2.0))
MOVED_TOO = each(BOX, put("z", ("k", "i"), at("z", "k", "i") * at("a", "k") + at("b", "k", "i")))
OF_KINDS = each(BOX, put("v", ("k",), at("z", "k", "i"), "+"))
STORED = each(HERE, put("x", ("i",), at("y", "i")))
CLEAR = each(span("c0", 0, STEPS), put("c", ("c0",), 0.0))

split = partial(split_in_steps, arrays=WITH)


def in_strips(made: Program) -> bool:
    return "c_rows" in in_rows(made) and not any(n.startswith("c_points") for n in made.arrays)


@pytest.mark.parametrize("body", [
    (MADE, steps(MOVED, SUM)),
    (MADE, CLEAR, steps(MOVED, SUM), STORED),
    (MADE, steps(MOVED, SUM, MOVED, SUM)),
    (MADE, steps(MOVED, one("s", (), 0.0), STEP, one("c", ("t",), at("s") * at("w"), "+"))),
    (MADE, steps(MOVED, SUM), one("w", (), at("c", 2)), STORED),
    (MADE, Loop(span("s", 0, 2), (steps(MOVED, SUM), MOVED))),
    (MADE, steps(MOVED, SUM), MOVED, Loop(span("t", STEPS - 1, -1, -1), (MOVED, SUM))),
    (MADE, steps(MOVED, each(HERE, put("c", ("t",), at("y", "i"), "+")), each((span("i", 1, POINTS - 1),), put(
        "c", ("t",), at("y", "i") * at("x", "i"), "+")))),
], ids=["plain", "cleared before", "twice", "with a factor", "looked at later", "loops inside loops", "two loops",
        "over parts"])
def test_rows_run_through_all_steps(body: tuple[Stmt, ...]) -> None:
    made = split(*body)
    assert in_strips(made), program_text(made)
    assert not any(isinstance(s, Loop) and not s.parallel for s in made.body), program_text(made)


def test_a_sum_that_stays_beside_it() -> None:
    made = split(MADE, steps(MOVED, SUM, each(HERE, put("c", (3,), at("y", "i"), "+"))))
    assert not any(isinstance(s, Loop) and not s.parallel for s in made.body), program_text(made)


def test_places_of_several_dimensions() -> None:
    more = each(HERE, put("d", (1, "t"), at("y", "i"), "+"))
    made = split(MADE, steps(MOVED, more, SUM))
    assert in_strips(made) and made.arrays["d_rows"].shape[1:] == (2, STEPS + 1), program_text(made)


def test_a_sum_for_each_kind() -> None:
    """`k[:, None] * u`: rows are points, and what each kind gets is a sum along them."""
    arrays = {**WITH, "v": Array("v", (KINDS,), F8, "argument")}
    made = split(MADE_TOO, steps(MOVED_TOO, OF_KINDS), each(BOX, put("b", ("k", "i"), at("z", "k", "i"))),
                 arrays=arrays)
    assert not any(isinstance(s, Loop) and not s.parallel for s in made.body), program_text(made)


@pytest.mark.parametrize("use", [
    each(HERE, put("y", ("i",), at("y", "i") + at("c", "t") * 1e-3)), one("w", (), at("c", 1)), one("c", (1,), 0.0)],
    ids=["by points", "by a scalar", "set again"])
def test_somebody_in_the_loop_looks_at_the_sum(use: Stmt) -> None:
    made = split(MADE, steps(MOVED, SUM, use))
    assert not in_strips(made) and not any(n.startswith("c_points") for n in made.arrays)


def test_somebody_in_the_rows_looks_at_the_sum() -> None:
    made = split(MADE, steps(MOVED, SUM), each(HERE, put("x", ("i",), at("y", "i") * at("c", 1))))
    assert "c_points" not in made.arrays


def test_no_rows_no_sums_of_strips() -> None:
    """All points look at the first one: the loop has no rows, and stays as it is."""
    beside = each((span("i", 1, POINTS),), put("x", ("i",), at("y", 0)))
    loop = steps(MOVED, beside, SUM)
    made = split(MADE, loop)
    assert loop in made.body


def polynomial(x: np.ndarray, c: np.ndarray) -> float:
    y = np.zeros(x.shape)
    for k in range(len(c)):
        y = y * x + c[k]
    return np.sum(y * y)


def species(u: np.ndarray, k: np.ndarray, steps: int) -> float:
    for _ in range(steps):
        r = k[:, None] * u * np.roll(u, 1, 0)
        u = u + 0.1 * (np.roll(r, -1, 0) - r)
    return np.sum(u ** 2)


def controlled(x: np.ndarray, f: np.ndarray, dt: float) -> float:
    cost = 0.0
    for t in range(len(f)):
        x = x + dt * (np.sin(x) + f[t])
        cost += np.mean(x ** 2)
    return cost


@pytest.mark.parametrize("function, arguments", [
    (polynomial, (np.linspace(-1.0, 1.0, 96), np.linspace(0.5, 1.0, 6))),
    (species, (np.linspace(0.5, 1.0, 3 * 96).reshape(3, 96), np.array([0.3, 0.5, 0.7]), 5)),
    (controlled, (np.linspace(-1.0, 1.0, 96), np.linspace(0.5, 1.0, 6), 0.1))])
def test_gradients_are_those_of_differences(function: Callable[..., float], arguments: tuple[Any, ...],
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Program] = []

    def compiled(program: Program, *more: Any, **options: Any) -> InterpretedProgram:
        made.append(program)
        return InterpretedProgram(program, *more, **options)

    monkeypatch.setattr(pipeline, "compile_program", compiled)
    with changed(rows=LIMITS):
        gradient = sdfgad.grad(function, wrt=(0, 1))(*arguments)
    x, c, *rest = arguments
    for found, at_x, at_c in zip(gradient, (1.0, 0.0), (0.0, 1.0), strict=True):
        way = np.cos(np.arange(found.size)).reshape(found.shape)
        ahead, back = (function(x + at_x * h * way if at_x else x, c + at_c * h * way if at_c else c, *rest)
                       for h in (1e-6, -1e-6))
        np.testing.assert_allclose(np.sum(found * way), (ahead - back) / 2e-6, rtol=1e-6)
    assert any(n.endswith("_rows") and len(a.shape) == 2 for n, a in made[-1].arrays.items()), program_text(made[-1])
