"""Loads of an array that a map writes are told from those that meet what it writes."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.apart import told_apart
from sdfgad.codegen.cpu.nests.emit import vectorises
from sdfgad.ir.expr import loads
from sdfgad.ir.index import ix
from sdfgad.ir.program import Loop, Map, Program
from tests.codegen.build_programs import F8, agree, load, mapped, mul, program, span, store
from tests.support.oracle import sample

N = 21
I, D, J = ix("i"), ix("d"), ix("j")


def build(*body: object) -> Program:
    return program(body, {"a": ((N, N), F8), "x": ((N,), F8)}, {})


def frame(made: Program) -> Frame:
    return Frame(made.arrays).inside([span("i", N)])


def renamed(stmt: Map) -> set[str]:
    """The names under which the map's loads stand."""
    _, found = told_apart(frame(build(stmt)), stmt)
    return {n.array for p in found.body for n in loads(p.expr)}


DOT = mapped([span("d", I)], store("x", [I], mul(load("a", I, D), load("x", D)), "+"))
ROWS = mapped([span("d", I), span("j", I, N)], store("a", [I, J], mul(load("a", I, D), load("a", D, J)), "+"))
DOTS = mapped([span("d", I), span("j", I, N)], store("a", [I, D], mul(load("a", I, J), load("a", D, J)), "+"))


def test_what_lies_elsewhere_gets_a_name_of_its_own():
    assert renamed(DOT) == {"a", "x'"}
    assert renamed(ROWS) == {"a'"}
    assert renamed(DOTS) == {"a'"}


@pytest.mark.parametrize("stmt", [
    mapped([span("d", I + 1)], store("x", [D], mul(load("a", I, D), load("x", D)))),
    mapped([span("d", I)], store("x", [D], mul(load("a", I, D), load("x", D)), "+")),
    mapped([span("d", I - 1, I)], store("x", [I - 1], mul(load("a", I, D), load("x", D)), "+")),
], ids=["its own element", "adds to it", "a single one"])
def test_what_may_be_written_keeps_its_name(stmt: Map):
    assert renamed(stmt) == {"a", "x"}


def test_sums_of_what_lies_elsewhere_are_vectors():
    assert all(vectorises(frame(build(s)), s) for s in (DOT, ROWS, DOTS))


def test_rows_that_add_to_neighbours_of_each_other_are_vectors():
    far = store("x", [D + "j"], load("a", D, J), "+")
    assert vectorises(frame(build()), mapped([span("d", 3), span("j", 3)], far))
    near = store("x", [J], load("a", D, J), "+")
    assert not vectorises(frame(build()), mapped([span("d", 3), span("j", 3)], far, near))


@pytest.mark.parametrize("stmt", [DOT, ROWS, DOTS], ids=["a dot product", "rows to a row", "dot products"])
def test_native_code(stmt: Map) -> None:
    agree(build(Loop(span("i", N), (stmt,))), {n: 0.1 * sample(a, 3) for n, a in build().arrays.items()})
