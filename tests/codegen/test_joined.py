"""Maps over the same points become one pass over their data only where each point minds its own business."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.footprint import scheduled
from sdfgad.codegen.cpu.order.joined import join_maps
from sdfgad.codegen.cpu.order.pieces import Group
from sdfgad.ir.index import ix
from sdfgad.ir.program import Map, Program, Stmt
from sdfgad.ir.walk import statements
from tests.codegen.build_programs import F4, F8, agree, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

N, M = 7, 20
ROW, COLUMN = span("i", N), span("j", M)
MATRIX, ROWS, COLUMNS = ((N, M), F8), ((N,), F8), ((M,), F8)


def build(*body: Stmt) -> Program:
    arrays = {**dict.fromkeys(("x", "y", "z"), MATRIX), **dict.fromkeys(("s", "a"), ROWS),
              **dict.fromkeys(("t", "b"), COLUMNS), "f": ((N, M), F4), "q": ((M, M), F8), "r": ((M, M), F8)}
    return program(body, arrays, {})


def joined(before: Program) -> list[Stmt]:
    """The statements after the maps are joined; they leave the same."""
    after = before.but(body=join_maps(Frame(before.arrays), before.body))
    check_same(before, after, tolerance=1e-14)
    return list(statements(after.body))


OVER_ROWS = mapped([ROW, COLUMN], store("s", ["i"], mul(load("x", "i", "j"), load("b", "j")), "+"))
OVER_COLUMNS = mapped([span("k", N), span("l", M)],
                      store("t", ["l"], mul(load("x", "k", "l"), load("a", "k")), "+"))
COPY = mapped([ROW, COLUMN], store("y", ["i", "j"], load("x", "i", "j")))
UPDATE = mapped([ROW, COLUMN], store("x", ["i", "j"], mul(load("a", "i"), load("b", "j")), "+"))


@pytest.mark.parametrize("body", [
    (OVER_ROWS, OVER_COLUMNS),
    (OVER_COLUMNS, COPY),
    (COPY, UPDATE),
    (OVER_ROWS, UPDATE),
    (COPY, mapped([ROW, COLUMN], store("s", ["i"], load("y", "i", "j"), "+"))),
    (OVER_ROWS, mapped([], store("q", [0, 0], num(1.0))), OVER_COLUMNS),
    (mapped([COLUMN], store("t", ["j"], num(3.0))), OVER_ROWS, OVER_COLUMNS),
], ids=["two sums", "sum and record", "record and update", "sum and update", "copy and its sum", "across another",
        "after another"])
def test_one_pass_in_place_of_two(body: tuple[Stmt, ...]) -> None:
    made = joined(build(*body))
    assert len(made) == len(body) - 1
    assert any(isinstance(s, Map) and len(s.body) == 2 for s in made)


def test_what_is_stored_is_not_loaded_again() -> None:
    made = joined(build(COPY, mapped([ROW, COLUMN], store("s", ["i"], load("y", "i", "j"), "+"))))
    assert isinstance(made[0], Map)
    assert made[0].body[1].expr == load("x", "i", "j")


def test_what_is_rounded_when_it_is_stored_is_loaded_again() -> None:
    rounded = mapped([ROW, COLUMN], store("f", ["i", "j"], load("x", "i", "j")))
    read = mapped([ROW, COLUMN], store("s", ["i"], mul(load("x", "i", "j"), load("f", "i", "j", dtype=F4)), "+"))
    made = joined(build(rounded, read))
    assert isinstance(made[0], Map)
    assert load("f", "i", "j", dtype=F4) in made[0].body[1].expr.args


@pytest.mark.parametrize("body", [
    (OVER_ROWS, mapped([ROW, COLUMN], store("z", ["i", "j"], mul(load("x", "i", "j"), load("s", "i"))))),
    (OVER_ROWS, mapped([ROW, COLUMN], store("x", ["i", M - 1 - ix("j")], mul(load("z", "i", "j"), load("b", "j"))))),
    (UPDATE, mapped([ROW, COLUMN], store("y", ["i", "j"], mul(load("x", N - 1 - ix("i"), "j"), load("b", "j"))))),
    (mapped([ROW, COLUMN], store("b", ["j"], load("x", "i", "j"), "+")), OVER_ROWS),
    (OVER_ROWS, mapped([], store("x", [0, 0], num(5.0))), OVER_COLUMNS),
    (OVER_ROWS, mapped([], store("b", [0], load("s", 0))), OVER_COLUMNS),
    (OVER_ROWS, mapped([ROW, span("j", M - 1)], store("t", ["j"], load("x", "i", "j"), "+"))),
    (OVER_ROWS, mapped([ROW, COLUMN], store("t", ["j"], load("y", "i", "j"), "+"))),
    (mapped([span("j", M), span("k", M)], store("q", ["j", "k"], load("b", "j"))),
     mapped([span("j", M), span("k", M)], store("t", ["j"], mul(load("q", "k", "j"), load("b", "j")), "+"))),
], ids=["reads the sum", "overwrites what comes later", "reads what is not there yet", "reads what is not complete",
        "data changes between", "sum is read between", "other points", "other data", "other elements"])
def test_what_stays_apart(body: tuple[Stmt, ...]) -> None:
    assert len(joined(build(*body))) == len(body)


def test_nests_that_run_through_their_data_in_other_orders_stay_apart() -> None:
    along, across = (mapped([span("j", M), span("k", M)], store(name, place, load("b", "k")))
                     for name, place in (("q", ["j", "k"]), ("r", ["k", "j"])))
    assert len(joined(build(along, across))) == 2


def test_nests_whose_neighbours_lie_apart_stay_apart() -> None:
    down = [mapped([span("k", M)], store(n, [5, "k"], mul(load("q", "k", 3), load("b", "k")))) for n in ("x", "y")]
    assert len(joined(build(*down))) == 2


def test_a_chain_of_temporaries_stays_apart() -> None:
    """They lie in the same memory, one after the other."""
    whole = build(COPY, mapped([ROW, COLUMN], store("s", ["i"], load("y", "i", "j"), "+")))
    arrays = {**whole.arrays, "y": replace(whole.arrays["y"], role="transient")}
    made = whole.but(arrays=arrays, arguments=tuple(n for n in whole.arguments if n != "y"))
    assert len(joined(made)) == 2


def test_the_pieces_of_a_schedule_hold_joined_maps() -> None:
    """Before anybody asks which arrays are in use together."""
    (piece,) = scheduled(build(OVER_ROWS, OVER_COLUMNS)).items
    assert isinstance(piece, Group)
    assert len(piece.body) == 1


def test_the_native_code_adds_up_the_same() -> None:
    values = {"x": np.random.default_rng(0).random((N, M))}
    agree(build(OVER_ROWS, OVER_COLUMNS, COPY, UPDATE), values)
