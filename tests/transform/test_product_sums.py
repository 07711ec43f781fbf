"""Sums over a product that nobody else reads are taken of its factors, and nothing else changes."""
from __future__ import annotations

from typing import Any

import pytest

from sdfgad.ir.program import Array, Lib, Program, Stmt, View
from sdfgad.ir.text import program_text
from sdfgad.transform.products.product_sums import sum_products
from tests.support.build import F8, at, each, put, span
from tests.support.oracle import check_same
from tests.support.thresholds import change

GIVEN = {"A": (3, 4), "B": (4, 5), "D": (5, 2), "C": (3, 5), "s": (), "v": (), "r": (3,), "c": (5,)}
HELD = {"t": (3, 5), "q": (3, 2)}
ARRAYS = {n: Array(n, s, F8, "transient" if n in HELD else "argument") for n, s in {**GIVEN, **HELD}.items()}
T, ALL = at("t", "i", "j"), (span("i", 0, 3), span("j", 0, 5))


@pytest.fixture(autouse=True)
def small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, summed_product=1)


def whole(name: str) -> View:
    return ARRAYS[name].whole


def product(out: str = "t", a: str = "A", b: str = "B", *scale: str, **attrs: Any) -> Lib:
    return Lib("matmul", (whole(out),), (whole(a), whole(b), *(whole(n) for n in scale)), attrs)


def check(*body: Stmt, products: int, keep: tuple[str, ...] = ()) -> None:
    """The pass keeps the meaning; so many products are left."""
    p = Program("p", ARRAYS, tuple(GIVEN), tuple(body))
    after = sum_products(p.but(live_out=frozenset((*GIVEN, *keep))))
    assert sum(isinstance(s, Lib) for s in after.body) == products, program_text(after)
    check_same(p, after, tolerance=1e-12)


@pytest.mark.parametrize("term", [T, -T, 2.0 * T, T / 3.0, T * at("s"), at("C", "i", "j") - T, T + at("s")], ids=str)
def test_the_sum_of_all_elements(term: Any) -> None:
    check(product(), each(ALL, put("v", (), term, "+")), products=0)


def test_sums_of_rows_and_of_columns() -> None:
    check(product(), each(ALL, put("r", ("i",), T, "+")), products=0)
    check(product(), each(ALL, put("c", ("j",), T, "+")), products=0)


def test_a_factor_of_one_dimension_stays_with_it() -> None:
    check(product(), each(ALL, put("v", (), T * at("r", "i"), "+")), products=0)


def test_variables_in_another_order_and_another_one() -> None:
    domain, term = (span("k", 0, 2), span("j", 0, 5), span("i", 0, 3)), T * at("D", "j", "k")
    check(product(), each(domain, put("r", ("i",), term, "+")), products=1)
    check(product(), each(domain, put("c", ("j",), term, "+")), products=0)


def test_scaled_products() -> None:
    check(product("t", "A", "B", "s", factor=0.5), each(ALL, put("v", (), T, "+")), products=0)


def test_several_sums_of_one_product() -> None:
    check(product(), each(ALL, put("r", ("i",), T, "+")), each(ALL, put("v", (), T, "+")), products=0)


def test_the_factors_may_change_after_the_product() -> None:
    change = each((span("i", 0, 3), span("k", 0, 4)), put("A", ("i", "k"), at("A", "i", "k") * 2.0))
    check(product(), change, each(ALL, put("v", (), T, "+")), products=0)


def test_chains() -> None:
    total = each((span("i", 0, 3), span("k", 0, 2)), put("v", (), at("q", "i", "k"), "+"))
    check(product(), product("q", "t", "D"), total, products=0)


@pytest.mark.parametrize("reader", [
    each(ALL, put("v", (), T * T, "+")),
    each(ALL, put("v", (), T, "max")),
    each(ALL, put("v", (), T * at("C", "i", "j"), "+")),
    each(ALL, put("C", ("i", "j"), T, "+")),
    each((span("i", 0, 2), span("j", 0, 5)), put("v", (), T, "+")),
    each((span("i", 0, 3), span("j", 1, 5)), put("v", (), T, "+")),
    each((span("i", 0, 3), span("j", 0, "i")), put("v", (), T, "+")),
    each((span("i", 0, 3),), put("v", (), at("t", "i", "i"), "+")),
], ids=["square", "largest", "weighted", "elements", "rows", "columns", "triangle", "diagonal"])
def test_other_readers_keep_the_product(reader: Stmt) -> None:
    check(product(), reader, products=1)
    check(product(), each(ALL, put("v", (), T, "+")), reader, products=1)


def test_products_somebody_sees_stay() -> None:
    check(product(), each(ALL, put("v", (), T, "+")), products=1, keep=("t",))


def test_accumulating_and_rewritten_products_stay() -> None:
    first = each(ALL, put("t", ("i", "j"), at("s")))
    check(first, product(accumulate=True), each(ALL, put("v", (), T, "+")), products=1)
    check(product(), each(ALL, put("t", ("i", "j"), T * 2.0)), each(ALL, put("v", (), T, "+")), products=1)


def test_small_products_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, summed_product=61)
    check(product(), each(ALL, put("v", (), T, "+")), products=1)
