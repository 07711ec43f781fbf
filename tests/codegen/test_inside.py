"""A load that may be made too early is forced into its array only where the loops around leave that open."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpp import Frame, access_anywhere
from sdfgad.ir.expr import call
from sdfgad.ir.index import Ix, ix, maximum, minimum
from sdfgad.ir.program import Loop, Range
from tests.codegen.build_programs import F8, agree, compare, load, mapped, mul, num, program, store

N = 300
STRIPS = Range("s", ix(0), ix(4))
IN_STRIP = ix("i") - ix("s") * 4


def forced(*ranges: Range, at: Ix = IN_STRIP) -> bool:
    """Whether the text of a load from four elements forces the index inside."""
    frame = Frame(program([], {"A": ((4,), F8)}).arrays).inside(ranges)
    return "sg::least(3L" in (access_anywhere(frame, "A", (at,)) or "")


def test_what_the_loops_around_show_to_be_inside_is_not_forced() -> None:
    lanes = Range("i", ix("s") * 4, minimum(ix("s") * 4 + 4, 14))
    assert not forced(STRIPS, lanes)
    body = call("select", compare("eq", load("B", "i"), num(0.0)), num(0.0), mul(load("A", IN_STRIP), load("B", "i")),
                dtype=F8)
    agree(program([Loop(STRIPS, (mapped([lanes], store("C", ["i"], body)),))],
                  {"A": ((4,), F8), "B": ((N,), F8), "C": ((N,), F8)}))


@pytest.mark.parametrize("ranges", [
    (STRIPS, Range("i", ix("s") * 4, ix("s") * 4 + 5)),
    (STRIPS, Range("i", ix("s") * 4 - 1, ix("s") * 4 + 4)),
    (STRIPS, Range("i", ix("s") * 4, maximum(ix("s") * 4 + 4, 14))),
    (STRIPS, Range("i", ix("s") * 4, ix("s") * 4 + 4), Range("s", ix(0), ix(9))),
    (Range("i", ix("s") * 4, ix("s") * 4 + 4), STRIPS),
], ids=["behind", "before", "either", "another variable of the same name", "a variable from outside"])
def test_what_may_be_outside_is_forced(ranges: tuple[Range, ...]) -> None:
    assert forced(*ranges)


def test_downwards() -> None:
    assert not forced(STRIPS, Range("i", ix("s") * 4 + 3, ix("s") * 4 - 1, -1))
    assert forced(STRIPS, Range("i", ix("s") * 4 + 3, ix("s") * 4 - 2, -1))


def test_a_range_that_says_nothing_about_the_index() -> None:
    """An inner loop that never runs would show anything of the variables around it."""
    assert forced(Range("s", ix(0), ix(9)), Range("i", ix("s"), ix(4)), at=ix("s"))
