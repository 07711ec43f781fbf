"""Expressions, statements, their printed form and the reference interpreter."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdfgad.ir import algebra, interpret
from sdfgad.ir.expr import Call, Const, Load, const, index_elems, loads, map_indices, rewrite, walk
from sdfgad.ir.index import ix
from sdfgad.ir.interpret import run
from sdfgad.ir.program import Array, Pop, Push, Range, View, view_of
from sdfgad.ir.text import expr_text, program_text
from sdfgad.ir.walk import all_reads, all_writes, reads, rename_symbols, statements, writes
from tests.support.build import F8, I8, at, each, lit, loop, number_at, one, program, put, repeat, span, when
from tests.support.cases import CASES
from tests.support.oracle import execute

X, Y = at("x"), at("y")


@pytest.mark.parametrize("value, text", [
    (X + 0.0, "x"), (0.0 + X, "x"), (X * 1.0, "x"), (X * 0.0, "0.0"), (X - 0.0, "x"), (0.0 - X, "neg(x)"), (-(-X), "x"),
    (X / 1.0, "x"), (X * -1.0, "neg(x)"), (X + (-Y), "(x - y)"), (lit(2.0) * lit(3.0), "6.0"),
    ((-X) * Y, "neg((x * y))"), (X ** 2, "(x ** 2.0)"), (lit(0.0) / X, "0.0")])
def test_expressions_are_folded(value, text):
    assert expr_text(value.expr) == text


def test_choices_that_are_known_are_made():
    assert algebra.select(const(True, "?"), X.expr, Y.expr) == X.expr
    assert algebra.select(X.compare("gt", 0.0).expr, Y.expr, Y.expr) == Y.expr
    assert algebra.both(None, X.expr) == X.expr
    with pytest.raises(TypeError, match="must be a term"):
        algebra.where(X.compare("gt", 0.0), 1.0, 2.0)


def test_equal_expressions_are_equal_objects_of_sets():
    assert X.expr == at("x").expr
    assert len({X.expr, at("x").expr, at("x", 0).expr}) == 2
    assert Const(0.0, F8) != Const(-0.0, F8), "signed zeros differ"
    assert Const(1, I8) != Const(1.0, F8)


def test_each_shared_part_is_visited_once():
    square = (X * Y).expr
    both = Call("add", (square, square), F8)
    assert [type(n) for n in walk(both)] == [Load, Load, Call, Call]
    assert loads(both) == [X.expr, Y.expr]
    seen = []
    rewrite(both, lambda n: seen.append(n))
    assert len(seen) == 4


def test_what_is_used_again_is_computed_once():
    """Also in branches: written out, this has 2 ** 60 nodes."""
    value = X.expr
    for _ in range(30):
        value = Call("mul", (value, value), F8)
        value = Call("select", (Call("lt", (value, const(4.0, F8)), np.dtype(bool)), value, value), F8)
    assert interpret.number(value, {"x": np.array(1.0)}) == 1.0


def test_indices_inside_expressions():
    e = at("x", number_at("k", "i")).expr
    assert [a.array for a in index_elems(e)] == ["k"]
    assert map_indices(e, lambda i: i.subs({"i": ix("j")})) == at("x", number_at("k", "j")).expr


def test_what_statements_read_and_write():
    k = number_at("k", "i")
    stmt = each(span("i", 0, number_at("n")), put("z", (k,), at("x", "i"), "+"))
    assert reads(stmt) == {"n", "k", "x", "z"}
    nest = (loop(span("j", 0, 3), when(X.compare("gt", 0.0), (stmt,))), repeat("flag", "trips", one("y", (), X)))
    assert all_writes(nest) == {"z", "y"}
    assert all_reads(nest) == {"n", "k", "x", "z", "flag"}
    assert len(list(statements(nest))) == 5


def test_renaming_reaches_every_index():
    nest = (loop(span("j", ix("i"), 5), one("x", ("i",), at("x", ix("i") + "j"))),)
    assert "j = 2:5" in "\n".join(map(str, program_text(program({"x": (9,)}, rename_symbols(nest, {"i": 2}),
                                                                returns="x")).splitlines()))


@pytest.mark.parametrize("start, stop, step, trips", [(0, 5, 2, 3), (5, 0, -2, 3), (3, 3, 1, 0), (4, 1, 1, 0)])
def test_numbers_of_iterations(start, stop, step, trips):
    assert Range("i", ix(start), ix(stop), step).trips == trips


def test_iterations_of_a_range_that_moves():
    assert Range("i", ix("n"), ix("n") + 4, 3).trips == 2
    assert Range("i", ix(0), ix("n")).trips is None


def test_views_compose():
    made = program({"A": (4, 6)}, [], returns="A")
    whole = view_of(made.arrays["A"])
    assert whole.at((ix("i"), ix("j"))) == (ix("i"), ix("j"))
    part = View("A", (ix(2),), (ix("_0") * 2 + 1, ix(3)), F8)
    assert part.at((ix("i") + 1,)) == (ix("i") * 2 + 3, ix(3))


def test_reading_what_was_never_written_shows():
    made = program({"x": (2,)}, [each(span("i", 0, 1), put("y", ("i",), at("x", "i")))], returns="y", y=(2,))
    value, _ = execute(made, {"x": np.ones(2)})
    np.testing.assert_array_equal(value, [1.0, np.nan])


@pytest.mark.parametrize("index", [2, -1])
def test_indices_outside_are_errors(index):
    made = program({"x": (2,)}, [one("s", (), at("x", index))])
    with pytest.raises(IndexError, match="outside shape"):
        execute(made, {"x": np.ones(2)})


def test_arguments_are_changed_in_place_and_results_returned_as_a_tree():
    made = program({"x": (2,)}, [one("x", (0,), 5.0)], returns="x")
    x = np.ones(2)
    tree = run(made.but(returns=(made.returns, [3, made.returns])), {"x": x})
    assert x[0] == 5.0
    assert tree[1][0] == 3
    np.testing.assert_array_equal(tree[1][1], x)


def test_tapes_are_stacks():
    push, pop = Push("t", (ix(2),)), Pop("t", (ix(2),))
    every = span("i", 0, 2)
    fill, take = each(every, put("t", ("i",), at("x", "i"))), each(every, put("y", ("i",), at("t", "i")))
    double = each(every, put("x", ("i",), at("x", "i") * 2.0))
    made = program({"x": (2,)}, [push, fill, double, push, fill, double, pop, pop, take], returns="y", y=(2,))
    made = made.but(arrays={**made.arrays, "t": Array("t", (2,), F8, "tape")})
    value, _ = execute(made, {"x": np.ones(2)})
    np.testing.assert_array_equal(value, [1.0, 1.0])
    fresh = made.but(body=(push, fill, push, take))
    np.testing.assert_array_equal(execute(fresh, {"x": np.ones(2)})[0], [np.nan, np.nan])
    assert "push t[2]\n" in program_text(made)


def test_nothing_moves_across_the_ends_of_an_entry():
    for stmt in (Push("t", (ix("n"), number_at("k", "i"))), Pop("t", (ix("n"), number_at("k", "i")))):
        assert (reads(stmt), writes(stmt)) == ({"t", "k"}, {"t"})
        assert rename_symbols((stmt,), {"n": 3})[0] == replace(stmt, shape=(ix(3), number_at("k", "i")))


@pytest.mark.parametrize("name", CASES)
def test_every_statement_prints(name):
    text = program_text(CASES[name]().program)
    assert text.startswith("program hand\nargument")
    assert "<" not in text.replace(" < ", "").replace(" <= ", "").replace("(<", "")


def test_what_is_put_in_for_a_symbol_keeps_its_meaning_inside():
    """`i` stands for `j + 1`, and `j` of the block for something else."""
    inner = loop(span("j", 0, 2), each(span("d", "j", 3), put("y", ("d",), at("x", "i") + at("x", "j"), "+")))
    renamed, = rename_symbols((inner,), {"i": ix("j") + 1})
    whole = program({"x": (4,), "y": (4,)}, loop(span("j", 0, 3), renamed))
    assert program_text(whole).endswith(
        "for j = 0:3\n  for j_1 = 0:2\n    map d = j_1:3\n      y[d] += (x[j + 1] + x[j_1])")


def test_nothing_is_lost_when_indices_change():
    early = each(replace(span("i", 0, 4), early=True), put("y", ("i",), X))
    moved, = rename_symbols((early,), {"k": 1})
    assert moved == early
