"""Maps over rows of data-dependent length run together when neither looks at what the other one writes."""
from __future__ import annotations

import numpy as np

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cpu.schedule.rows.ragged import flatten_ragged_loops
from sdfgad.ir.program import Array, Map, Program, Stmt
from sdfgad.ir.walk import statements
from sdfgad.verbs.pipeline import Request, derive
from tests.support.build import F8, I8, at, each, number_at, one, position, put, span
from tests.support.oracle import check_same

SHAPES = {"n": (4,), "c": (5,), "x": (5,), "y": (5,), "u": (5,), "s": ()}


def rows(name: str, var: str, value: str, op: str | None = "+") -> Map:
    ranges = (span(var, 0, 4), span(f"{var}_d", 0, number_at("n", var)))
    return each(ranges, put(name, (number_at("c", f"{var}_d"),), at(value, f"{var}_d") * 2.0, op))


def check(*body: Stmt) -> int:
    """The pass keeps the meaning; returns how many maps over rows are left."""
    arrays = {n: Array(n, s, I8 if n in "nc" else F8, "argument") for n, s in SHAPES.items()}
    before = Program("p", arrays, tuple(arrays), body)
    after = flatten_ragged_loops(before)
    check_same(before, after, {"n": np.array([2, 0, 5, 1]), "c": np.array([3, 1, 1, 0, 4])})
    return sum(isinstance(s, Map) and len(s.domain) == 2 for s in statements(after.body))


def test_one_walk_for_two_sums():
    assert check(rows("x", "i", "u"), rows("y", "j", "u")) == 1
    assert check(rows("x", "i", "u"), one("s", (), at("u", 0)), rows("y", "i", "u")) == 1


def test_a_value_of_the_other_walk_keeps_them_apart():
    assert check(rows("x", "i", "u"), rows("y", "j", "x")) == 2
    assert check(rows("x", "i", "y"), rows("y", "j", "u")) == 2
    assert check(rows("x", "i", "u"), rows("x", "j", "y")) == 2


def test_what_stands_between_may_hold_both_back():
    assert check(rows("x", "i", "u"), one("s", (), at("y", 3) + at("x", 3)), rows("y", "j", "u")) == 2
    assert check(rows("x", "i", "u"), one("n", (0,), position(3, I8)), rows("y", "j", "u")) == 2


def test_the_first_moves_down_when_the_second_is_held_back():
    clear = each(span("e", 0, 5), put("y", ("e",), 0.0))
    assert check(rows("x", "i", "u"), clear, rows("y", "j", "u")) == 1
    assert check(rows("x", "i", "y"), clear, rows("y", "j", "u")) == 2
    assert check(rows("x", "i", "u"), one("s", (), at("x", 1)), clear, rows("y", "j", "u")) == 2


def test_plain_ranges_are_left_alone():
    walk = [each((span("i", 0, 4), span("d", 0, 5)), put(n, ("d",), at("u", "d"), "+")) for n in "xy"]
    assert check(*walk) == 2


def test_the_gradient_of_a_sparse_product_walks_its_rows_once():
    def product(start, column, value, x):
        y = np.empty(start.size - 1)
        for i in range(start.size - 1):
            y[i] = value[start[i]:start[i + 1]] @ x[column[start[i]:start[i + 1]]]
        return np.sum(y)

    start, column = np.array([0, 2, 2, 5]), np.array([0, 3, 1, 2, 3])
    value, x = np.linspace(1.0, 2.0, 5), np.linspace(2.0, 3.0, 4)
    request = Request(("value", "x"))
    program = derive(product, bind(product, (start, column, value, x), {}), request).program
    assert sum(isinstance(s, Map) and any(r.stop.elems for r in s.domain) for s in statements(program.body)) == 1
    dvalue, dx = sdfgad.grad(product, wrt=("value", "x"))(start, column, value, x)
    np.testing.assert_allclose(dvalue, x[column], rtol=1e-15)
    np.testing.assert_allclose(dx, np.bincount(column, value, 4), rtol=1e-15)
