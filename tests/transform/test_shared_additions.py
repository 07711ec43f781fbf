"""What is added to several rows is computed once."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.schedule.sums.shared_additions import share_additions
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Let, Map, Program, Stmt
from sdfgad.ir.walk import statements
from tests.support.build import F8, at, each, loop, one, put, span
from tests.support.oracle import check_same

N, M = 6, 20
I, D = ix("i"), ix("d")
STEPS = span("i", 2, N - 2)


def add(row, value=None, ahead: int = 0, array: str = "x", high: int = M - 1) -> Map:
    place = ix("e") + ahead
    value = at("a", place) + at("b", place + 1) if value is None else value
    return each(span("e", -ahead, high - ahead), put(array, (row, place), value, "+"))


def shared(*body: Stmt) -> int:
    """How many maps are left; the meaning stays."""
    arrays = {n: Array(n, s, F8, "argument") for n, s in {"x": (N, M), "a": (M,), "b": (M,), "y": (N, M)}.items()}
    before = Program("p", arrays, tuple(arrays), body)
    after = share_additions(before)
    check_same(before, after)
    return sum(isinstance(s, Map) for s in statements(after.body))


def test_two_rows() -> None:
    assert shared(loop(STEPS, add(I + 1), add(I - 1, ahead=3))) == 1


def test_three_rows_past_another_statement() -> None:
    assert shared(loop(STEPS, add(I + 1), one("x", (I, 0), 0.0), add(I - 1), add(I + 2))) == 2


def test_the_sum_is_named_once() -> None:
    arrays = {n: Array(n, s, F8, "argument") for n, s in {"x": (N, M), "a": (M,), "b": (M,)}.items()}
    made = share_additions(Program("p", arrays, tuple(arrays), (loop(STEPS, add(I + 1), add(I), add(I - 1)),)))
    body = made.body[0].body[0].body
    assert len(body) == 4 and isinstance(body[0], Let) and not any(isinstance(p, Let) for p in body[1:])


@pytest.mark.parametrize(("name", "body", "maps"), [
    ("no loop", (add(1), add(3)), 2),
    ("the same row", (loop(STEPS, add(I), add(I)),), 2),
    ("a row that may be the same", (loop(STEPS, add(I), add(3)),), 2),
    ("more points", (loop(STEPS, add(I), add(I + 1, high=M - 2)),), 2),
    ("another sum", (loop(STEPS, add(I), add(I + 1, value=at("a", "e") + at("b", "e"))),), 2),
    ("one element only", (loop(STEPS, add(I, value=at("a", "e")), add(I + 1, value=at("a", "e"))),), 2),
    ("a term changes", (loop(STEPS, add(I), one("a", (2,), 1.0), add(I + 1)),), 3),
    ("a look in between", (loop(STEPS, add(I), one("y", (I, 0), at("x", I + 1, 2)), add(I + 1)),), 3),
    ("rows it adds itself", (loop(STEPS, add(I, value=at("x", 0, "e") + at("a", "e")),
                                  add(I + 1, value=at("x", 0, "e") + at("a", "e"))),), 2),
])
def test_left_alone(name: str, body: tuple[Stmt, ...], maps: int) -> None:
    assert shared(*body) == maps, name
