"""Sums of points that go into one sum become a row where nobody can tell, and nowhere else."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.schedule.sums.fold_points import fold_points
from sdfgad.ir.program import Array, Loop, Map, Program, Store
from sdfgad.ir.text import program_text
from tests.codegen.build_programs import agree
from tests.support.build import F8, at, each, put, span
from tests.support.oracle import check_same

ROWS, COLUMNS, STRIPS = 5, 32, 3
ARRAYS = {"x": Array("x", (STRIPS, ROWS, COLUMNS), F8, "argument"), "v": Array("v", (STRIPS,), F8, "argument"),
          "y": Array("y", (ROWS, COLUMNS), F8), "p": Array("p", (ROWS, COLUMNS), F8)}
BOX = (span("i", 0, ROWS), span("j", 0, COLUMNS))
COPY = each(BOX, put("y", ("i", "j"), at("x", "s", "i", "j")))
CLEAR = each(BOX, put("p", ("i", "j"), 0.0))
STEP = each(BOX, put("y", ("i", "j"), at("y", "i", "j") * 0.5), put("p", ("i", "j"), at("y", "i", "j") * 2.0, "+"))
PART = each((span("j", 2, 9),), put("p", (1, "j"), at("y", 0, "j"), "+"))
TOTAL = each(BOX, put("v", ("s",), at("p", "i", "j"), "+"))


def fold(*body: Map, again: tuple[Map, ...] = (STEP,)) -> Program:
    first, *last = body
    inside = (COPY, first, Loop(span("t", 0, 4), again), *last)
    loop = Loop(span("s", 0, STRIPS), inside, parallel=True, private=("y", "p"))
    before = Program("p", ARRAYS, ("x", "v"), (loop,))
    after = fold_points(before)
    check_same(before, after, tolerance=1e-12)
    agree(after)
    return after


@pytest.mark.parametrize("again", [(STEP,), (STEP, PART)], ids=["a box", "and a part of it"])
def test_a_row_of_sums(again: tuple[Map, ...]) -> None:
    made = fold(CLEAR, TOTAL, again=again)
    assert made.arrays["p"].shape == (COLUMNS,), program_text(made)


def test_the_clearing_may_stand_beside_others() -> None:
    both = each(BOX, put("p", ("i", "j"), 0.0), put("y", ("i", "j"), at("x", "s", "i", "j") * 3.0))
    assert fold(both, TOTAL).arrays["p"].shape == (COLUMNS,)


INNER = (span("i", 0, ROWS), span("j", 1, COLUMNS))


@pytest.mark.parametrize(("body", "again"), [
    ((CLEAR, each(BOX, put("v", ("s",), at("p", "i", "j") * at("x", "s", "i", "j"), "+"))), (STEP,)),
    ((CLEAR, each(INNER, put("v", ("s",), at("p", "i", "j"), "+"))), (STEP,)),
    ((CLEAR, TOTAL, each(BOX, put("x", ("s", "i", "j"), at("p", "i", "j")))), (STEP,)),
    ((CLEAR, TOTAL), (STEP, each(BOX, put("y", ("i", "j"), at("y", "i", "j") + at("p", "i", "j"))))),
    ((CLEAR, TOTAL), (STEP, each(BOX, put("p", ("i", "j"), at("y", "i", "j"))))),
    ((each(BOX, put("p", ("i", "j"), 1.0)), TOTAL), (STEP,)),
], ids=["weighed", "of a part", "used otherwise", "read by points", "set by points", "from ones"])
def test_points_that_count(body: tuple[Map, ...], again: tuple[Map, ...]) -> None:
    assert fold(*body, again=again).arrays["p"].shape == (ROWS, COLUMNS)


def moved(low: int | str, *stores: Store) -> Loop:
    """Rows from one on that a loop tells, or any."""
    return Loop(span("t", 0, 3), (each((span("i", low, ROWS), span("j", 0, COLUMNS)), *stores),))


@pytest.mark.parametrize(("low", "folded"), [("t", False), (0, True)])
def test_a_box_that_a_loop_moves_is_another_one_each_time(low: int | str, folded: bool) -> None:
    first, again, last = (moved(low, *s.body) for s in (CLEAR, STEP, TOTAL))
    loop = Loop(span("s", 0, STRIPS), (COPY, first, again, last), parallel=True, private=("y", "p"))
    before = Program("p", ARRAYS, ("x", "v"), (loop,))
    after = fold_points(before)
    check_same(before, after, tolerance=1e-12)
    assert (after.arrays["p"].shape == (COLUMNS,)) is folded


def test_a_few_columns_fill_no_vector() -> None:
    few = {**ARRAYS, "x": Array("x", (STRIPS, COLUMNS, 3), F8, "argument"), "y": Array("y", (COLUMNS, 3), F8),
           "p": Array("p", (COLUMNS, 3), F8)}
    box = (span("i", 0, COLUMNS), span("j", 0, 3))
    body = (each(box, put("p", ("i", "j"), 0.0)), each(box, put("p", ("i", "j"), at("x", "s", "i", "j"), "+")),
            each(box, put("v", ("s",), at("p", "i", "j"), "+")))
    loop = Loop(span("s", 0, STRIPS), body, parallel=True, private=("p",))
    before = Program("p", {n: a for n, a in few.items() if n != "y"}, ("x", "v"), (loop,))
    assert fold_points(before) is before
