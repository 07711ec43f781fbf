"""Sums of a recurrence change direction only when every dependence is kept."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.schedule.sums.turn_sums import turn_sums
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Loop, Map, Program, Range, Stmt
from tests.support.build import F8, at, each, loop, one, put, span
from tests.support.oracle import check_same

N = 7
J, D = ix("j"), ix("d")


def build(*body: Stmt) -> Program:
    shapes = {"a": (N, N), "g": (N, N), "x": (N,), "y": (N,), "p": (N,)}
    return Program("p", {n: Array(n, s, F8, "argument") for n, s in shapes.items()}, tuple(shapes), body)


def after(*body: Stmt) -> tuple[Stmt, ...]:
    """The pass keeps the meaning; the body of the outermost loop then."""
    before = build(*body)
    made = turn_sums(before)
    check_same(before, made, tolerance=1e-12)
    return made.body[0].body if isinstance(made.body[0], Loop) else made.body


def turned(*body: Stmt) -> bool:
    before = build(*body)
    made = turn_sums(before)
    check_same(before, made, tolerance=1e-12)
    return made.body != before.body


def domain(stmt: Stmt) -> tuple[Range, ...]:
    assert isinstance(stmt, Map)
    return stmt.domain


UP, DOWN, BELOW = span("j", 0, N), span("j", N - 1, -1, step=-1), span("d", 0, J)
DIVIDE = one("x", (J,), at("x", J) / at("p", J))
PULL = each(BELOW, put("x", (J,), at("a", "d", J) * at("x", "d"), "+"))
PUSH = each(BELOW, put("x", ("d",), at("a", "d", J) * at("x", J), "+"))


def test_terms_are_added_as_soon_as_they_are_known():
    first, second = after(loop(UP, PULL, DIVIDE))
    assert first == DIVIDE
    assert domain(second) == (span("d", J + 1, N),)


def test_terms_are_added_when_the_element_is_needed():
    first, second = after(loop(DOWN, DIVIDE, PUSH))
    assert second == DIVIDE
    assert domain(first) == (span("d", J + 1, N),)


def test_an_update_of_columns_becomes_one_of_rows():
    column = each(BELOW, put("g", ("d", J), at("y", "d") * at("x", J), "+"))
    first, *_ = after(loop(DOWN, DIVIDE, column))
    assert domain(first) == (span("d", J + 1, N),)


def test_loops_around_stay_around():
    row = each(BELOW, put("a", ("i", J), at("a", "i", "d") * at("a", "d", J), "+"))
    inner = loop(span("j", 0, ix("i")), row, one("a", ("i", J), at("a", "i", J) / (at("p", J) + 9.0)))
    made = after(loop(span("i", 0, N), inner))[0]
    assert isinstance(made, Loop)
    assert domain(made.body[1]) == (span("d", J + 1, ix("i")),)


@pytest.mark.parametrize("body", [
    loop(UP, each(BELOW, put("x", (J,), at("a", J, "d") * at("x", "d"), "+")), DIVIDE),
    loop(UP, each(span("d", J, N), put("x", (J,), at("a", "d", J) * at("y", "d"), "+")), one("y", (1,), 1.0)),
    loop(UP, each(BELOW, put("x", (J,), at("a", "d", J) * at("y", J), "+")), one("y", (N - 1,), at("y", J))),
    loop(span("j", 0, N), each(span("d", 0, 3), put("x", (J,), at("a", "d", J) * at("x", "d"), "+")), DIVIDE),
    loop(span("j", 2, N), each(BELOW, put("x", (J,), at("a", "d", J) * at("x", "d"), "+")), DIVIDE),
    loop(UP, each(BELOW, put("x", (J,), at("a", "d", J) * at("x", "d"), "max")), DIVIDE),
    loop(UP, PULL, loop(span("k", 0, 2), DIVIDE)),
    loop(UP, each(span("d", 0, 3), put("y", (J,), at("a", "d", J) * at("p", "d"), "+")), DIVIDE),
    Loop(UP, (each(BELOW, put("y", (J,), at("a", "d", J) * at("x", "d"), "+")),), parallel=True),
    loop(span("j", 0, N, step=2), PULL, DIVIDE),
], ids=["along rows already", "overwritten meanwhile", "an operand that changes", "other iterations also",
        "values before the first iteration", "maxima", "a loop inside", "values for some of the iterations",
        "parallel", "steps"])
def test_what_stays_as_it_is(body):
    assert not turned(body)


def test_a_reader_between_the_terms_and_the_end_sees_all_of_them():
    """The terms come earlier, so that what follows them in an iteration finds the same."""
    body = loop(UP, PULL, one("y", (J,), at("x", J)), DIVIDE)
    assert turned(body)
