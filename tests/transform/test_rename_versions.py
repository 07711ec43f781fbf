"""Copies of what is replaced as a whole go; whatever looks at the array otherwise keeps them."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir.expr import Load
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Map, Program, Stmt, Store
from sdfgad.ir.walk import statements
from sdfgad.transform.fusion.rename_versions import rename_versions
from tests.support.build import F8, at, each, loop, put, span, when
from tests.support.oracle import check_same

N = 4
I, PART = span("i", 0, N), span("i", 0, 3)
MAKE = each(I, put("y", ("i",), at("u", "i") * 3.0))
COPY = each(I, put("t", ("i",), at("y", "i")))
AGAIN = each(I, put("y", ("i",), at("t", "i") * at("t", 0)))
OUT = each(I, put("r", ("i",), at("y", "i") + at("u", "i")))


def copies(*body: Stmt, keep: tuple[str, ...] = ("r",)) -> int:
    """The pass keeps the meaning; returns how many statements only copy."""
    roles = {"u": "argument", "r": "argument", "y": "transient", "t": "transient", "s": "argument"}
    arrays = {n: Array(n, () if n == "s" else (N,), F8, r) for n, r in roles.items()}
    before = Program("p", arrays, tuple(n for n, r in roles.items() if r == "argument"), body)
    after = rename_versions(before.but(live_out=frozenset(keep)))
    values = {"u": np.array([0.6, 0.2, 0.9, 0.4]), "r": np.zeros(N), "s": np.array(0.5)}
    check_same(before, after, values)
    return sum(isinstance(s, Map) and len(s.body) == 1 and isinstance(s.body[0], Store)
               and isinstance(s.body[0].expr, Load) and s.body[0].op is None for s in statements(after.body))


def test_a_copy_before_a_replacement_goes() -> None:
    assert copies(MAKE, COPY, AGAIN, OUT) == 0


def test_one_after_the_other() -> None:
    assert copies(MAKE, COPY, AGAIN, OUT, each(I, put("r", ("i",), at("t", "i"), "+"))) == 0


def test_turned_round() -> None:
    assert copies(MAKE, each(I, put("t", ("i",), at("y", ix(N - 1) - "i"))), AGAIN, OUT) == 0
    assert copies(MAKE, each(I, put("t", (ix(N - 1) - "i",), at("y", "i"))), AGAIN, OUT) == 1


@pytest.mark.parametrize("body", [
    (MAKE, COPY, each(PART, put("y", ("i",), at("t", "i"), "+")), OUT),
    (MAKE, COPY, each(I, put("y", ("i",), at("t", "i") + at("y", "i"))), OUT),
    (MAKE, COPY, each(I, put("t", ("i",), 1.0, "+")), AGAIN, OUT),
    (MAKE, COPY, loop(span("k", 0, 2), each(I, put("y", ("i",), at("t", "i")))), OUT),
    (MAKE, COPY, when(at("s").compare("gt", 0.0), (each(I, put("y", ("i",), at("t", "i"))),)), OUT),
    (MAKE, each(span("i", 0, 2), put("y", ("i",), at("u", "i"), "+")), COPY, AGAIN, OUT),
    (MAKE, each(PART, put("t", ("i",), at("y", "i"))), each(PART, put("r", ("i",), at("t", "i")))),
], ids=["part", "of itself", "changed copy", "loop", "condition", "made in parts", "part copied"])
def test_what_needs_its_copy(body: tuple[Stmt, ...]) -> None:
    before = copies(*body, keep=("r", "t", "y"))
    assert copies(*body) == before


def test_what_somebody_keeps_is_copied() -> None:
    assert copies(MAKE, COPY, AGAIN, OUT, keep=("r", "t")) == 1
    assert copies(MAKE, COPY, AGAIN, OUT, keep=("r", "y")) == 1
