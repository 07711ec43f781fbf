"""Arrays that live within one run of one block, and the statements that make them afresh."""
from __future__ import annotations

from dataclasses import replace

import pytest

from sdfgad.analysis.block_local import block_locals
from sdfgad.analysis.elements.access import sites
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Program, Stmt
from tests.support.build import F8, at, each, loop, put, span

N = 6
I = ix("i")
INSIDE = each((span("i", 0, N),), put("t", (I + 1,), at("x", I)))
LOW = each((span("i", 0, 1),), put("t", (I,), at("t", I + N)))
HIGH = each((span("i", 0, 1),), put("t", (I + N + 1,), at("t", I + 1)))
USE = each((span("i", 0, N),), put("x", (I,), at("t", I) - at("t", I + 2)))
AGAIN = each((span("i", 0, N),), put("t", (I + 1,), at("t", I + 1) * 2.0))
BESIDE = each((span("i", 0, 1),), put("t", (I,), at("t", I + N + 1)))


@pytest.mark.parametrize("body, makers, first", [
    ((INSIDE, LOW, HIGH, USE), 3, 3),
    ((INSIDE, HIGH, LOW, USE), 3, 3),
    ((INSIDE, LOW, HIGH, USE, replace(LOW)), 4, 3),
    ((LOW, INSIDE, HIGH, USE), 0, 0),
    ((INSIDE, BESIDE, HIGH, USE), 0, 0),
    ((INSIDE, LOW, AGAIN, HIGH, USE), 0, 0),
], ids=["halos", "the other one first", "a halo once more", "of what is not there", "of another halo", "changed"])
def test_halos_are_made_of_what_they_surround(body: tuple[Stmt, ...], makers: int, first: int) -> None:
    arrays = {"x": Array("x", (N,), F8, "argument"), "t": Array("t", (N + 2,), F8)}
    program = Program("p", arrays, ("x",), (loop(span("k", 0, 3), *body),))
    found = block_locals(program, sites(program.body), ()).get("t")
    assert (len(found.makers), len(found.first)) == (makers, first) if found else makers == 0
