"""Thin matrix products written out, before and after by the reference interpreter."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir.index import Ix, floordiv, ix, mod
from sdfgad.ir.program import Lib, Loop, Map, Program, View
from sdfgad.transform.products.write_out_products import WrittenOut, write_out_products
from tests.codegen.build_programs import C16, F8, program, span
from tests.support.oracle import check_same
from tests.support.thresholds import change


def view(array: str, shape: tuple, *index: Ix, dtype: np.dtype = F8) -> View:
    return View(array, tuple(ix(n) for n in shape), tuple(index), dtype)


@pytest.fixture(autouse=True)
def small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, thin_elements=0)


ROW, COLUMN = ix("_0"), ix("_1")


def check(stmt: Lib, shapes: dict) -> Program:
    before = program([Loop(span("t", 2), (stmt,))], shapes)
    after = write_out_products(before, WrittenOut.THIN)
    check_same(before, after, tolerance=1e-13)
    return after


def kind(made: Program) -> type:
    return type(made.body[0].body[0])  # type: ignore[union-attr]


@pytest.mark.parametrize("terms", [1, 2, 4])
@pytest.mark.parametrize("attrs", [{}, {"accumulate": True}, {"conj_a": True}, {"conj_b": True, "accumulate": True}])
def test_matrices(terms: int, attrs: dict) -> None:
    a, b = view("a", (3, terms), ROW, COLUMN, dtype=C16), view("b", (terms, 5), COLUMN, ROW, dtype=C16)
    out = view("c", (3, 5), ROW, COLUMN, dtype=C16)
    made = check(Lib("matmul", (out,), (a, b), attrs), {"a": ((3, terms), C16), "b": ((5, terms), C16),
                                                        "c": ((3, 5), C16)})
    assert kind(made) is Map


def test_vectors() -> None:
    a, x = view("a", (6, 3), ROW, COLUMN), view("x", (3,), ROW)
    for ins, out in (((a, x), 6), ((x, view("b", (3, 6), COLUMN, ROW)), 6)):
        made = check(Lib("matmul", (view("y", (out,), ROW),), ins, {}),
                     {"a": ((6, 3), F8), "b": ((6, 3), F8), "x": ((3,), F8), "y": ((6,), F8)})
        assert kind(made) is Map


def test_dimensions_that_stand_for_several() -> None:
    parts = floordiv(COLUMN, 15), mod(floordiv(COLUMN, 5), 3), mod(COLUMN, 5)
    a, b = view("a", (2, 2), ROW, COLUMN), view("b", (2, 60), ROW, floordiv(COLUMN, 15), mod(COLUMN, 15))
    out = view("c", (2, 60), ROW, *parts)
    made = check(Lib("matmul", (out,), (a, b), {"accumulate": True}),
                 {"a": ((2, 2), F8), "b": ((2, 4, 15), F8), "c": ((2, 4, 3, 5), F8)})
    stmt = made.body[0].body[0]  # type: ignore[union-attr]
    assert isinstance(stmt, Map) and len(stmt.domain) == 4
    assert not any("floor" in str(i) or "mod" in str(i) for p in stmt.body for i in p.index)  # type: ignore[union-attr]


@pytest.mark.parametrize("cut", [7, 4])
def test_dimensions_that_do_not_divide_stay_products(cut: int) -> None:
    cuts = floordiv(mod(COLUMN, 10), 1), mod(COLUMN + 1, cut)
    a, b = view("a", (1, 1), ROW, COLUMN), view("b", (1, 10), ROW, COLUMN)
    stmt = Lib("matmul", (view("c", (1, 10), ROW, cuts[0], cuts[1]),), (a, b), {})
    made = program([stmt], {"a": ((1, 1), F8), "b": ((1, 10), F8), "c": ((1, 10, 10), F8)})
    assert isinstance(write_out_products(made, WrittenOut.THIN).body[0], Lib)


def test_many_terms_and_unknown_counts_stay_products() -> None:
    for terms in (5, ix("t")):
        stmt = Lib("matmul", (view("c", (2, 2), ROW, COLUMN),),
                   (view("a", (2, terms), ROW, COLUMN), view("b", (terms, 2), ROW, COLUMN)), {})
        made = program([Loop(span("t", 3), (stmt,))], {"a": ((2, 5), F8), "b": ((5, 2), F8), "c": ((2, 2), F8)})
        assert kind(write_out_products(made, WrittenOut.THIN)) is Lib


def test_small_results_stay_products(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, thin_elements=16)
    stmt = Lib("matmul", (view("c", (3, 5), ROW, COLUMN),), (view("a", (3, 2), ROW, COLUMN),
                                                             view("b", (2, 5), ROW, COLUMN)), {})
    made = program([stmt], {"a": ((3, 2), F8), "b": ((2, 5), F8), "c": ((3, 5), F8)})
    assert isinstance(write_out_products(made, WrittenOut.THIN).body[0], Lib)
