"""Sums into a whole box become part of the sums into its pieces, where nothing in between minds."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.sums.sum_pieces import sum_pieces
from sdfgad.ir.program import Array, Map, Program, Stmt
from sdfgad.ir.walk import statements
from tests.support.build import F8, at, each, loop, put, span
from tests.support.oracle import check_same

N, M = 20, 30
I, J = span("i", 0, N), span("j", 0, M)
Y, Z = at("y", "i", "j"), at("z", "i", "j")


def whole(op: str | None = "+") -> Map:
    return each((I, J), put("x", ("i", "j"), Y * 2.0, op))


def rows(low: int, high: int, op: str | None = "+", ahead: int = 0) -> Map:
    """Some rows, counted from `ahead` before them."""
    here = span("k", low - ahead, high - ahead)
    return each((here, span("l", 0, M)), put("x", (here.start * 0 + "k" + ahead, "l"), at("z", "k", "l"), op))


def maps_left(*body: Stmt) -> int:
    """How many maps there are afterwards; the meaning stays."""
    arrays = {n: Array(n, (N, M), F8, "argument") for n in "wxyz"}
    before = Program("p", arrays, tuple(arrays), body)
    after = sum_pieces(before)
    # Whole numbers: sums are exact in any order.
    check_same(before, after, {n: np.random.default_rng(k).integers(1, 9, (N, M)) * 1.0 for k, n in enumerate(arrays)})
    return sum(isinstance(s, Map) for s in statements(after.body))


@pytest.mark.parametrize("op", ["+", None])
def test_whole_first(op: str | None) -> None:
    assert maps_left(whole(op), rows(0, 7), rows(7, N, ahead=3)) == 2


@pytest.mark.parametrize("op", ["+", None])
def test_whole_last(op: str | None) -> None:
    assert maps_left(rows(0, 7, op), rows(7, N, "+", 3), whole()) == 2


def test_within_a_loop() -> None:
    assert maps_left(loop(span("t", 0, 3), rows(0, 7, None), rows(7, N, None), whole())) == 2


def test_the_rest_of_the_array_is_left_alone() -> None:
    inner = each((span("i", 1, N), span("j", 0, M)), put("x", ("i", "j"), Y, "+"))
    assert maps_left(inner, rows(0, 1, None), rows(1, 7), rows(7, N)) == 3


def test_one_box_after_the_other() -> None:
    more = each((I, J), put("x", ("i", "j"), Z * 3.0, "+"))
    last = each((I, J), put("x", ("i", "j"), at("w", "i", "j"), "+"))
    assert maps_left(whole(None), more, last) == 1


@pytest.mark.parametrize(("name", "body"), [
    ("a row is left out", (whole(), rows(0, 7), rows(8, N))),
    ("a row twice", (whole(), rows(0, 8), rows(7, N))),
    ("the whole box replaced last", (rows(0, 7), rows(7, N), whole(None))),
    ("a piece replaced after the sum", (whole(), rows(0, 7, None), rows(7, N))),
    ("a look in between", (whole(), each((I, J), put("w", ("i", "j"), at("x", "i", "j"))), rows(0, 7), rows(7, N))),
    ("what is added changes", (whole(), each((I, J), put("y", ("i", "j"), Z)), rows(0, 7), rows(7, N))),
    ("an element replaced in between", (whole(), rows(0, 7), rows(9, 10, None), rows(7, N))),
    ("an element added in between", (whole(None), rows(6, 9), rows(0, 7), rows(7, N))),
    ("a look at the own array", (
        whole(), rows(0, 7), each((span("i", 7, N), J), put("x", ("i", "j"), at("x", "i", "j") * 2.0, "+")))),
    ("another order", (whole(), rows(0, 7), each((J, span("i", 7, N)), put("x", ("i", "j"), Z, "+")))),
    ("a product", (whole(), rows(0, 7), rows(7, N, "*"))),
    ("backwards", (each((span("i", N - 1, -1, -1), J), put("x", ("i", "j"), Y, "+")), rows(0, 7), rows(7, N))),
    ("another array, too", (each((I, J), put("x", ("i", "j"), Y, "+"), put("w", ("i", "j"), Y)),
                            rows(0, 7), rows(7, N))),
], ids=lambda v: v if isinstance(v, str) else "")
def test_stays_apart(name: str, body: tuple[Stmt, ...]) -> None:
    assert maps_left(*body) == len(body)


def test_small_boxes_stay() -> None:
    part = span("i", 0, 4)
    assert maps_left(each((part, span("j", 0, 4)), put("x", ("i", "j"), Y, "+")),
                     each((span("i", 0, 2), span("j", 0, 4)), put("x", ("i", "j"), Z, "+")),
                     each((span("i", 2, 4), span("j", 0, 4)), put("x", ("i", "j"), Z, "+"))) == 3
