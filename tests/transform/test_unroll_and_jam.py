"""Four iterations of a recurrence at a time, when every dependence is kept."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.recurrences.unroll_and_jam import unroll_and_jam
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Loop, Map, Program, Stmt
from tests.support.build import F8, at, each, loop, number_at, one, put, span, when
from tests.support.oracle import check_same

N = 23
I, J, D = ix("i"), ix("j"), ix("d")


def build(*body: Stmt, n: int = N) -> Program:
    shapes = {"a": (n, n), "g": (n, n), "x": (n,), "y": (n,), "p": (n,), "t": ()}
    arrays = {k: Array(k, s, F8, "argument") for k, s in shapes.items()}
    arrays["m"] = Array("m", (n,), np.dtype("i8"), "constant")
    return Program("p", arrays, tuple(shapes), body, constants={"m": np.arange(n)[::-1].copy()})


def blocked(*body: Stmt, n: int = N) -> bool:
    """The pass keeps the meaning; whether it did something."""
    before = build(*body, n=n)
    made = unroll_and_jam(before)
    check_same(before, made, tolerance=1e-9)
    return made.body != before.body


def push(start, stop, *, frm: str = "x", to: str = "x") -> Map:
    return each(span("d", start, stop), put(to, ("d",), at("a", J, "d") * at(frm, J), "+"))


def pull(start, stop) -> Map:
    return each(span("d", start, stop), put("x", (J,), at("a", J, "d") * at("x", "d"), "+"))


UP, DOWN = span("j", 0, N), span("j", N - 1, -1, step=-1)
SCALE = one("x", (J,), at("x", J) * at("p", J) * 0.1)


@pytest.mark.parametrize("n", [8, 9, 10, 11, 23, 24])
@pytest.mark.parametrize("body", [
    lambda n: loop(span("j", 0, n), SCALE, push(J + 1, n)),
    lambda n: loop(span("j", 0, n), pull(0, J), SCALE),
    lambda n: loop(span("j", n - 1, -1, step=-1), SCALE, push(0, J)),
    lambda n: loop(span("j", n - 1, -1, step=-1), pull(J + 1, n), SCALE),
    lambda n: loop(span("j", 1, n - 1), pull(0, J), SCALE),
    lambda n: loop(span("j", n - 2, 0, step=-1), SCALE, push(0, J)),
], ids=["push", "pull", "push back", "pull back", "pull inside", "push back inside"])
def test_triangles_of_all_sizes(body, n):
    assert blocked(body(n), n=n) == (n > 16 or body(n).range.trips > 7 and n - 1 >= 16)


def test_what_is_left_of_a_block_is_written_out():
    first, *rest = unroll_and_jam(build(loop(UP, SCALE, push(J + 1, N)))).body
    assert isinstance(first, Loop) and len(rest) == 1
    assert all(isinstance(s, Map) and not s.domain for s in first.body[:-1]) and len(first.body) == 4 + 6 + 1


def test_no_loop_over_iterations_left_over_where_there_are_none():
    assert len(unroll_and_jam(build(loop(span("j", 0, 20), SCALE, push(J + 1, N)))).body) == 1


def test_loops_of_different_length():
    """Inner loops with no iteration, with fewer than a block has, and with some left over."""
    row = each(span("d", J + 1, I), put("g", (I, "d"), at("g", I, J) * at("a", J, "d"), "+"))
    inner = loop(span("j", 0, I), one("g", (I, J), at("g", I, J) * 0.5), row)
    assert blocked(loop(span("i", 0, N), inner))
    back = each(span("d", J + 1, I), put("g", (I, J), at("g", I, "d") * at("a", J, "d"), "+"))
    assert blocked(loop(DOWN_I, loop(span("j", I - 1, -1, step=-1), back, one("g", (I, J), at("g", I, J) * 0.5))))


DOWN_I = span("i", N - 1, -1, step=-1)


def test_sums_of_an_inner_loop_come_after_the_block():
    """The update of all rows above is done for four rows at a time, the inner loop stays in order."""
    update = each(span("d", J + 1, N), put("g", (J, "d"), at("g", I, "d") * at("a", I, J), "+"))
    inner = loop(span("j", I - 1, -1, step=-1), one("g", (I, J), at("g", I, J) * at("p", J)), update)
    assert blocked(loop(DOWN_I, inner))
    made = unroll_and_jam(build(loop(DOWN_I, inner))).body[0]
    assert isinstance(made, Loop) and made.range.step == -4
    last = made.body[-1]
    assert isinstance(last, Map) and len(last.domain) == 2 and "i" not in str(last.domain[0].stop.symbols - {"i_block"})


def test_a_sum_of_what_the_inner_loop_replaces_stays_there():
    update = each(span("d", 0, N), put("x", ("d",), at("g", I, "d") * at("a", I, J), "+"))
    assert not blocked(loop(span("i", 0, N), loop(span("j", 0, I), update, one("g", (I, J), at("p", J)))))


def test_a_sum_that_may_not_leave_the_block_stays_in_its_loop():
    update = each(span("d", 0, N), put("x", ("d",), at("g", I, "d") * at("a", I, J), "+"))
    inner = loop(span("j", 0, 5), one("a", (I, J), at("a", I, J) * 0.5), update)
    outside = each(span("d", 0, N), put("y", ("d",), at("g", I, "d") * at("p", I), "+"))
    body = inner, one("t", (), at("x", 3)), outside
    assert blocked(loop(span("i", 0, N), *body))
    made = unroll_and_jam(build(loop(span("i", 0, N), *body))).body[0]
    assert isinstance(made, Loop) and isinstance(made.body[0], Loop)
    assert made.body[0].body == body[:2]


def test_a_sum_that_the_inner_loop_reads_stays_there():
    update = each(span("d", 0, N), put("x", ("d",), at("g", I, "d") * at("a", I, J), "+"))
    inner = loop(span("j", 0, I), one("g", (I, J), at("x", J)), update)
    assert not blocked(loop(span("i", 0, N), inner))


def test_elements_of_the_block_are_read_as_they_were():
    """An iteration reads what a later one of the block adds to: its sum may not come sooner."""
    assert not blocked(loop(UP, pull(J + 1, N), SCALE))
    assert not blocked(loop(DOWN, pull(0, J), SCALE))


@pytest.mark.parametrize("gap", [1, 2, 3, 4, 5])
def test_sums_behind_the_iterations(gap):
    """Iteration j adds to all from j + gap on, and reads the one before: what a block lacks of that stays inside."""
    later = each(span("d", J + gap, N), put("y", ("d",), at("a", J, "d") * at("p", J), "+"))
    assert blocked(loop(span("j", 0, N - gap), later, one("x", (J,), at("y", J + gap - 1) + at("x", J))))


@pytest.mark.parametrize("ahead", [2, 3])
def test_a_reader_of_what_a_block_adds_to(ahead):
    """It looks beyond the last iteration of the block, where the sums of the earlier ones must be by then."""
    later = each(span("d", J + 1, N), put("y", ("d",), at("a", J, "d") * at("p", J), "+"))
    assert not blocked(loop(span("j", 0, N - 4), later, one("x", (J,), at("y", J + ahead) + at("x", J))))


@pytest.mark.parametrize("body", [
    loop(UP, SCALE, push(0, N)),
    loop(UP, SCALE, push(J + 1, 19)),
    loop(UP, pull(0, N), SCALE),
    loop(UP, SCALE, push(J + 1, N), one("x", (N - 1,), at("x", N - 1) * at("y", J))),
    loop(UP, SCALE, push(J + 1, N), one("t", (), at("x", N - 1))),
    loop(UP, SCALE, each(span("d", J + 1, N), put("x", ("d",), at("a", J, "d") * at("x", J), "max"))),
    loop(UP, SCALE, each(span("d", J + 1, N), put("x", ("d",), at("a", "d", J) * at("x", J), "+"))),
    loop(span("j", 0, N, step=2), SCALE, push(J + 1, N)),
    loop(span("j", 0, 7), SCALE, push(J + 1, N)),
    loop(span("j", 0, N - 9), SCALE, push(J + 1, J + 9)),
    loop(UP, SCALE, when(at("t").compare("gt", at("y", 0)), (push(J + 1, N),))),
    loop(UP, SCALE, push(J + 1, N), when(at("t").compare("gt", at("y", 0)), (one("y", (J,), 1.0),))),
    loop(UP, each(span("d", number_at("m", J), N), put("y", ("d",), at("a", J, "d") * at("x", J), "+")), SCALE),
    Loop(UP, (push(0, N, to="y"),), parallel=True),
], ids=["everything is read again", "a range that may run backwards", "a whole row is read",
        "an element of the sum is multiplied", "the sum is read",
        "maxima",
        "down a column", "steps", "few iterations", "few points", "in a branch", "a branch", "ragged",
        "parallel"])
def test_what_stays_as_it_is(body):
    assert not blocked(body)


def test_one_reader_before_and_one_after():
    """A sum that may go neither way is left alone, another one of the same loop is not."""
    fixed = push(0, N)
    other = each(span("e", 0, N), put("y", ("e",), at("a", J, "e") * at("p", J), "+"))
    assert blocked(loop(UP, fixed, other))
    made = unroll_and_jam(build(loop(UP, fixed, other))).body[0]
    assert isinstance(made, Loop) and isinstance(made.body[0], Loop) and made.body[0].body == (fixed,)


def test_two_sums_of_one_element_keep_their_order_with_what_is_between():
    twice = one("y", (J,), at("y", J) * 2.0)
    assert blocked(loop(UP, push(J + 1, N, frm="p", to="y"), twice, SCALE, push(J + 1, N, frm="p", to="y")))
