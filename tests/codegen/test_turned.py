"""Copies that turn rows into columns go block by block only where that is what they do."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.turned import plan_turn
from sdfgad.ir.index import ix
from sdfgad.ir.program import Map, Program
from tests.codegen.build_programs import F4, F8, I8, agree, load, mapped, mul, num, program, span, store

N, M = 17, 27


def build(stmt: Map, dtype: np.dtype = F8) -> Program:
    return program([stmt], {"x": ((N + 3, M + 5), dtype), "y": ((M + 1, N + 2), dtype), "q": ((M, M), dtype),
                            "f": ((M, N), F4 if dtype != F4 else F8)}, {})


def turns(stmt: Map, dtype: np.dtype = F8) -> bool:
    made = build(stmt, dtype)
    return plan_turn(Frame(made.arrays), stmt) is not None


def turn(rows: int = N, columns: int = M, first: int = 0, dtype: np.dtype = F8) -> Map:
    return mapped([span("i", first, first + rows), span("j", columns)],
                  store("y", ["j", ix("i") - first], load("x", "i", ix("j") + 2, dtype=dtype)))


@pytest.mark.parametrize(("rows", "columns", "first"), [(16, 24, 0), (17, 27, 0), (8, 8, 1), (9, 16, 2), (16, 9, 0)])
@pytest.mark.parametrize("dtype", [F8, I8])
def test_blocks_and_what_is_left(rows: int, columns: int, first: int, dtype: np.dtype):
    stmt = turn(rows, columns, first, dtype)
    assert turns(stmt, dtype)
    agree(build(stmt, dtype), calls=1, threads=(1,))


def test_small_numbers():
    stmt = turn(17, 27, dtype=F4)
    assert turns(stmt, F4)
    agree(build(stmt, F4), calls=1, threads=(1,), tolerance=0.0)


def test_either_order_of_the_variables():
    stmt = turn()
    other = mapped(stmt.domain[::-1], *stmt.body)
    assert turns(other)
    agree(build(other), calls=1, threads=(1,))


@pytest.mark.parametrize("stmt", [
    turn(7),
    turn(columns=7),
    mapped([span("i", N), span("j", M)], store("y", ["j", "i"], load("x", "i", "j"), "+")),
    mapped([span("i", N), span("j", M)], store("y", ["j", "i"], mul(load("x", "i", "j"), num(2.0)))),
    mapped([span("i", N), span("j", M)], store("x", ["i", "j"], load("y", "j", "i")), store("q", ["j", "i"], num(1.0))),
    mapped([span("i", M), span("j", M)], store("q", ["j", "i"], load("q", "i", "j"))),
    mapped([span("i", N), span("j", "i", M)], store("y", ["j", "i"], load("x", "i", "j"))),
    mapped([span("i", N), span("j", 0, M, step=2)], store("y", ["j", "i"], load("x", "i", "j"))),
    mapped([span("i", N), span("j", 13)], store("y", [ix("j") * 2, "i"], load("x", "i", ix("j") * 2))),
    mapped([span("i", N), span("j", M)], store("x", ["i", "j"], load("x", "i", "j"))),
    mapped([span("i", N), span("j", M)], store("y", ["j", "i"], load("f", "j", "i", dtype=F4))),
    mapped([span("i", N), span("j", M)], store("f", ["j", "i"], load("x", "i", "j"))),
    mapped([span("i", N), span("j", M)], store("y", [-ix("j") + M, "i"], load("x", "i", "j"))),
], ids=["few rows", "few columns", "sum", "product", "two stores", "in place", "triangle", "steps", "every other",
        "no turn", "rounded", "as they are", "backwards"])
def test_other_maps_stay(stmt: Map):
    assert not turns(stmt)
