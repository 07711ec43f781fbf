"""A power next to one that was kept is a quotient, where that is known to be the same."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.copies.kept_powers import divide_kept_powers
from sdfgad.ir.algebra import Term, where
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Map, Program, Stmt
from sdfgad.ir.text import program_text
from tests.support.build import F8, at, each, lit, loop, position, put, span
from tests.support.oracle import check_same

SHAPES = {"u": (6,), "w": (7,), "z": (6,), "x": (6,), "y": (6,)}
VALUES = np.array([0.25, 4.0, 1e-300, 1e300, 0.0, np.inf])
I = span("i", 0, 6)


def power(base: Term, exponent: float) -> Term:
    return base ** lit(exponent)


def keeping(value: Term, base: Term = at("u", "i") * 1.0) -> Map:
    return each(I, put("x", ("i",), base), put("y", ("i",), value))


def guarded(base: Term, exponent: float = -1.5, least: float = 0.0) -> Term:
    return where(base.compare("gt", least), power(base, exponent), base)


U, X, Y = at("u", "i") * 1.0, at("x", "i"), at("y", "i")
KEEP = keeping(power(U, -1.5))
USE = each(I, put("z", ("i",), Y + power(X, -2.5)))


def check(*body: Stmt, dtype: np.dtype = F8, values: np.ndarray = VALUES) -> bool:
    """The pass keeps the meaning; returns whether a quotient came in."""
    arrays = {n: Array(n, s, dtype, "argument" if n in "uwz" else "transient") for n, s in SHAPES.items()}
    before = Program("p", arrays, ("u", "w", "z"), body)
    after = divide_kept_powers(before)
    with np.errstate(all="ignore"):
        check_same(before, after, {"u": values.astype(dtype), "w": np.arange(7.0), "z": np.zeros(6)}, tolerance=1e-14)
    return "abs(" in program_text(after)


def test_a_power_next_to_one_that_was_kept_is_a_quotient():
    assert check(KEEP, USE)
    assert check(keeping(power(U, -0.5)), each(I, put("z", ("i",), Y + power(X, -1.5))))


def test_special_values_are_the_same():
    assert check(KEEP, USE, values=np.array([-0.0, -1.0, np.nan, -np.inf, 5e-324, 1e308]))


def test_in_the_case_in_which_the_power_was_kept():
    inside = where(X.compare("gt", 0.0), power(X, -2.5) * Y, X)
    assert check(keeping(guarded(U)), each(I, put("z", ("i",), inside)))
    deeper = where(X.compare("gt", 0.0), where(Y.compare("eq", 1.0), lit(0.0), power(X, -2.5)), X)
    assert check(keeping(guarded(U)), each(I, put("z", ("i",), deeper)))


@pytest.mark.parametrize("use", [
    Y + power(X, -2.5),
    where(X.compare("gt", 1.0), power(X, -2.5) * Y, X),
    where(X.compare("gt", 0.0), X, power(X, -2.5) * Y),
], ids=["nowhere", "another", "otherwise"])
def test_not_in_another_case(use: Term):
    assert not check(keeping(guarded(U)), each(I, put("z", ("i",), use)))


@pytest.mark.parametrize("use", [
    power(X, -2.5),
    at("y", 5 - ix("i")) + power(X, -2.5),
    Y + power(X, -3.5),
    Y + power(X, -1.5),
    Y + power(at("w", "i"), -2.5),
], ids=["unseen", "elsewhere", "too far", "the same", "other base"])
def test_not_for_other_elements_or_powers(use: Term):
    assert not check(KEEP, each(I, put("z", ("i",), use)))


@pytest.mark.parametrize("exponents", [(-2.0, -3.0), (1.5, 0.5), (0.5, -0.5)], ids=str)
def test_not_for_whole_or_positive_exponents(exponents: tuple[float, float]):
    assert not check(keeping(power(U, exponents[0])), each(I, put("z", ("i",), Y + power(X, exponents[1]))))


@pytest.mark.parametrize("more", [
    each(span("k", 0, 3), put("x", ("k",), at("w", "k"))),
    each(span("k", 0, 3), put("y", ("k",), at("w", "k"))),
    each(span("k", 0, 3), put("y", ("k",), at("w", "k"), "+")),
], ids=["base", "power", "added"])
def test_not_where_somebody_else_writes(more: Map):
    assert not check(KEEP, more, USE)


def test_not_where_the_map_changes_the_power_afterwards():
    twice = each(I, put("x", ("i",), U), put("y", ("i",), power(U, -1.5)), put("y", ("i",), 1.0, "+"))
    assert not check(twice, USE)


def test_not_where_the_power_is_added():
    assert not check(each(I, put("x", ("i",), U), put("y", ("i",), power(U, -1.5), "+")), USE)


def test_not_of_places_that_differ():
    shifted = each(I, put("x", ("i",), U), put("y", (5 - ix("i"),), power(U, -1.5)))
    assert not check(shifted, USE)


def test_not_by_a_condition_about_places():
    low = position("i").compare("gt", 2)
    there = 5 - ix("i")
    use = where(low, power(at("x", there), -2.5) * at("y", there), at("x", there))
    assert not check(keeping(where(low, power(U, -1.5), U)), each(I, put("z", ("i",), use)))


def test_in_a_loop_and_for_floats():
    assert check(loop(span("t", 0, 2), KEEP, USE))
    small = np.array([0.25, 4.0, 2.0, 9.0, 0.5, 7.0])
    dtype = np.dtype("f4")
    base, kept, root = at("u", "i", dtype=dtype), at("y", "i", dtype=dtype), at("x", "i", dtype=dtype)
    keep = each(I, put("x", ("i",), base), put("y", ("i",), base ** lit(-1.5, dtype)))
    use = each(I, put("z", ("i",), kept + root ** lit(-2.5, dtype)))
    arrays = {n: Array(n, s, dtype, "argument" if n in "uwz" else "transient") for n, s in SHAPES.items()}
    before = Program("p", arrays, ("u", "w", "z"), (keep, use))
    check_same(before, divide_kept_powers(before), {"u": small.astype(dtype)}, tolerance=1e-5)
