"""What stands beside a loop goes into it only where it comes to the same."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.schedule.sums.join_updates import join_updates
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Loop, Map, Program, Stmt
from tests.support.build import F8, at, each, loop, one, put, span, when
from tests.support.oracle import check_same

N = 9
I, J = ix("i"), ix("j")


def build(*body: Stmt) -> Program:
    arrays = {k: Array(k, s, F8, "argument") for k, s in {"a": (N, N), "g": (N, N), "x": (N,), "p": (N,)}.items()}
    return Program("p", arrays, tuple(arrays), body)


def joined(*body: Stmt) -> bool:
    before = build(*body)
    made = join_updates(before)
    check_same(before, made, tolerance=1e-9)
    return made.body != before.body


def inner(made: Stmt) -> Loop:
    assert isinstance(made, Loop) and len(made.body) == 1 and isinstance(made.body[0], Loop)
    return made.body[0]


ROWS, BACK = span("i", 0, N), span("i", N - 1, -1, step=-1)
DIVIDE = one("a", (I, J), at("a", I, J) / (at("p", J) + 9.0))


def row(start, stop, array: str = "a") -> Map:
    return each(span("d", start, stop), put(array, (I, "d"), at(array, I, J) * at("p", J) * at("a", J, "d"), "+"))


def rest(start, stop, low=0, high=I, array: str = "a") -> Map:
    return each([span("e", start, stop), span("k", low, high)],
                put(array, (I, "e"), at(array, I, "k") * at("p", "k") * at("a", "k", "e"), "+"))


def dot(start, stop) -> Map:
    return each(span("d", start, stop), put("g", (I, J), at("g", I, "d") * at("a", J, "d"), "+"))


def dots(start, stop) -> Map:
    return each([span("e", start, stop), span("k", 0, I)], put("g", (I, "k"), at("g", I, "e") * at("a", "k", "e"), "+"))


def test_the_rest_of_a_row_after_its_recurrence():
    body = loop(ROWS, loop(span("j", 0, I), DIVIDE, row(J + 1, I)), rest(I, N))
    assert joined(body)
    made = inner(join_updates(build(body)).body[0]).body[1]
    assert isinstance(made, Map) and made.domain == (span("d", J + 1, N),)


def test_sums_before_a_recurrence_that_goes_back():
    body = loop(BACK, dots(I, N), loop(span("j", I - 1, -1, step=-1), dot(J + 1, I),
                                       one("g", (I, J), at("g", I, J) * at("p", J))))
    assert joined(body)
    made = inner(join_updates(build(body)).body[0]).body[0]
    assert isinstance(made, Map) and made.domain == (span("d", J + 1, N),)


def test_ranges_in_any_order_and_from_either_side():
    turned = each([span("k", 0, I), span("e", I, N)], *rest(I, N).body)
    assert joined(loop(ROWS, loop(span("j", 0, I), DIVIDE, row(J + 1, I)), turned))
    low = loop(span("i", 2, N), loop(span("j", 2, I), row(1, 2, "g")), rest(0, 1, low=2, array="g"))
    assert joined(low)


def test_points_that_read_their_neighbours_stay_apart():
    """One iteration in which the points are in order, but not independent."""
    move = put("x", ("d",), at("x", ix("d") + 1) * at("p", J), "+")
    after = each([span("d", 4, 5), span("k", 3, 4)], put("x", ("d",), at("x", ix("d") + 1) * at("p", "k"), "+"))
    recurrence = loop(span("j", 3, 4), each(span("d", 3, 4), move))
    assert not joined(recurrence, after)
    assert not joined(after, recurrence)


@pytest.mark.parametrize("body", [
    (loop(span("j", 0, I), DIVIDE, row(J + 1, I)), rest(I + 1, N)),
    (loop(span("j", 0, I), DIVIDE, row(J + 1, I)), rest(I - 1, N)),
    (loop(span("j", 0, I), DIVIDE, row(J + 1, I)), rest(I, N, low=1)),
    (loop(span("j", 0, I), DIVIDE, row(J + 2, I)), rest(I, N)),
    (loop(span("j", 0, I), row(J + 1, I), DIVIDE), rest(I, N)),
    (rest(I, N), loop(span("j", 0, I), DIVIDE, row(J + 1, I))),
    (loop(span("j", 0, I), DIVIDE, row(J + 1, I), one("x", (J,), at("a", I, N - 1))), rest(I, N)),
    (loop(span("j", 0, I), DIVIDE, row(J + 1, I)), one("p", (0,), 2.0), rest(I, N)),
    (loop(span("j", 0, I), when(at("x", 0).compare("gt", at("x", 1)), (DIVIDE,)), row(J + 1, I)), rest(I, N)),
    (dots(I, N), loop(span("j", I - 1, -1, step=-1), dot(J + 1, I), one("g", (I, N - 1), at("g", I, J)))),
], ids=["a gap", "an overlap", "another iteration", "ranges that may run backwards", "an operand that changes later",
        "an operand that changes first", "a reader of the rest", "something between", "a branch",
        "an operand that the loop writes"])
def test_what_stays_as_it_is(body):
    assert not joined(loop(span("i", 1, N - 1), *body))
