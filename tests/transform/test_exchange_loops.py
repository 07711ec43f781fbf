"""The part of an inner loop that four iterations of a recurrence have is run for all four, when every dependence is
kept."""
from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.recurrences.unroll_and_jam import unroll_and_jam
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Loop, Map, Program, Range, Stmt
from sdfgad.ir.walk import statements
from tests.support.build import F8, at, each, loop, one, put, span, when
from tests.support.oracle import check_same

N = 23
I, J = ix("i"), ix("j")
DOWN, UP = span("i", N - 1, -1, step=-1), span("i", 0, N)


def build(*body: Stmt, n: int = N) -> Program:
    shapes = {"a": (n, n), "g": (n, n), "h": (n, n), "x": (n,), "y": (n,), "p": (n,), "t": ()}
    return Program("p", {k: Array(k, s, F8, "argument") for k, s in shapes.items()}, tuple(shapes), body)


def exchanged(*body: Stmt, n: int = N) -> bool:
    """The pass keeps the meaning; whether a loop has all iterations of a block inside."""
    made = unroll_and_jam(before := build(*body, n=n))
    check_same(before, made, tolerance=1e-9)
    return any(isinstance(s, Loop) and s.range.var.startswith("j") and _all_four(s) for s in statements(made.body))


def _all_four(loop: Loop) -> bool:
    return any(isinstance(s, Map) and any(r.var == "i" and r.trips == 4 for r in s.domain) for s in loop.body)


def pull(start, stop, *, row=I) -> Map:
    """A sum over a row: four rows at a time load the row of `a` once."""
    return each(span("d", start, stop), put("g", (I, J), at("g", row, "d") * at("a", J, "d"), "+"))


SCALE = one("g", (I, J), at("g", I, J) * at("p", J) * 0.1)


def update(start=0, stop=I) -> Map:
    """What four iterations of the outer loop do at once anyway: the reason for their block."""
    return each((span("j", start, stop), span("e", 0, N)), put("h", ("j", "e"), at("a", I, "e") * at("a", I, "j"), "+"))


def rows(inner: Range, *body: Stmt, over: Range = DOWN, rest: Stmt | None = None) -> Loop:
    return loop(over, loop(inner, *body), rest or update())


BACK = span("j", I - 1, -1, step=-1)


@pytest.mark.parametrize("n", [17, 20, 21, 22, 23])
def test_a_factorisation_backwards(n):
    """Rows of the same array, each of which adds to those above when it is done."""
    above = each((span("j", 0, I), span("d", J + 1, n)), put("g", ("j", "d"), at("g", I, "d") * at("a", I, "j"), "+"))
    diagonal = one("g", (J, J), at("a", I, J) * at("g", I, J), "+")
    inner = loop(span("j", I - 1, -1, step=-1), pull(J + 1, n), diagonal, SCALE)
    assert exchanged(loop(span("i", n - 1, -1, step=-1), inner, above), n=n)


@pytest.mark.parametrize(("over", "inner"), [*product((UP, DOWN), (
    span("j", 0, I), span("j", I - 1, -1, step=-1), span("j", I, N), span("j", N - 1, I - 1, step=-1), span("j", 2, N),
    span("j", N - 1, 3, step=-1)))])
def test_every_way_to_cut_the_inner_loop(over, inner):
    own = each(span("d", 0, N), put("g", (I, J), at("a", I, "d") * at("a", J, "d"), "+"))
    next_one = one("x", (I,), at("x", I) * 0.5 + at("g", I, J))
    assert exchanged(rows(inner, own, next_one, over=over))


@pytest.mark.parametrize("inner", [span("j", I, I + 9), span("j", I * 3, N), span("j", I * I, N), span("j", I, N - I),
                                   span("j", 0, N, step=2)],
                         ids=["both ends", "may run backwards", "no line", "meet", "steps"])
def test_loops_that_cannot_be_cut(inner):
    own = each(span("d", 0, N), put("x", (I,), at("a", I, "d") * at("a", 3, "d") * at("p", 0), "+"))
    update_all = each((span("j", 0, N), span("e", 0, N)), put("h", ("j", "e"), at("a", I, "e"), "+"))
    assert not exchanged(loop(span("i", 0, 13), loop(inner, own), update_all))


