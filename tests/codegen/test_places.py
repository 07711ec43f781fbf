"""Places that data decide are looked up and checked once, outside the loops that do not move them."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpp import Frame, Writer
from sdfgad.codegen.cpu.text.statements import emit_block
from sdfgad.ir.index import elem, mod
from sdfgad.ir.program import Block, Loop, Map
from tests.codegen.build_programs import (
    F8,
    I8,
    add,
    agree,
    call,
    compare,
    load,
    mapped,
    mul,
    num,
    program,
    span,
    store,
)

N = 12
PLACES = {"p": ((N,), I8), "x": ((N, 5), F8), "y": ((N, 5), F8)}
PLACE, NEXT = mod(elem("p", ("i",)), N), mod(elem("p", ("i",)) + 1, N)
SOME = np.array([0, 5, -1, 11, 12, -13, 3, 3, 400, 7, 2, -24])


def text(body: Block, arrays: dict) -> str:
    writer = Writer()
    emit_block(writer, Frame(program(body, arrays).arrays), body)
    return writer.text


def gathered(*domain: object) -> Map:
    value = add(mul(load("x", PLACE, "j"), num(2.0)), load("x", NEXT, "j"))
    return mapped(domain or (span("i", N), span("j", 5)), store("y", ("i", "j"), value))  # type: ignore[arg-type]


def test_a_place_is_checked_outside_the_loop_that_does_not_move_it() -> None:
    outer, inner = text((gathered(),), PLACES).split("s_j = 0")
    assert outer.count("sg::wrap") == 2 and "sg::wrap" not in inner


def test_a_place_that_is_used_again_at_a_point_is_checked_once() -> None:
    stores = mapped([span("i", N)], store("y", (PLACE, 0), load("x", PLACE, 0), "+"),
                    store("x", ("i", 1), load("x", PLACE, 2)))
    assert text((stores,), PLACES).count("sg::wrap") == 1


def test_places_that_the_map_itself_changes_are_looked_up_each_time() -> None:
    body = mapped([span("i", N), span("j", 5)], store("y", ("i", "j"), load("x", PLACE, "j")),
                  store("p", ("i",), call("cast", load("y", "i", "j"), dtype=I8)))
    assert text((body,), PLACES).split("s_j = 0")[1].count("sg::wrap") == 1


@pytest.mark.parametrize("body", [
    (gathered(),),
    (Loop(span("k", 3), (gathered(span("i", "k", N - 2), span("j", "k")),)),),
    (mapped([span("i", N), span("j", 5)], store("y", (PLACE, "j"), load("x", "i", "j"), "+"),
            store("y", (NEXT, "j"), load("x", NEXT, "j"), "+")),),
    (mapped([span("i", N), span("j", 5)], store("y", ("i", "j"), call(
        "select", compare("lt", load("x", PLACE, "j"), num(0.5)), load("x", NEXT, "j"), num(3.0), dtype=F8))),),
], ids=["gathered", "in ranges that may be empty", "scattered", "chosen"])
def test_native_code_finds_the_places(body: Block) -> None:
    agree(program(body, PLACES), {"p": SOME})
