"""Temporaries that hold zeros alone are left out, with the sums that add them."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.schedule.clearing.only_zeros import drop_zeros
from sdfgad.ir.program import Array, Loop, Program, Stmt
from sdfgad.ir.walk import statements
from tests.support.build import F8, at, each, lit, loop, put, span
from tests.support.oracle import check_same

N = 9
I = span("i", 0, N)
CLEAR = each(I, put("z", ("i",), 0.0))
USE = each(I, put("y", ("i",), at("z", "i") + at("x", "i")))


def left(*body: Stmt, keep=()) -> tuple[int, set[str]]:
    """How many statements and which temporaries there are afterwards; the meaning stays."""
    arrays = {n: Array(n, (N,), F8, "argument") for n in "xy"} | {n: Array(n, (N,), F8) for n in "zt"}
    before = Program("p", arrays, ("x", "y"), body)
    after = drop_zeros(before.but(live_out=frozenset(keep)))
    check_same(before, after)
    return len(list(statements(after.body))), after.arrays.keys() - {"x", "y"}


def test_zeros_are_not_added() -> None:
    assert left(CLEAR, USE) == (1, set())


def test_nor_taken_away() -> None:
    less = each(I, put("y", ("i",), at("x", "i") - (at("z", "i") + at("z", 3))))
    assert left(CLEAR, less) == (1, set())


def test_in_loops() -> None:
    assert left(loop(span("t", 0, 3), CLEAR, USE)) == (2, set())


def test_private_ones_of_a_parallel_loop() -> None:
    """The loop named an array that was gone."""
    body = Loop(span("t", 0, 3), (CLEAR, USE), parallel=True, private=("z",))
    arrays = {n: Array(n, (N,), F8, "argument") for n in "xy"} | {"z": Array("z", (N,), F8)}
    inner, = drop_zeros(Program("p", arrays, ("x", "y"), (body,))).body
    assert isinstance(inner, Loop) and inner.private == ()


def test_zeros_that_are_no_terms_are_numbers() -> None:
    assert left(CLEAR, each(I, put("y", ("i",), at("z", "i") * at("x", "i")))) == (1, set())


@pytest.mark.parametrize(("body", "keep"), [
    ((CLEAR, each((span("i", 0, 1),), put("z", ("i",), lit(2.0))), USE), ()),
    ((CLEAR, each(I, put("z", ("i",), at("x", "i"), "+")), USE), ()),
    ((CLEAR, USE), ("z",)),
], ids=["a number", "a sum", "seen"])
def test_left_alone(body: tuple[Stmt, ...], keep: tuple[str, ...]) -> None:
    assert left(*body, keep=keep)[0] == len(body)
