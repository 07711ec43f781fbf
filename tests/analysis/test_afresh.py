"""Whether a run of statements makes what it looks at, element by element."""
from __future__ import annotations

from dataclasses import replace

import pytest

from sdfgad.analysis.afresh import begins_afresh
from sdfgad.ir.index import elem, ix
from sdfgad.ir.program import Array, If, Loop, Map, Stmt
from tests.codegen.build_programs import F8, add, compare, load, mapped, num, span, store

I, K = ix("i"), ix("k")
ROW, FALLING = span("i", 8), span("k", 3, -1, step=-1)
T = Array("t", (4, 8), F8)
LOOK = mapped([ROW], store("y", (I,), load("t", K, I)))


def make(*place: object, over: tuple = (ROW,)) -> Map:
    return mapped(over, store("t", place or (K, I), num(1.0)))  # type: ignore[arg-type]


def steps(*body: Stmt) -> Loop:
    return Loop(span("k", 4), body)


def test_what_nobody_touches_begins_afresh() -> None:
    assert begins_afresh(T, (mapped([ROW], store("y", (I,), num(0.0))),))


@pytest.mark.parametrize("block", [
    (steps(make(), LOOK),),
    (steps(make()), Loop(FALLING, (LOOK,))),
    (Loop(FALLING, (make(), LOOK)),),
    (make(K, I, over=(span("k", 4), ROW)), steps(LOOK)),
    (steps(make(), mapped([span("i", 2, 6)], store("y", (I,), load("t", K, I)))),),
    (Loop(span("s", 2), (steps(make()), Loop(FALLING, (LOOK, make())))),),
    (steps(make(), mapped([ROW], store("t", (K, I), num(2.0), "+")), LOOK),),
    (steps(make()), mapped([ROW], store("y", (I,), load("t", elem("p", (I,)), I)))),
], ids=["step by step", "and back", "falling", "at once", "some of it", "each time", "added to", "whole"])
def test_what_is_made_first_begins_afresh(block: tuple[Stmt, ...]) -> None:
    assert begins_afresh(T, block)


@pytest.mark.parametrize("block", [
    (steps(LOOK, make()),),
    (steps(make(), mapped([ROW], store("y", (I,), load("t", K - 1, I)))),),
    (steps(make(over=(span("i", 7),)), LOOK),),
    (steps(mapped([ROW], store("t", (K, I), num(1.0), "+")), LOOK),),
    (steps(mapped([ROW], store("t", (K, I), add(load("t", K, I), num(1.0)))), LOOK),),
    (Loop(span("k", 2), (make(),)), steps(LOOK)),
    (Loop(span("k", "n"), (make(),)), steps(LOOK)),
    (replace(steps(make()), until="done"), steps(LOOK)),
    (steps(If(compare("lt", load("z"), num(0.0)), (make(),), ()), LOOK),),
    (steps(make(elem("p", (K,)), I), LOOK),),
    (steps(make(), mapped([ROW], store("y", (I,), load("t", elem("p", (I,)), I)))),),
], ids=["too late", "of the step before", "not all", "a sum", "of itself", "too few", "perhaps none", "perhaps fewer",
        "perhaps", "somewhere", "looked for"])
def test_what_may_be_looked_at_before_does_not(block: tuple[Stmt, ...]) -> None:
    assert not begins_afresh(T, block)
