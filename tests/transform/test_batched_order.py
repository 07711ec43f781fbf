"""Statements for several directions stand together, with the numbers of one direction after the other."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir.program import Array, Loop, Program, Store
from sdfgad.ir.walk import statements
from sdfgad.transform.batch import several
from tests.support.build import F8, at, each, loop, put, span
from tests.support.point_loops import run

COUNT, SIZE = 3, 5
I = span("i", 0, SIZE)


def step(*stores: Store) -> Program:
    """Two steps of a map for each store; x, y, z are numbers of the function, d and e of a direction."""
    arrays = {n: Array(n, (SIZE,), F8, "argument") for n in ("x", "y", "z", "d", "e")}
    return Program("p", arrays, tuple(arrays), (loop(span("t", 0, 2), *(each(I, s) for s in stores)),))


HELD = put("e", ("i",), at("x", "i") * at("d", "i"))
MOVED = put("x", ("i",), at("x", "i") * 0.5)
TAKEN = put("d", ("i",), at("e", "i"))
CASES = {
    "what replaces a number that is read goes behind": ((HELD, MOVED, TAKEN), "edx"),
    "what nobody waits for goes first":
        ((HELD, put("y", ("i",), at("x", "i") + 1.0), TAKEN), "yed"),
    "what is read of it keeps its place":
        ((HELD, MOVED, put("d", ("i",), at("e", "i") * at("x", "i"))), "exd"),
    "what has to stay behind another one does so":
        ((HELD, MOVED, put("y", ("i",), at("x", "i") + 1.0), put("z", ("i",), at("z", "i") + 1.0), TAKEN), "zedxy"),
    "those that wait follow all that they waited for":
        ((HELD, MOVED, TAKEN, put("y", ("i",), at("x", "i") * 2.0), put("e", ("i",), at("y", "i") * at("d", "i"))),
         "edxye")}


@pytest.mark.parametrize("name", CASES)
def test_statements_of_all_directions_stand_together(name):
    stores, order = CASES[name]
    before = step(*stores)
    after, rng = several(before, frozenset("d"), COUNT), np.random.default_rng(1)
    assert "".join(s.body[0].array for s in statements(after.body) if not isinstance(s, Loop)) == order
    given = {n: rng.normal(size=a.shape) for n, a in after.arrays.items()}
    found = {n: v.copy() for n, v in given.items()}
    run(after, found)
    for k in range(COUNT):
        one = {n: np.array(v[k] if n in "de" else v) for n, v in given.items()}
        run(before, one)
        for n in one:
            np.testing.assert_array_equal(found[n][k] if n in "de" else found[n], one[n], err_msg=n)
