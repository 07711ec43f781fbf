"""What an iteration clears of a row and adds to it next is assigned, where nothing looks at the row in between."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.schedule.clearing.cleared_rows import assign_to_rows
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Map, Program, Stmt, Store
from sdfgad.ir.walk import statements
from tests.support.build import F8, at, each, loop, one, put, span
from tests.support.oracle import check_same

N, M = 7, 12
I = ix("i")
CLEAR = each(span("d", 1, M), put("t", ("d",), at("x", I, "d")), put("x", (I, "d"), 0.0))


def add(low: int, high: int, row=I, array: str = "t", op: str | None = "+") -> Map:
    return each(span("e", low - 1, high - 1), put("x", (row, ix("e") + 1), at(array, ix("e") + 1) * 2.0, op))


def made(*body: Stmt) -> tuple[int, int]:
    """How many stores clear, and how many add, afterwards; the meaning stays."""
    arrays = {n: Array(n, s, F8, "argument") for n, s in {"x": (N, M), "t": (M,), "u": (M,), "y": (N,)}.items()}
    before = Program("p", arrays, tuple(arrays), (loop(span("i", 1, N - 1), *body),))
    after = assign_to_rows(before)
    check_same(before, after)
    stores = [p for s in statements(after.body) if isinstance(s, Map) for p in s.body
              if isinstance(p, Store) and p.array == "x"]
    return sum(p == put("x", (I, "d"), 0.0) for p in stores), sum(p.op == "+" for p in stores)


def test_the_whole_row() -> None:
    assert made(CLEAR, add(1, M)) == (0, 0)


def test_in_pieces_past_other_rows() -> None:
    assert made(CLEAR, add(1, M, I + 1), add(1, 4), add(4, M), add(2, M, I - 1), add(1, M)) == (0, 3)


def test_what_is_left_is_cleared() -> None:
    assert made(CLEAR, add(3, 6)) == (2, 0)


def test_elements_beside_the_cleared_ones_are_added_to() -> None:
    assert made(CLEAR, add(0, 1), add(1, M)) == (0, 1)


def test_a_clearing_after_other_stores_of_its_row() -> None:
    first = each(span("d", 1, M), put("x", (I, "d"), at("u", "d"), "+"), put("x", (I, "d"), 0.0))
    assert made(first, add(1, M)) == (0, 1)


@pytest.mark.parametrize(("name", "body"), [
    ("a look at the row", (CLEAR, one("y", (I,), at("x", I, 3)), add(1, M))),
    ("a look by the sum", (CLEAR, each(span("e", 1, M - 1), put("x", (I, "e"), at("x", I, ix("e") + 1), "+")))),
    ("across the end", (CLEAR, add(0, 5))),
    ("another store first", (CLEAR, add(2, 5, op=None), add(1, M))),
    ("a row that may be the same", (CLEAR, each(span("e", 0, N), put("x", ("e", 3), 1.0, "+")), add(1, M))),
    ("all into one element", (CLEAR, each(span("e", 1, M), put("x", (I, 3), at("t", "e"), "+")))),
    ("in a loop", (CLEAR, loop(span("k", 0, 2), add(1, M)))),
])
def test_left_alone(name: str, body: tuple[Stmt, ...]) -> None:
    assert made(*body)[0] == 1, name
