"""Values are added up where they are computed when nobody else reads them."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir import algebra
from sdfgad.ir.program import Array, Program, Stmt, Store
from sdfgad.ir.text import program_text
from sdfgad.transform.sums.direct_sums import sum_directly
from tests.support.build import F8, at, each, one, put, span
from tests.support.oracle import check_same

F4 = np.dtype("f4")
GIVEN = {"x": (4, 4), "y": (4, 4), "v": (), "w": ()}
ARRAYS = {n: Array(n, s, F8, "argument") for n, s in GIVEN.items()}
X, Y = at("x", "i", "j"), at("y", "i", "j")
BOX = (span("i", 0, 4), span("j", 0, 4))
MADE = each(BOX, put("x", ("i", "j"), X * 2.0 + Y))
TOTAL = each(BOX, put("v", (), X, "+"))


def check(*body: Stmt, statements: int, keep: tuple[str, ...] = ("y", "v", "w")) -> None:
    """What is kept has the same values; so many statements are left."""
    p = Program("p", ARRAYS, tuple(GIVEN), tuple(body))
    after = sum_directly(p.but(live_out=frozenset(keep)))
    assert len(after.body) == statements, program_text(after)
    check_same(p, after, tolerance=1e-12, keep=keep)


def test_an_array_updated_in_place() -> None:
    check(MADE, TOTAL, statements=1)


def test_other_names_and_another_order() -> None:
    turned = each((span("a", 0, 4), span("b", 0, 4)), put("v", (), at("x", "b", "a") * at("y", "a", "b"), "+"))
    check(MADE, turned, statements=1)


def test_one_after_the_other() -> None:
    again = each(BOX, put("x", ("i", "j"), X * Y))
    check(MADE, again, TOTAL, statements=2)


@pytest.mark.parametrize("body", [
    (MADE, TOTAL, each(BOX, put("w", (), X, "+"))),
    (MADE, each(BOX, put("w", (), X, "+")), TOTAL),
    (MADE, each(BOX, put("y", ("i", "j"), Y * 3.0)), TOTAL),
    (each((span("i", 0, 3), span("j", 0, 4)), put("x", ("i", "j"), Y)), TOTAL),
    (MADE, each((span("i", 0, 4),), put("v", (), at("x", "i", "i"), "+"))),
    (MADE, each(BOX, put("v", (), X * at("x", "j", "i"), "+"))),
    (MADE, each((span("k", 0, 2), *BOX), put("v", (), X, "+"))),
    (each(BOX, put("x", ("i", "j"), Y, "+")), TOTAL),
    (each(BOX, put("x", ("i", "j"), Y * at("v"))), TOTAL),
], ids=["read later", "read between", "changed between", "a part", "diagonal", "two places", "several times",
        "accumulated", "reads the sum"])
def test_left_alone(body: tuple[Stmt, ...]) -> None:
    check(*body, statements=len(body))


def test_what_somebody_sees_is_stored() -> None:
    check(MADE, TOTAL, statements=2, keep=("x", "y", "v", "w"))


CLEAR = each(BOX, put("x", ("i", "j"), 0.0))
TERMS = each((*BOX, span("k", 0, 3)), put("x", ("i", "j"), Y * at("y", "k", "i"), "+"))


def test_a_sum_of_sums() -> None:
    check(CLEAR, TERMS, TOTAL, statements=1)
    check(CLEAR, TERMS, each((span("a", 0, 4), span("b", 0, 4)), put("v", (), at("x", "b", "a"), "+")), statements=1)
    check(one("w", (), 0.0), each(span("i", 0, 4), put("w", (), at("x", "i", "i"), "+")),
          one("v", (), at("w"), "+"), statements=1, keep=("y", "v"))


@pytest.mark.parametrize("body", [
    (CLEAR, TERMS, each(BOX, put("w", (), X, "+")), TOTAL),
    (CLEAR, TERMS, each(BOX, put("v", (), X * X, "+"))),
    (CLEAR, TERMS, each(BOX, put("y", ("i", "j"), Y * 3.0)), TOTAL),
    (each(BOX, put("x", ("i", "j"), 1.0)), TERMS, TOTAL),
    (CLEAR, each((*BOX[:1], span("j", 0, 3), span("k", 0, 3)), put("x", ("i", "j"), Y, "+")), TOTAL),
    (CLEAR, TERMS, each((span("i", 0, 3), span("j", 0, 4)), put("v", (), X, "+"))),
    (CLEAR, each(BOX, put("x", ("i", "i"), Y, "+")), TOTAL),
], ids=["read between", "squares", "changed between", "starts elsewhere", "some elements", "a part", "diagonal"])
def test_sums_left_alone(body: tuple[Stmt, ...]) -> None:
    check(*body, statements=len(body))


def test_a_sum_that_rounds_more_is_left_alone() -> None:
    """Every element is rounded once; its terms would be rounded one by one."""
    arrays = ARRAYS | {"v": Array("v", (), F4, "argument")}
    total = each(BOX, Store("v", (), algebra.cast(X.expr, F4), "+"))
    p = Program("p", arrays, tuple(GIVEN), (CLEAR, TERMS, total))
    assert sum_directly(p.but(live_out=frozenset(("y", "v")))).body == p.body
