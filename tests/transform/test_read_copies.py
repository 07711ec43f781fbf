"""A copy is read in place of what it was made of, only as long as both hold the same."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir.index import ix
from sdfgad.ir.program import If, Lib, Loop, Map, Program, Stmt
from sdfgad.ir.walk import all_reads, statements
from sdfgad.transform.copies.read_copies import copied, read_copies
from tests.codegen.build_programs import F4, F8, add, compare, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

N = 6
ALL, INNER = (span("i", N),), (span("i", 1, N - 1),)
COPY = mapped(ALL, store("t", ("i",), load("s", "i")))
LOOK = mapped(ALL, store("y", ("i",), mul(load("s", "i"), load("s", "i"))))
CHANGE = mapped(INNER, store("s", ("i",), mul(load("s", "i"), load("t", "i"))))
SPOIL = mapped(INNER, store("t", ("i",), num(0.5)))
ARRAYS = {"s": ((N,), F8), "y": ((N,), F8), "z": ((N,), F8)}
DATA = {"s": np.linspace(0.5, 1.5, N)}


def redirected(*body: Stmt, sources: tuple[str, ...] = ("s",), copy: np.dtype = F8) -> Program:
    before = program([Loop(span("k", 3), body)], ARRAYS, {"t": ((N,), copy)})
    after = read_copies(before, sources)
    check_same(before, after, DATA)
    return after


def readers(made: Program) -> list[bool]:
    """Of each map but copies: whether it looks at the source."""
    maps = [s for s in statements(made.body) if isinstance(s, Map) and s.domain and s != COPY]
    return ["s" in all_reads((s,)) for s in maps]


def test_the_copy_is_read_until_the_source_is_written() -> None:
    assert readers(redirected(COPY, LOOK, CHANGE, LOOK)) == [False, False, True]


def test_a_map_reads_the_copy_until_it_has_written_itself() -> None:
    both = mapped(INNER, store("y", ("i",), load("s", "i")), store("s", ("i",), add(load("s", "i"), num(1.0))),
                  store("z", ("i",), load("s", "i")))
    stores = [p for s in statements(redirected(COPY, both).body) if isinstance(s, Map) for p in s.body][1:]
    assert [sorted({"s", "t"} & all_reads((Map(INNER, (p,)),))) for p in stores] == [["t"], ["t"], ["s"]]


def test_what_an_update_adds_to_stays() -> None:
    update = mapped(INNER, store("s", ("i",), load("s", "i"), "+"))
    assert readers(redirected(COPY, update)) == [True]


def test_inside_regions_and_their_conditions() -> None:
    region = If(compare("lt", load("s", 2), num(9.0)), (LOOK,), (mapped(ALL, store("z", ("i",), load("s", "i"))),))
    made = redirected(COPY, region, Loop(span("l", 2), (LOOK,)))
    assert readers(made) == [False, False, False]
    assert all("s" not in all_reads((s,)) for s in statements(made.body) if isinstance(s, If))


@pytest.mark.parametrize("body", [
    pytest.param((LOOK, COPY), id="read before the copy is made"),
    pytest.param((COPY, SPOIL, LOOK), id="the copy is written"),
    pytest.param((COPY, mapped((span("i", 1),), store("s", ("i",), num(2.0))), LOOK), id="one element is written"),
    pytest.param((COPY, mapped((), store("t", (N - 1,), num(2.0))), LOOK), id="one element of the copy is written"),
    pytest.param((COPY, If(compare("lt", load("y", 2), num(9.0)), (SPOIL,), ()), LOOK), id="perhaps written"),
    pytest.param((COPY, Loop(span("l", 2), (LOOK, CHANGE))), id="written later in the loop"),
    pytest.param((COPY, Loop(span("l", 2), (LOOK, SPOIL))), id="the copy written later in the loop"),
    pytest.param((mapped(INNER, *COPY.body), LOOK), id="not all copied"),
    pytest.param((mapped(ALL, store("t", ("i",), load("s", 2))), LOOK), id="one element everywhere"),
    pytest.param((mapped(ALL, store("t", ("i",), load("s", N - 1 - ix("i")))), LOOK), id="turned round"),
    pytest.param((mapped(ALL, store("t", ("i",), load("s", "i"), "+")), LOOK), id="added to"),
    pytest.param((If(compare("lt", load("y", 2), num(9.0)), (COPY,), ()), LOOK), id="perhaps not copied"),
])
def test_left_alone(body: tuple[Stmt, ...]) -> None:
    assert redirected(*body).body == (Loop(span("k", 3), body),)


def test_other_types_and_other_names_are_left_alone() -> None:
    assert readers(redirected(COPY, LOOK, copy=F4)) == [True]
    assert readers(redirected(COPY, LOOK, sources=("y",))) == [True]
    assert copied(program([COPY, LOOK], ARRAYS, {"t": ((N,), F8)})) == {"s"}


def test_views_of_products() -> None:
    arrays = {"s": ((3, 3), F8), "y": ((3, 3), F8)}
    two = (span("i", 3), span("j", 3))
    before = program([mapped(two, store("t", ("i", "j"), load("s", "i", "j")))], arrays, {"t": ((3, 3), F8)})
    product = Lib("matmul", (before.arrays["y"].whole,), (before.arrays["s"].whole, before.arrays["s"].whole))
    before = before.but(body=(*before.body, product))
    after = read_copies(before, {"s"})
    check_same(before, after, {"s": np.arange(9.0).reshape(3, 3)})
    assert [v.array for v in after.body[1].ins] == ["t", "t"]
