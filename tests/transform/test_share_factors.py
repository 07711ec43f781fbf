"""Common factors in terms of sums are multiplied once; what has to keep its bits keeps them."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir.algebra import Term, where
from sdfgad.ir.expr import Call, Local
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Let, Map, Program, Store
from sdfgad.ir.text import program_text
from sdfgad.transform.products.share_factors import share_factors
from tests.support.build import F8, at, each, lit, put, span
from tests.support.oracle import check_same

F4 = np.dtype("f4")
SHAPES = {"a": (5,), "b": (5,), "u": (4,), "w": (4, 5), "g": (), "y": (4,), "z": (5,), "t": (4, 5), "s": ()}
I, K = span("i", 0, 4), span("k", 0, 5)
A, B, U, W, G = at("a", "k"), at("b", "k"), at("u", "i"), at("w", "i", "k"), at("g")


def let(name: str, value: Term) -> Let:
    return Let(name, value.expr)


def named(name: str) -> Term:
    return Term(Local(name, F8))


def added(array: str, index: tuple, value: Term) -> Store:
    return put(array, index, value, "+")


def check(stmt: Map, dtype: np.dtype = F8, exact: tuple[str, ...] = (), values: np.ndarray | None = None) -> str:
    """The pass keeps the meaning but for rounding; returns the map afterwards if it changed, or nothing."""
    arrays = {n: Array(n, s, dtype, "argument") for n, s in SHAPES.items()}
    before = Program("p", arrays, tuple(SHAPES), (stmt,))
    after = share_factors(before, exact)
    rng = np.random.default_rng(1)
    inputs = {n: np.asarray(rng.normal(size=s), dtype) for n, s in SHAPES.items()}
    inputs["w"] = inputs["w"] if values is None else np.resize(values, (4, 5)).astype(dtype)
    with np.errstate(all="ignore"):
        check_same(before, after, inputs, tolerance=1e-5 if dtype == F4 else 1e-13)
    assert share_factors(after, exact).body == after.body
    return "" if after.body == before.body else program_text(after).split("map")[-1]


@pytest.mark.parametrize("dtype", [F8, F4])
def test_a_factor_of_all_terms_is_taken_out(dtype: np.dtype) -> None:
    def part(array: str) -> Term:
        return Term(at(array, "k").expr) if dtype == F8 else at(array, "k", dtype=dtype)
    a, b, w = part("a"), part("b"), at("w", "i", "k", dtype=dtype)
    text = check(each((I, K), added("y", ("i",), a * w - b * w - (w * a) * a)), dtype)
    assert "(w[i, k] * ((a[k] - b[k]) - (a[k] * a[k])))" in text


def test_in_a_chain_of_lets() -> None:
    text = check(each((I, K), let("p", A * W), let("q", named("p") + B * W), added("y", ("i",), named("q") + W * U)))
    assert "(w[i, k] * ((a[k] + b[k]) + u[i]))" in text


def test_products_share_what_most_of_them_have() -> None:
    text = check(each((I, K), added("y", ("i",), G * (A * W)), added("z", ("k",), (B * G) * W),
                      added("s", (), (W * G) * (B * A))))
    assert text.count("(g * w[i, k])") == 3


def test_what_stays_the_same_along_a_row_comes_first() -> None:
    text = check(each((I, K), added("z", ("k",), W * (G * (A * U)) + B * (G * (A * U)))))
    assert "(g * u[i])" in text or "(u[i] * g)" in text


def test_equal_products_of_other_signs() -> None:
    text = check(each((I, K), added("y", ("i",), -(lit(2.0) * A * W)), added("z", ("k",), lit(2.0) * W * B),
                      added("s", (), -(-(W * 2.0)) * (A + B))))
    assert text.count("(2.0 * w[i, k])") == 3 or text.count("(w[i, k] * 2.0)") == 3


def test_powers_of_a_factor() -> None:
    check(each((I, K), added("y", ("i",), W * W * A + W * W * W * B), added("z", ("k",), W * W * U)))


@pytest.mark.parametrize("value", [
    A * W + B * U, A * W, A * W + W, (A + W) * (B + W),
], ids=["nothing in common", "one product", "as many operations", "sums"])
def test_no_gain_no_change(value: Term) -> None:
    assert not check(each((I, K), added("y", ("i",), value)))


SHARED = A * W + B * W


def test_only_in_sums_of_several_points() -> None:
    assert check(each((I, K), added("y", ("i",), SHARED)))
    assert not check(each((I, K), added("t", ("i", "k"), SHARED)))
    assert not check(each((I, K), put("t", ("i", "k"), SHARED)))
    assert not check(each((I, K), put("t", ("i", "k"), SHARED, "max")))
    assert not check(each((I, K), added("y", ("i",), SHARED)), exact=("y",))


def test_in_sums_that_meet_at_a_sum_of_variables() -> None:
    value = G * A * U + G * B * U
    assert check(each((I, span("k", 0, 2)), added("z", (ix("i") + "k",), value)))
    assert not check(each((span("i", 0, 2), span("k", 0, 2)), added("z", (ix("i") * 2 + "k",), value)))


def test_not_in_what_somebody_else_looks_at() -> None:
    q = let("q", SHARED)
    assert not check(each((I, K), q, put("t", ("i", "k"), named("q")), added("y", ("i",), named("q") * U)))
    assert not check(each((I, K), q, added("y", ("i",), where(named("q").compare("gt", 0.0), U, A))))
    assert not check(each((I, K), q, added("y", ("i",), where(named("q").compare("eq", 1.0), U, A))))
    assert not check(each((I, K), q, let("r", named("q") * 3.0), added("y", ("i",), named("r").apply("floor"))))
    assert check(each((I, K), q, added("y", ("i",), where(named("q").compare("eq", 0.0), lit(0.0), named("q") * U))))


def test_not_inside_what_may_jump() -> None:
    assert not check(each((I, K), added("y", ("i",), SHARED.apply("floor") * U)))
    assert not check(each((I, K), added("y", ("i",), where(SHARED.compare("lt", 0.0), U, A))))
    assert check(each((I, K), added("y", ("i",), where(W.compare("lt", 0.0), SHARED, A))))


def test_what_is_written_on_the_way_is_read_in_its_place() -> None:
    first = let("q", at("t", "i", "k") * W + B * W)
    stmt = each((I, K), first, put("t", ("i", "k"), A), added("y", ("i",), named("q") + at("t", "i", "k")))
    text = check(stmt)
    assert "let q" in text


def test_numbers_that_are_none() -> None:
    check(each((I, K), added("y", ("i",), SHARED)), values=np.array([np.inf, np.nan, 0.0, 1.0, -np.inf]))


def test_empty_rows_and_triangles() -> None:
    check(each((I, span("k", 3, 3)), added("y", ("i",), SHARED)))
    assert check(each((I, span("k", "i", 5)), added("y", ("i",), SHARED)))


def test_terms_with_factors_in_common_are_one_term_each() -> None:
    # The first two share w and c[i], the last two b; what they share with each other comes first.
    c, u = at("a", 2), U
    text = check(each((I, K), added("y", ("i",), c * W * A + c * W * U - B * A - B * (u * u))))
    assert text.count("*") == 4


def test_sums_that_differ_in_sign_are_one_sum() -> None:
    text = check(each((I, K), added("y", ("i",), lit(0.0) - A * W - B * U), added("z", ("k",), A * W + B * U)))
    assert text.count("+ (") == text.count("neg((") == 1 or text.count("neg(((") == 1


def test_a_sum_in_a_sum_that_became_the_only_reader() -> None:
    parts = (let("p", A * U + B * W), added("y", ("i",), lit(0.0) - W * U - named("p")),
             added("z", ("k",), W * U + named("p")))
    text = check(each((I, K), *parts))
    assert "let" not in text


ASKED = W.compare("gt", 0.0)
UNASKED = Term(Call("not", (ASKED.expr,), ASKED.expr.dtype))


@pytest.mark.parametrize("value", [where(UNASKED, A, lit(0.0)) + where(ASKED, B * U, lit(0.0)),
                                   where(ASKED, B * U, lit(0.0)) + where(UNASKED, A, lit(0.0))])
@pytest.mark.parametrize("values", [None, np.array([np.nan, 0.0, 1.0, -1.0, np.inf])])
def test_of_two_choices_one_is_zero(value: Term, values: np.ndarray | None) -> None:
    assert check(each((I, K), added("y", ("i",), value)), values=values).count("select") == 1


@pytest.mark.parametrize("value", [
    where(ASKED, A, lit(0.0)) + where(ASKED, B, lit(0.0)), where(UNASKED, A, lit(1.0)) + where(ASKED, B, lit(0.0)),
    where(UNASKED, A, lit(0.0)) + where(U.compare("gt", 0.0), B, lit(0.0)),
    where(UNASKED, A, lit(0.0)) - where(ASKED, B, lit(0.0))])
def test_other_choices_stay_two(value: Term) -> None:
    assert not check(each((I, K), added("y", ("i",), value)))
