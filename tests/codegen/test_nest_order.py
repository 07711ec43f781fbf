"""Which loop of a map is the outer one."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpp import Frame, Writer
from sdfgad.codegen.cpu.nests.emit import emit_map
from sdfgad.codegen.cpu.nests.nest_order import order_loops
from sdfgad.ir.index import ix, maximum, minimum
from sdfgad.ir.program import Map, Range
from tests.codegen.build_programs import F8, agree, load, mapped, num, program, span, store

N = 6
HERE = span("j", N)
ARRAYS = {"x": ((N, N), F8), "y": ((N,), F8)}
ROW = Range("i", maximum(2, ix("block") * 3), minimum(3, ix("block") * 3 + 3))


def names(stmt: Map, **bounds: tuple[int, int]) -> list[str]:
    return [r.var for r in order_loops(Frame(program((), ARRAYS).arrays, bounds), stmt)]


@pytest.mark.parametrize("row", [span("i", 2, 3), span("i", 2, 2), ROW], ids=["once", "never", "within a block"])
def test_one_row_at_most_is_the_outer_loop(row: Range) -> None:
    assert names(mapped([row, HERE], store("x", [2, "j"], load("y", "j"))), block=(0, 1)) == ["i", "j"]


def test_a_loop_that_repeats_stays_inside() -> None:
    assert names(mapped([span("i", 2), HERE], store("x", [2, "j"], load("y", "j"), "+"))) == ["j", "i"]


def test_rows_that_are_nobody_knows_how_many_stay_inside() -> None:
    unknown = Range("i", ix(0), ix("n"))
    assert names(mapped([unknown, HERE], store("x", [2, "j"], load("y", "j"), "+"))) == ["j", "i"]


def test_a_column_is_not_moved() -> None:
    assert names(mapped([span("i", N), span("j", 1, 2)], store("x", ["i", "j"], num(1.0)))) == ["i", "j"]
    assert names(mapped([span("j", 1, 2), span("i", N)], store("x", ["i", "j"], num(1.0)))) == ["i", "j"]


def test_what_depends_on_the_row_stays_inside_of_it() -> None:
    inner = Range("j", ix("i"), ix(N))
    assert names(mapped([span("i", 1, 2), inner], store("x", [2, "j"], load("y", "j")))) == ["i", "j"]


@pytest.mark.parametrize("op", [None, "+"])
def test_code_with_a_row_that_may_be_missing(op: str | None) -> None:
    for row in (span("i", 2, 3), span("i", 2, 2)):
        agree(program((mapped([row, HERE], store("x", [2, "j"], load("y", "j"), op)),), ARRAYS), calls=1)


def test_whether_a_row_is_there_is_asked_once() -> None:
    writer = Writer()
    emit_map(writer, Frame(program((), ARRAYS).arrays, {"block": (0, 1)}),
             mapped([ROW, HERE], store("x", [2, "j"], load("y", "j"))))
    heads = [line.split(";")[0] for line in writer.text.splitlines() if "for (" in line]
    assert ["s_i" in heads[0], "s_j" in heads[1]] == [True, True]


def test_the_only_row_of_a_block_is_no_loop() -> None:
    """Whose bounds the compiler does not see through: it keeps the sums of the loops inside in memory."""
    row = Range("i", maximum(0, ix("block")), minimum(4, ix("block") + 1))
    writer = Writer()
    emit_map(writer, Frame(program((), ARRAYS).arrays, {"block": (0, 3)}),
             mapped([row, HERE], store("y", ["i"], load("x", "i", "j"), "+")))
    assert ["s_i" in line for line in writer.text.splitlines() if "for (" in line] == [False]
    assert "const int64_t s_i =" in writer.text
