"""Loads that both branches of a choice make are forced into the array only where they may lie outside."""
from __future__ import annotations

from collections.abc import Sequence

import pytest

from sdfgad.codegen.cpp import Frame, access_anywhere
from sdfgad.ir.expr import call
from sdfgad.ir.index import Elem, Ix, ix, minimum
from sdfgad.ir.program import Array, Loop, Range
from tests.codegen.build_programs import F8, I8, agree, compare, load, mapped, num, program, span, store

S, J = ix("s"), ix("j")
STRIPS = span("s", 0, 4)


def held(index: Ix, *ranges: Range, size: int = 8) -> bool:
    """Whether a load from an array of that size, inside these loops, is made as it stands."""
    frame = Frame({"x": Array("x", (size,), F8), "q": Array("q", (9,), I8)}).inside(ranges)
    return "sg::least" not in (access_anywhere(frame, "x", (index,)) or "sg::least")


@pytest.mark.parametrize("ranges", [
    (STRIPS, span("j", S * 8, S * 8 + 8)),
    (STRIPS, span("j", S * 8, minimum(ix(29), S * 8 + 8))),
    (STRIPS, span("j", S * 8 + 7, S * 8 - 1, step=-1)),
    (STRIPS, span("j", S * 8, S * 8 + 1), span("k", 0, 3)),
], ids=["strip", "last one is short", "downwards", "one trip"])
def test_lanes_of_a_strip_are_inside(ranges: Sequence[Range]):
    assert held(J - S * 8, *ranges)


@pytest.mark.parametrize(("index", "ranges"), [
    (J - S * 8, (STRIPS, span("j", S * 8, S * 8 + 9))),
    (J - S * 8 + 1, (STRIPS, span("j", S * 8, S * 8 + 8))),
    (J - S * 8, (STRIPS, span("j", S * 8 - 1, S * 8 + 8))),
    (J - S * 8, (STRIPS, span("j", S * 8 + 8, S * 8 - 1, step=-1))),
    (J - S * 8, (STRIPS, span("j", S * 8, minimum(ix(99), S * 8 + 9)))),
    (J - S * 8, (STRIPS, span("j", S * 8, S * 8 + 8), span("s", 0, 2))),
    (J - S * 8, (STRIPS, span("j", S * 8, S * 8 + 8), span("j", 0, 64))),
    (J - S * 8, (STRIPS, span("j", S * 8, "m"))),
    (J, (span("j", 0, Ix((((Elem("q", (ix(0),)),), 1),))),)),
    (J - S * 4, (STRIPS, span("j", S * 8, S * 8 + 8))),
], ids=["one too many", "beyond the end", "before the start", "downwards", "short strip", "another strip",
        "another lane", "unknown end", "an element as the end", "another width"])
def test_what_may_lie_outside_is_not(index: Ix, ranges: Sequence[Range]):
    assert not held(index, *ranges)


def test_triangles():
    assert held(J - ix("i"), span("i", 0, 8), span("j", "i", 8))
    assert not held(J - ix("i") + 1, span("i", 0, 8), span("j", "i", 8))
    assert not held(J - ix("i"), span("i", 0, 9), span("j", "i", 9))


@pytest.mark.parametrize("n", [32, 29, 1])
def test_choices_in_strips(n: int):
    """map j = 8*s:min(n, 8*s + 8): y[j] = t[j - 8*s] == 0 ? 0 : 1 / t[j - 8*s]"""
    last = minimum(ix(n), S * 8 + 8) if n % 8 else S * 8 + 8
    lane = J - S * 8
    fill = mapped([span("j", S * 8, last)], store("t", [lane], load("x", "j")))
    parts = compare("eq", load("t", lane), num(0.0)), num(0.0), call("div", num(1.0), load("t", lane))
    value = call("select", *parts, dtype=F8)
    strips = Loop(span("s", 0, -(-n // 8)), (fill, mapped([span("j", S * 8, last)], store("y", ["j"], value))))
    made = program([strips], {"x": ((n,), F8), "y": ((n,), F8)}, {"t": ((8,), F8)})
    agree(made, calls=1, threads=(1,))
