"""Sums of loops that stay loops go straight to their element."""
from __future__ import annotations

import pytest

from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Program, Stmt
from sdfgad.transform.normal.parallelise import parallelise
from tests.support.build import F8, at, each, loop, one, put, span
from tests.support.oracle import check_same

N = 6
J = ix("j")
CLEAR, SCALE = one("t", (), 0.0), one("x", (J,), at("x", J) / at("p", J))
ADD = each(span("d", 0, J), put("t", (), at("a", "d", J) * at("x", "d"), "+"))
TAKE = one("x", (J,), at("x", J) - at("t"))


def made(*body: Stmt, seen: tuple[str, ...] = ()) -> Program:
    """The program after the pass, which keeps the meaning."""
    shapes = {"a": (N, N), "x": (N,), "y": (N,), "p": (N,)}
    arrays = {n: Array(n, s, F8, "argument") for n, s in shapes.items()}
    before = Program("p", {**arrays, "t": Array("t", (), F8)}, tuple(shapes), body)
    after = parallelise(before.but(live_out=frozenset(seen)))
    check_same(before, after, tolerance=1e-12)
    return after


def test_the_temporary_is_gone():
    after = made(loop(span("j", 0, N), CLEAR, ADD, TAKE, SCALE))
    assert "t" not in after.arrays
    assert len(after.body[0].body) == 2


@pytest.mark.parametrize("body, seen", [
    ((loop(span("j", 0, N), CLEAR, ADD, TAKE, SCALE),), ("t",)),
    ((loop(span("j", 0, N), CLEAR, ADD, TAKE, SCALE), one("y", (0,), at("t"))), ()),
    ((loop(span("j", 0, N), ADD, TAKE, SCALE, CLEAR),), ()),
    ((loop(span("j", 0, N), CLEAR, ADD, one("y", (J,), at("t")), TAKE),), ()),
    ((loop(span("j", 0, N), CLEAR, ADD, SCALE, each(span("d", 0, N), put("x", ("d",), at("x", "d") * at("t")))),), ()),
], ids=["seen", "read later", "carried on", "read twice", "more than one element"])
def test_what_stays_as_it_is(body, seen):
    assert "t" in made(*body, seen=seen).arrays
