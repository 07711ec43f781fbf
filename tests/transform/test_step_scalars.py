"""Numbers of a step are computed where they are read, if it comes to the same, so that rows run through all steps."""
from __future__ import annotations

import pytest

from sdfgad.ir.program import Loop, Map, Program
from sdfgad.ir.text import program_text
from sdfgad.ir.walk import statements
from tests.support.build import at, each, one, put, span
from tests.transform.test_scaled_sums import split
from tests.transform.test_step_sums import HERE, MADE, STEPS

S = one("s", (), at("c", "t") * 0.5)
MOVED = each(HERE, put("y", ("i",), at("y", "i") * at("s") + at("x", "i")))
AGAIN = each(HERE, put("y", ("i",), at("y", "i") - at("s")))


def in_strips(made: Program) -> bool:
    """Whether the steps are run inside of strips, and hold nothing but maps over points."""
    strips = [s for s in made.body if isinstance(s, Loop) and s.parallel]
    steps = [s for strip in strips for s in statements(strip.body) if isinstance(s, Loop)]
    return bool(steps) and all(isinstance(s, Map) and s.domain for loop in steps for s in loop.body)


STORED = each(HERE, put("x", ("i",), at("y", "i")))


@pytest.mark.parametrize("body", [
    (S, MOVED),
    (S, MOVED, AGAIN),
    (S, one("r", (), at("s") * at("w")), each(HERE, put("y", ("i",), at("y", "i") * at("r"))), MOVED),
], ids=["once", "twice", "one from another"])
def test_rows_run_through_all_steps(body: tuple[Map, ...]) -> None:
    made = split(MADE, Loop(span("t", 0, STEPS), body), STORED)
    assert in_strips(made), program_text(made)


@pytest.mark.parametrize("body", [
    (one("s", (), at("x", 3)), each(HERE, put("x", ("i",), at("x", "i") * at("s"))), MOVED),
    (S, MOVED, one("s", (), at("w")), AGAIN),
    (MOVED, S),
    (S, MOVED, one("w", (), at("w") * 0.5)),
    (one("s", (), at("w")), one("w", (), at("w") * 0.5), MOVED),
    (S, MOVED, one("v", (1,), at("v", 1) * at("s"))),
], ids=["a reader changes it", "set twice", "from the step before", "something else", "changed meanwhile", "a number"])
def test_what_is_not_the_same_stays(body: tuple[Map, ...]) -> None:
    loop = Loop(span("t", 0, STEPS), body)
    made = split(one("s", (), 1.0), MADE, loop, STORED)
    assert not in_strips(made), program_text(made)


def test_a_number_that_somebody_reads_later_stays() -> None:
    made = split(MADE, Loop(span("t", 0, STEPS), (S, MOVED)), STORED, one("w", (), at("s")))
    assert not in_strips(made), program_text(made)
