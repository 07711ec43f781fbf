"""Products that share a factor are merged when that saves work and changes nothing else."""
from __future__ import annotations

from typing import Any

import pytest

from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Lib, Program, Stmt, View, axis
from sdfgad.transform.products.merge_products import merge_products
from tests.support.build import F8, at, each, lit, put, span
from tests.support.oracle import check_same

SHAPES = {"A": (5, 4), "D": (5, 4), "E": (4, 5), "B": (4, 9), "C": (6, 9), "G": (9, 6), "s": ()}


def view(name: str, rows: tuple[int, int] | None = None, columns: tuple[int, int] | None = None) -> View:
    """`name[rows, columns]`"""
    ends = [r or (0, n) for r, n in zip((rows, columns), SHAPES[name], strict=True)]
    index = tuple(ix(axis(k)) + low for k, (low, _) in enumerate(ends))
    return View(name, tuple(ix(high - low) for low, high in ends), index, F8)


def product(out: View, a: View, b: View, **attrs: Any) -> Lib:
    return Lib("matmul", (out,), (a, b), {"accumulate": True, **attrs})


def check(*body: Stmt, expected: int) -> Program:
    """The pass keeps the meaning; so many products are left."""
    p = Program("p", {n: Array(n, s, F8, "argument") for n, s in SHAPES.items()}, tuple(SHAPES), tuple(body))
    after = merge_products(p)
    assert sum(isinstance(s, Lib) for s in after.body) == expected
    check_same(p, after, tolerance=1e-12)
    return after


TOP, LOW = (0, 5), (1, 6)


@pytest.mark.parametrize("first", [True, False], ids=["added", "assigned"])
def test_a_shared_right_factor(first: bool) -> None:
    c = view("C", TOP)
    check(product(c, view("A"), view("B"), accumulate=first), product(c, view("E").transposed, view("B")), expected=1)


def test_a_shared_left_factor() -> None:
    """The same in the transposed matrices."""
    c, b = view("C", TOP).transposed, view("B").transposed
    check(product(c, b, view("A").transposed), product(c, b, view("E")), expected=1)


def test_windows_side_by_side() -> None:
    """The products of `i < j` and of `i > j`: rows without a partner see zeros of the sum."""
    a, d, b = view("A"), view("D", None, (0, 3)), view("B")
    check(product(view("C", LOW), a, b), product(view("C", TOP), view("D"), b), expected=1)
    check(product(view("C", TOP), d, view("B", (1, 4))), product(view("C", LOW), a, b), expected=1)


def test_statements_in_between() -> None:
    c = view("C", TOP)
    twice = product(c, view("A"), view("B")), product(c, view("D"), view("B"))
    other = each(span("i", 0, 4), put("E", ("i", 0), at("s") * 2.0))
    more = each(span("i", 0, 5), put("C", ("i", 1), at("s") * 2.0, "+"))
    check(twice[0], other, more, twice[1], expected=1)
    for disturbing in (each(span("i", 0, 5), put("A", ("i", 0), at("s"))), each((), put("C", (2, 2), lit(0))),
                       each((), put("s", (), at("C", 1, 1)))):
        check(twice[0], disturbing, twice[1], expected=2)


def test_what_cannot_be_merged() -> None:
    c = view("C", TOP)
    check(product(c, view("A"), view("B")), product(c, view("D"), view("B"), factor=2.0), expected=2)
    check(product(c, view("A"), view("B")), product(c, view("D"), view("B"), accumulate=False), expected=2)
    far = view("C", (0, 2)), view("C", (4, 6))
    check(*(product(o, view("A", (0, 2)), view("B")) for o in far), expected=2)
    narrow = view("C", TOP, (0, 3)), view("B", None, (0, 3))
    check(*(product(narrow[0], view(n), narrow[1]) for n in ("A", "D")), expected=2)
