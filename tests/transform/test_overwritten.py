"""A filling goes only when nobody can see it."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import statements
from sdfgad.transform.clearing.overwritten import eliminate_dead_stores
from tests.support.build import F8, at, each, loop, one, put, span, when
from tests.support.oracle import check_same

I = span("i", 0, 4)
FIRST = each(I, put("x", ("i",), at("u", "i")))
AGAIN = each(I, put("x", ("i",), at("u", "i") * 2.0))


def check(*body: Stmt) -> int:
    """The pass keeps the meaning; returns how many stores into x are left."""
    arrays = {n: Array(n, s, F8, "argument") for n, s in {"u": (4,), "x": (4,), "y": (4,), "s": ()}.items()}
    before = Program("p", arrays, tuple(arrays), body)
    after = eliminate_dead_stores(before)
    check_same(before, after, {"u": np.array([0.6, 0.2, 0.9, 0.4]), "x": np.array([0.3, 0.7, 0.1, 0.8])})
    return sum(isinstance(p, Store) and p.array == "x"
               for s in statements(after.body) if isinstance(s, Map) for p in s.body)


def test_a_second_filling_makes_the_first_pointless():
    assert check(FIRST, AGAIN) == 1
    assert check(each(I, put("x", ("i",), 1.0), put("y", ("i",), at("u", "i"))), AGAIN) == 1


@pytest.mark.parametrize("between", [
    one("y", (0,), at("x", 1)),
    each(I, put("y", ("i",), at("x", "i"), "+")),
    loop(span("t", 0, 2), one("y", ("t",), at("x", "t"))),
    when(at("x", 0).compare("gt", 0.5), (one("s", (), 1.0),)),
], ids=["element", "map", "loop", "condition"])
def test_what_is_read_stays(between):
    assert check(FIRST, between, AGAIN) >= 2


def test_parts_replace_what_they_make_together():
    low, high = (each(span("i", a, b), put("x", ("i",), at("u", "i") * 3.0)) for a, b in ((0, 2), (2, 4)))
    assert check(FIRST, low, high) == 2
    assert check(low, high, AGAIN) == 1
    assert check(low, FIRST, high) == 2
    assert check(FIRST, low, each(span("i", 3, 4), put("x", ("i",), 3.0))) == 3
    assert check(FIRST, low, one("y", (0,), at("x", 1)), high) == 2
    assert check(FIRST, low, one("y", (0,), at("x", 2)), high) == 3
    assert check(FIRST, low, each(span("i", 2, 4), put("x", ("i",), 3.0, "+"))) == 3
    assert check(each(I, put("x", ("i",), at("u", "i"), "+")), low, high) == 2
    assert check(FIRST, low, when(at("s").compare("gt", 0.1), (high,))) == 3
    assert check(FIRST, each(span("i", 0, 3), put("x", ("i",), at("x", "i") + 1.0)), AGAIN) == 1
    assert check(FIRST, each(span("i", 0, 4, 3), put("x", ("i",), 3.0)), one("x", (1,), 1.0), one("x", (2,), 1.0)) == 4
    assert check(FIRST, each(span("i", 0, 2), put("x", (ix(3) - "i",), 3.0)), low) == 3


def test_the_first_iteration_of_a_loop_that_is_sure_to_run():
    assert check(FIRST, loop(span("t", 0, 2), AGAIN)) == 1
    assert check(FIRST, loop(span("t", 0, 0), AGAIN)) == 2
    assert check(FIRST, loop(span("t", 0, 2), one("y", (0,), at("x", 1)), AGAIN)) == 2
    assert check(FIRST, loop(span("t", 0, 2), AGAIN, one("y", (0,), at("x", 1)))) == 1
    assert check(loop(span("k", 0, 3), FIRST, loop(span("t", 0, "k"), AGAIN))) == 2
    assert check(FIRST, loop(span("t", 0, 4), one("x", ("t",), 2.0))) == 2
    assert check(loop(span("t", 0, 4), FIRST, one("x", ("t",), 2.0))) == 2
    assert check(FIRST, replace(loop(span("t", 0, 2), AGAIN), parallel=True, private=("x",))) == 2


def test_a_map_reads_only_what_its_earlier_parts_have_stored():
    assert check(each(I, put("y", ("i",), at("x", "i")), put("x", ("i",), 0.0)), AGAIN) == 1
    assert check(each(I, put("x", ("i",), 0.0), put("x", ("i",), at("u", "i"), "+")), AGAIN) == 2
    assert check(each(I, put("x", ("i",), 0.5), put("y", ("i",), at("x", "i")), put("x", ("i",), 0.0)), AGAIN) == 2


def test_accumulation_and_a_part_replace_nothing():
    assert check(FIRST, each(I, put("x", ("i",), at("u", "i"), "+"))) == 2
    assert check(FIRST, each(span("i", 1, 4), put("x", ("i",), 0.0))) == 2


def test_a_map_that_reads_its_own_store_keeps_it():
    assert check(each(I, put("x", ("i",), at("u", "i")), put("y", ("i",), at("x", "i"))), AGAIN) == 2


def test_another_round_of_a_loop_sees_the_end_of_the_last():
    assert check(loop(span("t", 0, 2), one("y", (0,), at("x", 2)), FIRST)) == 1


ROWS, COLUMNS = 8, 3


def rows(*body: Stmt, behind: tuple[Stmt, ...], private: tuple[str, ...] = (), strips: int = ROWS // 2) -> int:
    """The pass keeps the meaning of a parallel loop, and of what stands behind it; returns stores into z left."""
    shapes = {"a": (ROWS, COLUMNS), "z": (ROWS, COLUMNS), "b": (ROWS, COLUMNS), "line": (2, COLUMNS)}
    arrays = {n: Array(n, s, F8, "transient" if n == "line" else "argument") for n, s in shapes.items()}
    strip = Loop(span("s", 0, strips), body, parallel=True, private=private)
    before = Program("p", arrays, ("a", "z", "b"), (strip, *behind))
    after = eliminate_dead_stores(before)
    check_same(before, after)
    return sum(isinstance(p, Store) and p.array == "z"
               for s in statements(after.body) if isinstance(s, Map) for p in s.body)


LANES = span("i", ix("s") * 2, ix("s") * 2 + 2)
D = span("d", 0, COLUMNS)
MAKE = each((LANES, D), put("z", ("i", "d"), at("a", "i", "d") * 2.0))
LOOK = each((LANES, D), put("b", ("i", "d"), at("z", "i", "d")))
ALL = each((span("i", 0, ROWS), D), put("z", ("i", "d"), at("a", "i", "d")))


def test_what_a_strip_leaves_for_nobody():
    assert rows(MAKE, behind=(ALL,)) == 1
    assert rows(MAKE, LOOK, behind=(ALL,)) == 2
    assert rows(MAKE, LOOK, MAKE, behind=(ALL,)) == 2
    assert rows(each((LANES, D), put("z", ("i", "d"), at("a", "i", "d"), "+")), behind=(ALL,)) == 1
    most = each((span("i", 0, ROWS - 2), D), put("z", ("i", "d"), 3.0))
    assert rows(MAKE, behind=(most,), strips=3) == 1
    assert rows(MAKE, behind=(most,)) == 2
    low, high = (each((span("i", a, b), D), put("z", ("i", "d"), 3.0)) for a, b in ((0, 5), (5, ROWS)))
    assert rows(MAKE, behind=(low, high)) == 2
    assert rows(MAKE, each((LANES, D), put("b", ("i", "d"), 1.0)), behind=(ALL,)) == 1


@pytest.mark.parametrize("behind", [
    (),
    (each((span("i", 0, ROWS - 1), D), put("z", ("i", "d"), 3.0)),),
    (each((span("i", 1, ROWS), D), put("z", ("i", "d"), 3.0)),),
    (each((span("i", 0, ROWS), D), put("z", ("i", "d"), 3.0, "+")),),
    (one("b", (0, 0), at("z", ROWS - 1, 1)), ALL),
    (when(at("a", 0, 0).compare("gt", 0.5), (ALL,)),),
    (loop(span("t", 0, 0), ALL),),
], ids=["nothing", "but the last", "but the first", "sum", "look", "branch", "never"])
def test_what_a_strip_leaves_for_somebody_stays(behind: tuple[Stmt, ...]):
    left = rows(MAKE, behind=behind)
    assert left == 1 + sum(isinstance(s, Map) and "z" in {p.array for p in s.body if isinstance(p, Store)}
                           for s in statements(behind))


def test_what_belongs_to_an_iteration_is_no_matter_of_others():
    own = each((LANES, D), put("line", (ix("i") - ix("s") * 2, "d"), at("a", "i", "d")))
    use = each((LANES, D), put("z", ("i", "d"), at("line", ix("i") - ix("s") * 2, "d")))
    fill = each((span("i", 0, 2), D), put("line", ("i", "d"), 1.0))
    assert rows(own, use, behind=(fill,), private=("line",)) == 1