@pytest.mark.parametrize("body", [
    (pull(J + 1, N), one("y", (J,), at("g", I, J))),
    (pull(J + 1, N), one("y", (J,), at("y", J) * 0.5 + at("g", I, J))),
    (pull(J + 1, N), one("t", (), at("g", I, J))),
    (pull(J + 1, N), one("p", (J,), at("p", J) * 0.5), SCALE),
    (each(span("d", 0, N), put("g", (I, J), at("h", I, "d") * at("a", J, "d"), "+")),
     one("h", (I - 1, J), at("g", I, J))),
], ids=["the last one counts", "one after the other", "a scalar", "a factor changes", "the next row"])
def test_iterations_that_meet(body):
    assert not exchanged(rows(BACK, *body, over=span("i", N - 1, 0, step=-1), rest=update_of_x()))


def update_of_x() -> Map:
    return each(span("e", 0, N), put("x", ("e",), at("a", I, "e") * at("a", I, 0), "+"))


def test_sums_that_meet():
    """All iterations may add to one element: its sum has no order."""
    shared = one("y", (J,), at("g", I, J), "+")
    assert exchanged(rows(BACK, pull(J + 1, N), shared))
    assert not exchanged(rows(BACK, pull(J + 1, N), shared, one("g", (I, J), at("y", J)), rest=update_of_x()))


@pytest.mark.parametrize("moved", [0, 1, 2, 3, 4, 5])
def test_a_row_that_another_iteration_has_written(moved):
    """Four iterations do not see each other's rows; `moved` rows on is one of the block, or of an earlier one."""
    other = each(span("d", J + 1, N), put("g", (I, J), at("g", I + moved, "d") * at("a", J, "d"), "+"))
    made = exchanged(rows(BACK, other, SCALE, over=span("i", N - 6, -1, step=-1)))
    assert made == (moved in (0, 4, 5))


def test_what_comes_between():
    """A statement of every iteration reads what its loop writes, and writes what the loop of the next one reads."""
    for column, free in ((I, True), (0, False)):
        between = one("x", (I,), at("g", I, column) + at("x", I))
        assert exchanged(loop(DOWN, loop(BACK, pull(J + 1, N), SCALE), between, update())) == free
    chained = one("t", (), at("g", I, 0))
    reader = each(span("d", J + 1, N), put("g", (I, J), at("t") * at("g", I, "d") * at("a", J, "d"), "+"))
    assert not exchanged(loop(DOWN, loop(BACK, reader, SCALE), chained, update()))


@pytest.mark.parametrize("body", [
    (pull(J + 1, N), when(at("t").compare("gt", at("y", 0)), (SCALE,))),
    (SCALE,),
    (each(span("d", J + 1, N), put("g", (I, J), at("g", I, "d") * at("a", I, "d"), "+")), SCALE),
    (each(span("d", J + 1, N), put("g", (I, J), at("g", I, "d") * at("a", "d", J), "+")), SCALE),
], ids=["a branch", "no sum", "nothing shared", "down a column"])
def test_loops_that_gain_nothing(body):
    assert not exchanged(rows(BACK, *body))


def test_what_is_left_stays_short():
    """The three iterations that the inner loop has of its own are not taken four at a time again."""
    made = unroll_and_jam(build(rows(BACK, pull(J + 1, N), SCALE)))
    first = made.body[0]
    assert isinstance(first, Loop)
    own = next(s for s in first.body if isinstance(s, Loop) and s.range.var == "i")
    assert [s.range.var for s in own.body if isinstance(s, Loop)] == ["j"]


def test_infinities_stay_in_their_rows():
    program = build(rows(BACK, pull(J + 1, N), SCALE))
    values = {k: np.random.default_rng(5).random(a.shape) for k, a in program.arrays.items()}
    values["g"][7, 11], values["g"][3, 20] = np.inf, np.nan
    check_same(program, unroll_and_jam(program), values, tolerance=1e-9)
