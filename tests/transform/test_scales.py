"""Scales move into products where the scaled copy has no other purpose, and nothing else changes."""
from __future__ import annotations

from typing import Any

import pytest

from sdfgad.ir.algebra import Term
from sdfgad.ir.program import Array, Lib, Program, Stmt, View
from sdfgad.ir.text import program_text
from sdfgad.transform.dropping.dead import remove_dead_code
from sdfgad.transform.products.scales import fold_scales
from tests.support.build import F8, at, each, put, span
from tests.support.oracle import check_same

GIVEN = {"A": (3, 4), "B": (4, 5), "C": (3, 5), "D": (5, 2), "E": (3, 2), "s": (), "r": ()}
HELD = {"t": (3, 4), "p": (3, 5), "q": (3, 5)}
ARRAYS = {n: Array(n, s, F8, "transient" if n in HELD else "argument") for n, s in {**GIVEN, **HELD}.items()}


def whole(name: str) -> View:
    return ARRAYS[name].whole


def product(out: str, a: str, b: str, **attrs: Any) -> Lib:
    return Lib("matmul", (whole(out),), (whole(a), whole(b)), attrs)


def scaled(target: str, value: Term, op: str | None = None, stop: int | None = None) -> Stmt:
    rows, columns = {**GIVEN, **HELD}[target]
    ranges = span("i", 0, rows if stop is None else stop), span("j", 0, columns)
    return each(ranges, put(target, ("i", "j"), value, op))


def check(*body: Stmt, statements: int) -> Program:
    """The pass keeps the meaning; so many statements are left when the dead ones are gone."""
    p = Program("p", ARRAYS, tuple(GIVEN), tuple(body))
    after = remove_dead_code(fold_scales(p.but(live_out=frozenset(GIVEN))).but(live_out=frozenset(tuple(GIVEN))))
    assert len(after.body) == statements, program_text(after)
    check_same(p, after, tolerance=1e-12)
    return after


A_ = at("A", "i", "j")


@pytest.mark.parametrize("value", [at("s") * A_, A_ * 2.0, -A_, A_], ids=str)
def test_a_scaled_operand(value: Term) -> None:
    check(scaled("t", value), product("C", "t", "B", accumulate=True), statements=1)


def test_a_matrix_scaled_where_it_stands_is_not_scaled_twice() -> None:
    corner = each((span("i", 0, 1),), put("t", ("i", 3), at("s")))
    check(scaled("t", A_), corner, scaled("t", at("t", "i", "j") * 0.5), product("C", "t", "B"), statements=4)


def test_a_scaled_operand_taken_transposed() -> None:
    flipped = Lib("matmul", (whole("C").transposed,), (whole("B").transposed, whole("t").transposed), {})
    check(scaled("t", at("s") * A_), flipped, statements=1)


@pytest.mark.parametrize("op", [None, "+"])
def test_a_scaled_result(op: str | None) -> None:
    check(product("p", "A", "B"), scaled("C", at("p", "i", "j") * at("s"), op), statements=1)


def test_both() -> None:
    body = scaled("t", A_ * at("s")), product("p", "t", "B"), scaled("C", at("p", "i", "j") * 3.0, "+")
    assert len(check(*body, statements=1).body[0].ins) == 3


def test_a_second_scalar_stays_a_pass() -> None:
    check(scaled("t", A_ * at("s")), product("p", "t", "B"), scaled("C", at("p", "i", "j") * at("r")), statements=2)


@pytest.mark.parametrize("between", [scaled("A", A_ * 2.0), each((), put("s", (), at("r"))),
                                     scaled("t", A_ * at("r"), None, 2)])
def test_what_changes_in_between(between: Stmt) -> None:
    check(scaled("t", at("s") * A_), between, product("C", "t", "B"), statements=3)


def test_a_result_that_is_looked_at_twice_or_not_all_used() -> None:
    check(product("p", "A", "B"), scaled("C", at("p", "i", "j") * at("p", "i", "j")), statements=2)
    check(product("p", "A", "B"), scaled("C", at("p", "i", "j"), "+", 2), statements=2)
    check(product("p", "A", "B"), scaled("B", at("B", "i", "j") * 2.0), scaled("C", at("p", "i", "j"), "+"),
          statements=2 + 1)


def test_a_scaled_result_that_is_an_operand() -> None:
    check(product("p", "A", "B"), scaled("q", -at("p", "i", "j")), product("E", "q", "D"), statements=2)
