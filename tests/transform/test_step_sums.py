"""Sums that steps of a loop add to let rows run through all steps, and are the same sums."""
from __future__ import annotations

from collections.abc import Mapping

import pytest

from sdfgad.codegen.cpu.schedule.rows.row_sums import split_with_sums
from sdfgad.ir.program import Array, Loop, Program, Stmt
from sdfgad.ir.text import program_text
from sdfgad.ir.walk import all_writes
from sdfgad.thresholds import RowLimits
from tests.codegen.build_programs import agree
from tests.support.build import F8, at, each, one, put, span
from tests.support.oracle import check_same

LIMITS = RowLimits(reuse=1, work=1, nearby=1 << 11, trips=4, fewest=2, narrow=64)
POINTS, STEPS = 96, 5
HERE = (span("i", 0, POINTS),)
ARRAYS = {"x": Array("x", (POINTS,), F8, "argument"), "v": Array("v", (3,), F8, "argument"),
          "w": Array("w", (), F8, "argument"), "y": Array("y", (POINTS,), F8)}
MADE = each(HERE, put("y", ("i",), at("x", "i") * 2.0))
MOVED = each(HERE, put("y", ("i",), at("y", "i") * 0.5 + at("x", "i")))
ONE = each(HERE, put("v", (1,), at("y", "i") * at("y", "i"), "+"))
TWO = each(HERE, put("v", (2,), at("y", "i"), "+"))


def split(*body: Stmt, arrays: Mapping[str, Array] = ARRAYS) -> Program:
    arguments = tuple(n for n, a in arrays.items() if a.role == "argument")
    before = Program("p", dict(arrays), arguments, body)
    after = split_with_sums(before.but(live_out=frozenset()), LIMITS)
    check_same(before, after, tolerance=1e-12)
    agree(after)
    return after


def steps(*body: Stmt) -> Loop:
    return Loop(span("t", 0, STEPS), body)


def in_rows(made: Program) -> set[str]:
    return all_writes(tuple(s for s in made.body if isinstance(s, Loop) and s.parallel))


def test_rows_run_through_all_steps() -> None:
    made = split(MADE, steps(MOVED, ONE, MOVED, TWO, ONE), each(HERE, put("x", ("i",), at("y", "i"))))
    (rows,) = (s for s in made.body if isinstance(s, Loop))
    assert rows.parallel and {"v_points", "v_points_1"} <= set(rows.private), program_text(made)
    assert "v_points_2" not in made.arrays
    assert any(isinstance(s, Loop) and s.range.var == "t" for s in rows.body)


def test_loops_inside_loops() -> None:
    made = split(MADE, Loop(span("s", 0, 2), (steps(MOVED, ONE), MOVED)))
    assert "v_points" in in_rows(made)


def test_a_sum_that_somebody_looks_at_later() -> None:
    made = split(MADE, steps(MOVED, ONE), one("w", (), at("v", 1) * at("v", 0)), MOVED)
    assert "v_points" in in_rows(made)


@pytest.mark.parametrize("use", [
    each(HERE, put("y", ("i",), at("y", "i") + at("v", 1) * 1e-3)), one("w", (), at("v", 1)), one("v", (1,), 0.0)],
    ids=["by points", "by a scalar", "set again"])
def test_somebody_in_the_loop_looks_at_the_sum(use: Stmt) -> None:
    made = split(MADE, steps(MOVED, ONE, use))
    assert not any(n.startswith("v_points") for n in made.arrays)


def test_no_rows_no_sums_of_points() -> None:
    """All points look at the first one: the loop has no rows, and stays as it is."""
    beside = each((span("i", 1, POINTS),), put("x", ("i",), at("y", 0)))
    loop = steps(MOVED, beside, ONE)
    made = split(MADE, loop)
    assert loop in made.body
