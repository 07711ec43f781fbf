"""A value computed twice is computed once, as long as the first copy of it lasts."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.ir.program import Array, Lib, Map, Program, Stmt
from sdfgad.ir.walk import all_writes
from sdfgad.transform.fusion.shared_values import share_values
from sdfgad.verbs.pipeline import Request, derive
from tests.support.build import BOOL, F8, I8, at, each, lit, loop, one, put, repeat, span, total, when
from tests.support.oracle import check_same

I, J = span("i", 0, 4), span("j", 0, 4)
FIRST = each(I, put("x", ("i",), at("u", "i") * 3.0))
AGAIN = each(J, put("y", ("j",), at("u", "j") * 3.0))
USE = each(I, put("z", ("i",), at("x", "i") * at("x", "i") + at("y", "i")))
SHAPES = {"u": (4,), "x": (4,), "y": (4,), "a": (), "b": (), "z": (4,)}


def check(*body: Stmt) -> set[str]:
    """The pass keeps the meaning; returns the arrays that are still computed."""
    arrays = {n: Array(n, s, F8, "argument" if n in "uz" else "transient") for n, s in SHAPES.items()}
    before = Program("p", arrays, ("u", "z"), body)
    after = share_values(before.but(live_out=frozenset(("z",))))
    held = {n: np.random.default_rng(1).random(arrays[n].shape) for n in ("x", "y", "a", "b")}
    check_same(before, after, {**held, "u": np.linspace(0.5, 2.0, 4), "z": np.zeros(4)})
    return all_writes(after.body)


def test_two_maps_of_the_same_values_are_one():
    assert check(FIRST, AGAIN, USE) == {"x", "z"}


@pytest.mark.parametrize("between", [
    one("u", (1,), 7.0),
    loop(span("t", 0, 2), one("u", ("t",), 7.0)),
    when(at("u", 0).compare("gt", 0.0), (one("u", (1,), 7.0),)),
], ids=["element", "loop", "condition"])
def test_a_changed_operand_makes_another_value(between: Stmt):
    assert check(FIRST, between, AGAIN, USE) == {"u", "x", "y", "z"}


def test_a_holder_that_moved_on_is_not_read():
    changed = one("x", (2,), -1.0)
    assert check(FIRST, AGAIN, changed, USE) == {"x", "y", "z"}


def test_another_number_makes_another_value():
    assert check(FIRST, each(J, put("y", ("j",), at("u", "j") * 3.5)), USE) == {"x", "y", "z"}


def sums(name: str, var: str, start: float = 0.0) -> tuple[Stmt, ...]:
    far = when(at("u", var).compare("gt", 1.0), (one(name, (), at("u", var) * 2.0, "+"),))
    return one(name, (), start), loop(span(var, 0, 4), one(name, (), at("u", var), "+"), far)


def test_loops_and_conditions_count_as_a_whole():
    use = one("z", (0,), at("a") * 2.0 + at("b"))
    assert check(*sums("a", "s"), *sums("b", "t"), use) == {"a", "z"}
    assert check(*sums("a", "s"), *sums("b", "t", 1.0), use) == {"a", "b", "z"}


def test_an_iteration_does_not_see_the_value_of_another_one():
    body = (one("z", ("t",), at("a") + at("b")), one("a", (), at("u", "t")), one("b", (), at("u", "t")),
            one("z", ("t",), at("b"), "+"))
    assert check(one("a", (), 0.0), one("b", (), 1.0), loop(span("t", 0, 4), *body)) == {"a", "b", "z"}
    twice = (one("a", (), at("u", "t") * 2.0), one("b", (), at("u", "t") * 2.0), one("z", ("t",), at("a") + at("b")))
    assert check(loop(span("t", 0, 4), *twice)) == {"a", "z"}


def test_a_hidden_variable_is_another_number():
    hidden = loop(span("t", 0, 2), one("b", (), at("u", "t")), one("z", ("t",), at("b"), "+"))
    assert check(loop(span("t", 0, 4), one("a", (), at("u", "t")), hidden, one("z", ("t",), at("a"), "+"))) == \
        {"a", "b", "z"}


def test_a_program_without_repetition_stays_the_same_object():
    arrays = {"z": Array("z", (4,), F8, "argument"), "s": Array("s", (), F8)}
    program = Program("p", arrays, ("z",), (*total("z", (4,)), one("z", (0,), lit(1.0))))
    assert share_values(p := program.but(live_out=frozenset(("z", "s")))) is p


def test_the_counter_of_a_loop_stays_for_the_reverse_sweep():
    arrays = {n: Array(n, s, F8, "argument" if n in "uz" else "transient") for n, s in SHAPES.items()}
    arrays |= {"count": Array("count", (), I8), "more": Array("more", (), BOOL)}
    more = one("more", (), at("z", 0).compare("gt", 1.0))
    turn = repeat("more", "count", one("count", (), at("count", dtype=I8) + 1), one("z", (0,), at("z", 0) * 0.5), more)
    start = Map((), (put("count", (), lit(0, I8)),))
    body = (FIRST, AGAIN, USE, start, more, turn)
    after = share_values(Program("p", arrays, ("u", "z"), body, live_out=frozenset(("z",))))
    assert all_writes(after.body) == {"x", "z", "count", "more"}


def test_two_histograms_find_their_bins_once():
    def means(radius, data):
        return np.sum(np.histogram(radius, 5, weights=data)[0] / np.histogram(radius, 5)[0])

    radius, data = np.tile(np.linspace(0.0, 1.0, 10), 2), np.linspace(1.0, 2.0, 20)
    program = derive(means, bind(means, (radius, data), {}), Request(("data",))).program
    assert len([n for n, a in program.arrays.items() if a.dtype.kind == "i" and a.shape == (20,)]) <= 3
    bins = np.minimum((radius * 5).astype(int), 4)
    expected = 1.0 / np.bincount(bins)[bins]
    np.testing.assert_allclose(sdfgad.grad(means, wrt="data")(radius, data), expected, rtol=1e-13)


@pytest.mark.parametrize("accumulate", [False, True])
def test_library_results_within_an_iteration(accumulate: bool):
    def product(out: str) -> Lib:
        views = (Array("m", (4, 4), F8).whole, Array("u", (4,), F8).whole)
        return Lib("matmul", (Array(out, (4,), F8).whole,), views, {"accumulate": accumulate})

    arrays = {n: Array(n, s, F8, "argument" if n in "muz" else "transient") for n, s in {**SHAPES, "m": (4, 4)}.items()}
    before = Program("p", arrays, ("m", "u", "z"), (loop(span("t", 0, 3), product("x"), product("y"), USE),))
    after = share_values(before.but(live_out=frozenset(("z",))))
    rng = np.random.default_rng(1)
    check_same(before, after, {n: rng.random(a.shape) for n, a in arrays.items() if n not in "ab"})
    assert ("y" in all_writes(after.body)) == accumulate


def test_arrays_changed_in_place_alike_stay_different():
    doubled = [each(I, put(n, ("i",), at(n, "i") * 2.0)) for n in "xy"]
    assert check(FIRST, each(J, put("y", ("j",), at("u", "j"))), *doubled, USE) == {"x", "y", "z"}


@pytest.mark.parametrize("second, left", [(3.0, {"x", "z"}), (2.0, {"x", "y", "z"})])
def test_what_one_map_assigns_twice(second: float, left: set[str]):
    both = each(I, put("x", ("i",), at("u", "i") * 3.0), put("y", ("i",), at("u", "i") * second))
    assert check(both, USE) == left


def test_what_one_map_adds_twice_stays():
    """What was there before differs."""
    start = each(I, put("x", ("i",), lit(1.0)), put("y", ("i",), lit(2.0)))
    both = each(I, put("x", ("i",), at("u", "i"), "+"), put("y", ("i",), at("u", "i"), "+"))
    assert check(start, both, USE) == {"x", "y", "z"}
