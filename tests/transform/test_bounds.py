"""Conditions on loop variables as bounds, before and after by the reference interpreter."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir.expr import Call, call
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import If, Loop, Program
from sdfgad.ir.walk import statements
from sdfgad.transform.normal.bounds import bound_loops
from tests.codegen.build_programs import B1, F8, I8, compare, index, load, mapped, num, program, span, store
from tests.support.oracle import check_same

STEPS = (span("i", 5), span("i", 4, -1, step=-1))


def made(cond: Call, i: object = STEPS[0], orelse: tuple = ()) -> Program:
    """y[10 * i + j] = 10 * y[...] + n under a condition, inside loops over i and j; n tells the order."""
    body = mapped([], store("y", [ix("i") * 10 + "j"], index(ix("i") * 7 + "j", F8), "+"),
                  store("n", [], call("add", call("mul", load("n"), num(1.25)), index("i", F8))))
    nest = Loop(i, (Loop(span("j", 6), (If(cond, (body,), orelse),)),))  # type: ignore[arg-type]
    return program([nest], {"y": ((60,), F8), "n": ((), F8), "k": ((6,), I8)})


def check(before: Program) -> int:
    """The number of conditions that are left."""
    after = bound_loops(before)
    check_same(before, after, {"y": np.zeros(60), "n": np.ones(()), "k": np.array([3, 0, 2, 5, 1, 4])})
    return sum(isinstance(s, If) for s in statements(after.body))


def test(fn: str, left: Ix, right: int = 0) -> Call:
    return compare(fn, index(left), index(right))


test.__test__ = False  # type: ignore[attr-defined]
I, J = ix("i"), ix("j")


@pytest.mark.parametrize("i", STEPS, ids=["up", "down"])
@pytest.mark.parametrize("fn", ["ge", "gt", "le", "lt"])
@pytest.mark.parametrize("left", [I - J, J - I + 1, I - 2, 2 - I, J * 1 - 4, I * 3 - J, I - 9, I + 9], ids=str)
def test_bounds(fn: str, left: Ix, i: object) -> None:
    assert check(made(test(fn, left), i)) == 0


def test_several_conditions() -> None:
    cond = Call("and", (test("ge", I - J), Call("and", (test("lt", J - 4), test("gt", I, 1)), B1)), B1)
    assert check(made(cond)) == 0


@pytest.mark.parametrize("cond", [
    test("ge", I * 2 - J * 3), compare("eq", index(I), index(J)), test("ge", elem("k", ("j",)) - I),
    compare("gt", load("n"), num(3.0)),
], ids=["factors", "equality", "read from an array", "data"])
def test_other_conditions_stay(cond: Call) -> None:
    assert check(made(cond)) == 1


def test_two_branches_stay() -> None:
    other = mapped([], store("n", [], num(0.5), "+"))
    assert check(made(test("ge", I - J), orelse=(other,))) == 1


@pytest.mark.parametrize("cond", [
    compare("eq", index(I), index(ix(2))), compare("ne", index(J), index(ix(0))), test("le", J, 3),
    Call("or", (test("ge", I - 1), test("ge", J - 1)), B1), Call("not", (test("lt", I, 3),), B1),
    Call("select", (test("ge", J, 1), test("le", J, 4), compare("eq", index(I), index(ix(1)))), B1),
], ids=["equal", "unequal", "two sides", "or", "not", "select"])
def test_loops_are_cut(cond: Call) -> None:
    """Where the condition changes, with what is left of it: nothing."""
    other = mapped([], store("n", [], call("add", load("n"), index("j", F8))))
    before = made(cond, orelse=(other,))
    assert check(before) == 0
    variables = [s.range.var for s in statements(bound_loops(before).body) if isinstance(s, Loop)]
    assert len(variables) == len(set(variables)) > 2


def test_conditions_on_data_are_not_cut() -> None:
    other = mapped([], store("n", [], num(0.5), "+"))
    assert check(made(Call("and", (test("ge", I, 2), compare("gt", load("n"), num(3.0))), B1), orelse=(other,))) == 1
