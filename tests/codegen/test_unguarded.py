"""Guards leave a loop only where they decide nothing, and the result stays the same number."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.codegen.cpu.order.unguarded import merge_guards, without_guards
from sdfgad.codegen.program import compile_program
from sdfgad.ir import interpret
from sdfgad.ir.expr import Expr, call
from sdfgad.ir.program import If, Map, Program
from tests.codegen.build_programs import B1, F4, F8, add, compare, load, mapped, mul, num, program, span, store
from tests.support.thresholds import change

Y = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e308])
N = len(Y)
NUMBERS = (1.5, -1.5, 0.0, -0.0, 1e-320, 1e308, np.inf, -np.inf, np.nan)
K, HERE = load("k"), load("y", "i")


@pytest.fixture(autouse=True)
def _everything_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, second_body=0)


def neg(e: Expr) -> Expr:
    return call("neg", e)


def guarded(value: Expr, base: Expr = HERE, zero: Expr | None = None) -> Expr:
    zero = num(0.0, base.dtype) if zero is None else zero
    return call("select", compare("eq", base, num(0.0, base.dtype)), zero, value, dtype=value.dtype)


def build(value: Expr, op: str | None = None) -> Program:
    body = mapped([span("i", N)], store("x", ["i"], value, op))
    return program((body,), {"x": ((N,), F8), "y": ((N,), F8), "k": ((), F8), "h": ((), F8), "a": ((N,), F8)})


def changed(before: Program) -> Program:
    (stmt,) = before.body
    assert isinstance(stmt, Map)
    return before.but(body=(without_guards(Frame(before.arrays), stmt),))


def values(k: float, h: float) -> dict[str, np.ndarray]:
    return {"x": np.full(N, 2.0), "y": Y.copy(), "k": np.array(k), "h": np.array(h), "a": Y[::-1].copy()}


def check_equal(before: Program, after: Program) -> None:
    with np.errstate(all="ignore"):
        for k, h in ((k, h) for k in NUMBERS for h in NUMBERS):
            expected, actual = values(k, h), values(k, h)
            interpret.run(before, expected)
            interpret.run(after, actual)
            np.testing.assert_array_equal(actual["x"], expected["x"], err_msg=f"k = {k}, h = {h}")


PRODUCTS = {
    "number first": guarded(mul(K, HERE)),
    "number last": guarded(mul(HERE, K)),
    "negative": guarded(neg(mul(HERE, K)), neg(HERE)),
    "quotient": guarded(mul(call("div", num(1.0), K), HERE)),
    "two numbers": guarded(mul(load("h"), mul(HERE, K))),
    "of a sum": guarded(mul(add(HERE, load("a", "i")), K), add(HERE, load("a", "i"))),
    "one in the other": guarded(mul(load("h"), mul(load("a", "i"), guarded(mul(K, HERE)))),
                                mul(load("a", "i"), guarded(mul(K, HERE)))),
}


@pytest.mark.parametrize("value", PRODUCTS.values(), ids=PRODUCTS)
@pytest.mark.parametrize("op", [None, "+"])
def test_guards_of_finite_numbers_go(value: Expr, op: str | None) -> None:
    before = build(value, op)
    after = changed(before)
    (stmt,) = after.body
    assert isinstance(stmt, If)
    assert "select" not in repr(stmt.then)
    assert stmt.orelse == before.body
    check_equal(before, after)


def test_a_literal_needs_no_test() -> None:
    before = build(guarded(mul(num(-3.0), HERE)))
    after = changed(before)
    assert isinstance(after.body[0], Map)
    assert "select" not in repr(after)
    check_equal(before, after)


@pytest.mark.parametrize("value", [
    guarded(mul(load("a", "i"), HERE)),
    guarded(mul(load("a", 0), HERE)),
    guarded(mul(num(np.inf), HERE)),
    guarded(mul(K, HERE), zero=num(1.0)),
    guarded(mul(K, HERE), load("a", "i")),
    guarded(add(mul(K, HERE), HERE)),
    guarded(call("div", HERE, K)),
    guarded(call("select", compare("lt", HERE, K), K, HERE), HERE),
    call("select", compare("lt", HERE, num(0.0)), num(0.0), mul(K, HERE)),
    call("select", compare("eq", HERE, num(1.0)), num(0.0), mul(K, HERE)),
    call("select", call("not", compare("eq", HERE, num(0.0)), dtype=B1), num(0.0), mul(K, HERE)),
], ids=["an element", "one element", "infinity", "one", "of another", "a sum", "divided", "a choice",
        "below", "not of zero", "unless zero"])
def test_other_choices_stay(value: Expr) -> None:
    before = build(value)
    assert changed(before) == before


def test_a_number_that_the_map_changes_is_none() -> None:
    body = mapped([span("i", N)], store("x", ["i"], guarded(mul(K, HERE))), store("k", [], HERE, "+"))
    before = build(num(0.0)).but(body=(body,))
    assert changed(before) == before


def test_a_number_of_another_precision_stays() -> None:
    single = call("cast", HERE, dtype=F4)
    before = build(call("cast", guarded(mul(call("cast", K, dtype=F4), single), single), dtype=F8))
    after = changed(before)
    check_equal(before, after)


def test_small_maps_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, second_body=1000)
    before = build(guarded(mul(K, HERE)))
    assert changed(before) == before


def test_code_gives_the_same_numbers(shared: bool) -> None:
    before = build(add(guarded(mul(K, HERE)), load("a", "i")))
    executable = compile_program(before)
    for k in NUMBERS:
        expected, actual = values(k, 1.0), values(k, 1.0)
        with np.errstate(all="ignore"):
            interpret.run(before, expected)
        executable(actual)
        np.testing.assert_allclose(actual["x"], expected["x"], rtol=1e-15, err_msg=f"k = {k}")


ELSE = load("a", "i")
CHOSEN = compare("gt", ELSE, num(0.0))


def merged(before: Program) -> Program:
    (stmt,) = before.body
    assert isinstance(stmt, Map)
    return before.but(body=(merge_guards(stmt),))


@pytest.mark.parametrize("value", [
    call("select", CHOSEN, guarded(mul(ELSE, HERE)), HERE),
    call("select", CHOSEN, guarded(mul(ELSE, neg(HERE)), neg(HERE)), HERE),
    call("select", CHOSEN, guarded(mul(call("abs", ELSE), HERE)), HERE),
    call("select", CHOSEN, guarded(call("div", HERE, K)), neg(HERE)),
], ids=["product", "of the negative", "absolute", "the negative otherwise"])
def test_a_guard_within_a_choice_joins_it(value: Expr) -> None:
    before = build(value)
    after = merged(before)
    assert (repr(after).count("select"), "abs" in repr(after)) == (1, False)
    check_equal(before, after)


@pytest.mark.parametrize("value", [
    call("select", CHOSEN, guarded(mul(ELSE, HERE)), num(0.0)),
    call("select", CHOSEN, guarded(mul(ELSE, HERE), ELSE), HERE),
    call("select", CHOSEN, guarded(mul(ELSE, HERE), zero=num(1.0)), HERE),
    call("select", CHOSEN, HERE, guarded(mul(ELSE, HERE))),
    call("select", compare("ge", ELSE, num(0.0)), call("abs", ELSE), HERE),
    call("select", CHOSEN, call("abs", HERE), call("abs", ELSE)),
], ids=["zero otherwise", "another one", "one", "the other way round", "or zero", "of others"])
def test_other_guards_within_choices_stay(value: Expr) -> None:
    before = build(value)
    assert merged(before) == before


def test_programs_have_their_guards_merged() -> None:
    text = source(lower(build(call("select", CHOSEN, guarded(mul(ELSE, HERE)), HERE))))
    assert text.count("sg::pick") + text.count(" ? ") == 1
