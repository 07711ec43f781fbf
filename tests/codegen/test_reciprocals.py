"""Products take the place of quotients only where a last digit changes nothing, and where they are as good."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.lower import lower
from sdfgad.codegen.cpu.order.reciprocals import Reciprocals
from sdfgad.codegen.program import compile_program
from sdfgad.ir import interpret
from sdfgad.ir.expr import Expr, call
from sdfgad.ir.program import If, Loop, Map, Program
from tests.codegen.build_programs import F4, F8, add, load, mapped, mul, num, program, span, store
from tests.support.thresholds import change

Y = np.array([0.0, -0.0, 1.0, -2.5, 49.0, 1e-3, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e308, 3.7e-308])
N = len(Y)
DIVISORS = (1.5, -49.0, 0.0, -0.0, 5e-324, 1e-320, 2.3e-308, 4e307, 1e308, 1.7e308, np.inf, -np.inf, np.nan)
HERE, H = load("y", "i"), load("h")


@pytest.fixture(autouse=True)
def _everything_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, second_body=0)


def over(value: Expr, divisor: Expr = H) -> Expr:
    return call("div", value, divisor)


def build(value: Expr, op: str | None = None) -> Program:
    body = mapped([span("i", N)], store("x", ["i"], value, op))
    return program((body,), {"x": ((N,), F8), "y": ((N,), F8), "h": ((), F8), "a": ((N,), F8)})


def changed(before: Program, seen: tuple[str, ...] = ()) -> Program:
    return before.but(body=Reciprocals(before, seen).block(Frame(before.arrays), before.body))


def values(h: float) -> dict[str, np.ndarray]:
    return {"x": np.full(N, 2.0), "y": Y.copy(), "h": np.array(h), "a": Y[::-1].copy()}


@pytest.mark.parametrize("value", [over(HERE), over(mul(HERE, load("a", "i"))), mul(load("a", "i"), over(HERE)),
                                   add(over(HERE), over(load("a", "i"))), over(HERE, mul(num(2.0), H)),
                                   over(over(HERE))],
                         ids=["element", "product", "factor", "two", "computed", "twice"])
@pytest.mark.parametrize("op", [None, "+"])
def test_quotients_by_a_number_become_products(value: Expr, op: str | None) -> None:
    before = build(value, op)
    after = changed(before)
    (stmt,) = after.body
    assert isinstance(stmt, If)
    assert stmt.then != stmt.orelse == before.body
    for h in DIVISORS:
        expected, actual = values(h), values(h)
        with np.errstate(all="ignore"):
            interpret.run(before, expected)
            interpret.run(after, actual)
        np.testing.assert_allclose(actual["x"], expected["x"], rtol=1e-15, atol=1e-323, err_msg=f"h = {h}")


@pytest.mark.parametrize("h", [0.0, -0.0, 5e-324, 1e-320, 4.6e307, 1.7e308, np.inf, np.nan])
def test_divisors_without_a_normal_reciprocal_divide(h: float) -> None:
    before = build(over(HERE))
    expected, actual = values(h), values(h)
    with np.errstate(all="ignore"):
        interpret.run(before, expected)
        interpret.run(changed(before), actual)
    np.testing.assert_array_equal(actual["x"], expected["x"])


def test_literals_need_no_test() -> None:
    (stmt,) = changed(build(over(HERE, num(3.0)))).body
    assert isinstance(stmt, Map) and "'div'" not in repr(stmt)


@pytest.mark.parametrize("divisor", [0.0, 1e-320, 1.7e308, np.inf, np.nan])
def test_literals_without_a_normal_reciprocal_stay(divisor: float) -> None:
    before = build(over(HERE, num(divisor)))
    assert changed(before) == before


@pytest.mark.parametrize("value", [over(HERE, load("a", "i")), over(HERE, load("a", 0)), over(num(1.0)),
                                   call("sqrt", HERE), over(call("cast", HERE, dtype=F4), num(3.0))],
                         ids=["by elements", "by an element", "of numbers", "no quotient", "of two precisions"])
def test_other_values_stay(value: Expr) -> None:
    before = build(value)
    assert changed(before) == before


def test_what_is_seen_stays() -> None:
    before = build(over(HERE))
    assert changed(before, ("x",)) == before


def test_what_is_decided_upon_stays() -> None:
    later = mapped([span("i", N)], store("a", ["i"], call("floor", load("x", "i"))))
    before = build(over(HERE))
    before = before.but(body=(*before.body, later))
    assert changed(before) == before


SMALL = call("lt", over(HERE), num(2.0), dtype=np.dtype(bool))


@pytest.mark.parametrize("value", [call("floor", over(HERE)), call("sin", over(HERE)),
                                   call("sqrt", add(HERE, over(HERE))), call("select", SMALL, HERE, num(3.0)),
                                   over(HERE, add(load("a", "i"), over(HERE)))],
                         ids=["rounded", "function", "root of a sum", "condition", "divisor that is a sum"])
def test_what_the_expression_itself_decides_upon_stays(value: Expr) -> None:
    before = build(mul(HERE, value))
    assert changed(before) == before


@pytest.mark.parametrize("value", [call("sqrt", over(HERE)), over(num(1.0), over(HERE)),
                                   call("abs", mul(HERE, over(HERE)))],
                         ids=["root", "divisor", "size"])
def test_what_keeps_its_digits_changes(value: Expr) -> None:
    before = build(mul(HERE, value))
    assert changed(before) != before


def test_slopes_do_not_round_down_what_numpy_does_not() -> None:
    points = np.arange(1.0, 20001.0) * 49.0
    slope = sdfgad.grad(floors, wrt="w")(points, np.ones(len(points)), 49.0)
    np.testing.assert_array_equal(slope, 2.0 * np.floor(points / 49.0) ** 2)


def floors(y: np.ndarray, w: np.ndarray, h: float) -> float:
    for i in range(len(y)):
        w[i] = w[i] * np.floor(y[i] / h)
    return np.sum(w * w)


def test_a_number_that_the_map_changes_stays() -> None:
    before = build(num(0.0))
    body = mapped([span("i", N)], store("x", ["i"], over(HERE)), store("h", [], HERE, "+"))
    assert changed(before.but(body=(body,))).body == (body,)


def test_small_maps_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, second_body=1000)
    before = build(over(HERE))
    assert changed(before) == before


def test_maps_in_loops_and_the_usual_branch_change_alone() -> None:
    before = build(over(HERE))
    usual = If(call("isfinite", H, dtype=np.dtype(bool)), before.body, before.body)
    (loop,) = changed(before.but(body=(Loop(span("t", 2), (usual,)),))).body
    assert isinstance(loop, Loop)
    (stmt,) = loop.body
    assert isinstance(stmt, If) and isinstance(stmt.then[0], If) and stmt.orelse == before.body


def test_code_divides_what_is_seen_and_multiplies_the_rest(shared: bool) -> None:
    before = build(over(HERE))
    for loose in ((), ("x",)):
        executable = compile_program(before, loose=loose)
        for h in DIVISORS:
            expected, actual = values(h), values(h)
            with np.errstate(all="ignore"):
                interpret.run(before, expected)
            executable(actual)
            np.testing.assert_allclose(actual["x"], expected["x"], rtol=0.0 if not loose else 1e-15, atol=1e-323,
                                       err_msg=f"h = {h}")
    text = [repr([n.code.as_string for s in lower(before, (), loose).sdfg.states() for n in s.nodes()
                  if hasattr(n, "code")]) for loose in ((), ("x",))]
    assert "isfinite" not in text[0] and "isfinite" in text[1]


def halves(x: np.ndarray, h: float) -> float:
    y = x / h
    return np.sum(np.floor(y)) + np.sum(y * y)


def test_values_are_those_of_numpy() -> None:
    x = np.arange(1.0, 65.0) * 49.0
    value, slope = sdfgad.value_and_grad(halves, wrt="x")(x, 49.0)
    assert value == halves(x, 49.0)
    np.testing.assert_allclose(slope, 2.0 * x / 49.0 ** 2, rtol=1e-14)
