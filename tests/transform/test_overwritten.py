"""A filling goes only when nobody can see it."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir.program import Array, Map, Program, Stmt, Store
from sdfgad.ir.walk import statements
from sdfgad.transform.overwritten import remove_overwritten
from tests.support.build import F8, at, each, loop, one, put, span, when
from tests.support.oracle import check_same

I = span("i", 0, 4)
FIRST = each(I, put("x", ("i",), at("u", "i")))
AGAIN = each(I, put("x", ("i",), at("u", "i") * 2.0))


def check(*body: Stmt) -> int:
    """The pass keeps the meaning; returns how many stores into x are left."""
    arrays = {n: Array(n, s, F8, "argument") for n, s in {"u": (4,), "x": (4,), "y": (4,), "s": ()}.items()}
    before = Program("p", arrays, tuple(arrays), body)
    after = remove_overwritten(before)
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
    each(span("i", 0, 3), put("x", ("i",), 3.0)),
], ids=["element", "map", "loop", "condition", "part"])
def test_what_is_read_or_filled_in_part_stays(between):
    assert check(FIRST, between, AGAIN) >= 2


def test_accumulation_and_a_part_replace_nothing():
    assert check(FIRST, each(I, put("x", ("i",), at("u", "i"), "+"))) == 2
    assert check(FIRST, each(span("i", 1, 4), put("x", ("i",), 0.0))) == 2


def test_a_map_that_reads_its_own_store_keeps_it():
    assert check(each(I, put("x", ("i",), at("u", "i")), put("y", ("i",), at("x", "i"))), AGAIN) == 2


def test_another_round_of_a_loop_sees_the_end_of_the_last():
    assert check(loop(span("t", 0, 2), one("y", (0,), at("x", 2)), FIRST)) == 1
