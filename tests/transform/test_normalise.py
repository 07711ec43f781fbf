"""The form the reverse sweep takes: conditions and bounds are recorded, each statement object stands once."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir.index import ix
from sdfgad.ir.program import If, Loop
from sdfgad.ir.walk import all_writes, expr_reads, range_elems, statements
from sdfgad.transform.dropping.dead import remove_dead_code
from sdfgad.transform.fusion.fuse import fuse_pointwise
from sdfgad.transform.normal.normalise import normalise
from tests.support.build import at, each, flat, loop, number_at, one, program, put, span, total, when
from tests.support.cases import CASES
from tests.support.oracle import execute

every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_the_value_stays(name):
    case = CASES[name]()
    expected, _ = execute(case.program, case.arrays)
    program = case.program.but(live_out=frozenset({"s"}))
    for change in (normalise, fuse_pointwise, remove_dead_code, lambda p: normalise(fuse_pointwise(p))):
        np.testing.assert_array_equal(execute(change(program), case.arrays)[0], expected)


@every_case
def test_normal_form(name):
    made = normalise(CASES[name]().program)
    seen = list(statements(made.body))
    assert len({id(s) for s in seen}) == len(seen)
    for stmt in seen:
        if isinstance(stmt, If):
            assert not {n for n in expr_reads(stmt.cond) if made.arrays[n].shape}
        if isinstance(stmt, Loop):
            assert {e.array for e in range_elems(stmt.range)}.isdisjoint(all_writes(stmt.body))


def test_one_object_at_two_places_becomes_two():
    same = one("s", (), at("x") + at("s"))
    made = normalise(program({"x": ()}, [one("s", (), 0.0), same, same]))
    assert len({id(s) for s in made.body}) == 3


def test_a_bound_that_changes_is_kept():
    fewer = one("n", (), at("n", dtype=np.dtype("i8")) - 1)
    body = loop(span("i", 0, number_at("n")), fewer, one("s", (), at("s") + 1.0))
    made = normalise(program({"n": np.array(3)}, [one("s", (), 0.0), body]))
    assert execute(made, {"n": np.array(3)})[0] == 3.0
    assert any(n.startswith("bound") for n in all_writes(made.body))


def test_conditions_are_recorded_in_flags():
    body = when(at("x", 0).compare("gt", 0.5), (one("x", (0,), 0.1),))
    made = normalise(program({"x": (2,)}, [body, total("x", (2,))]))
    assert any(n.startswith("flag") for n in all_writes(made.body))


def test_what_nobody_asked_for_goes():
    body = flat([one("a", (), at("x") * 2.0), one("b", (), at("a") * 3.0), one("s", (), at("a") + 1.0),
                 loop(span("i", 0, 3), one("b", (), at("b") + at("x")))])
    made = program({"x": ()}, body, a=(), b=())
    lean = remove_dead_code(made.but(live_out=frozenset(("s",))))
    assert set(lean.arrays) == {"x", "a", "s"}
    assert len(lean.body) == 2
    assert len(remove_dead_code(made.but(live_out=frozenset(("b",)))).body) == 3


def test_what_decides_about_what_is_asked_for_stays():
    body = flat([one("a", (), at("x") * 2.0), one("s", (), 0.0),
                 when(at("a").compare("gt", 1.0), (one("s", (), at("x")),))])
    made = remove_dead_code(program({"x": ()}, body, a=()).but(live_out=frozenset(("s",))))
    assert set(made.arrays) == {"x", "a", "s"}


def test_a_dead_store_of_a_map_goes_alone():
    ranges = span("i", 0, 2)
    made = program({"x": (2,)}, [each(ranges, put("a", ("i",), at("x", "i")), put("b", ("i",), at("x", "i")))],
                   returns="a", a=(2,), b=(2,))
    lean = remove_dead_code(made.but(live_out=frozenset(("a",))))
    assert [p.array for p in lean.body[0].body] == ["a"]


def test_a_temporary_used_once_is_fused():
    i = span("i", 0, 3)
    made = program({"x": (4,)}, [each(i, put("t", ("i",), at("x", "i") * 2.0)),
                                 each(i, put("y", ("i",), at("t", "i") + 1.0))], returns="y", t=(3,), y=(3,))
    assert len(fuse_pointwise(made.but(live_out=frozenset({"y"}))).body) == 1
    assert len(fuse_pointwise(made.but(live_out=frozenset({"y", "t"}))).body) == 2


def test_a_temporary_used_by_neighbours_is_fused_where_that_is_cheap():
    made = program({"x": (4,)}, [each(span("i", 0, 4), put("t", ("i",), at("x", "i") * 2.0)),
                                 each(span("i", 0, 3), put("y", ("i",), at("t", ix("i") + 1) - at("t", "i")))],
                   returns="y", t=(4,), y=(3,)).but(live_out=frozenset({"y"}))
    assert [len(fuse_pointwise(made, most).body) for most in (0, 1, 2)] == [2, 2, 1]


@pytest.mark.parametrize("between", [
    one("x", (1,), 5.0), one("y", (0,), at("t", 1)), loop(span("j", 0, 2), one("x", ("j",), at("x", 3)))],
    ids=["operand overwritten", "read twice", "operand overwritten in a loop"])
def test_a_temporary_that_must_stay(between):
    i = span("i", 0, 3)
    made = program({"x": (4,)}, [each(i, put("t", ("i",), at("x", "i") * 2.0)), between,
                                 each(i, put("y", ("i",), at("t", "i") + 1.0))], returns="y", t=(3,), y=(3,))
    assert len(fuse_pointwise(made.but(live_out=frozenset({"y"}))).body) == 3


def test_what_is_added_to_repeated_elements_is_computed_before():
    """`np.add.at(x, k, f(x[k]))` reads every element before it changes the first."""
    k = np.array([0, 2, 2])
    i, at_k = span("i", 0, 3), number_at("k", "i")
    made = program({"x": (3,), "k": k}, [each(i, put("t", ("i",), at("x", at_k) * 2.0)),
                                         each(i, put("x", (at_k,), at("t", "i"), "+"))], returns="x", t=(3,))
    fused = fuse_pointwise(made.but(live_out=frozenset({"x"})))
    np.testing.assert_array_equal(execute(fused, {"x": np.ones(3), "k": k})[0], [3.0, 1.0, 5.0])
