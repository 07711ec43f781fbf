"""Integers that belong to one row are private too, wherever they stand in indices."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.rows.rows import split_rows
from sdfgad.codegen.program import compile_program
from sdfgad.ir import interpret
from sdfgad.ir.program import Array, Loop, Program, Stmt
from sdfgad.ir.walk import statements
from sdfgad.thresholds import RowLimits
from tests.support.build import F8, I8, at, each, number_at, position, put, span

ROWS = RowLimits(reuse=1, work=1, nearby=1 << 16, trips=4, fewest=2)
STRIPS = RowLimits(reuse=1, work=1, nearby=1 << 9, trips=4, fewest=2)
I, D = span("i", 0, 64), span("d", 0, 16)
SHAPES = {"c": (64,), "u": (64,), "x": (64, 16), "y": (64, 16), "z": (64,), "k": (64,), "w": (64, 16)}
FIND = each(I, put("k", ("i",), position(number_at("c", "i") * 3, I8)))
SQUARE = each((I, D), put("w", ("i", "d"), at("x", "i", "d") * at("x", "i", "d")))
READ = each(I, put("z", ("i",), at("u", number_at("k", "i") % 64)))
WRITE = each(I, put("y", ("i", number_at("k", "i") % 16), at("u", "i")))
USE = each((I, D), put("y", ("i", "d"), at("w", "i", "d") * at("x", "i", number_at("k", "i") % 16), "+"))


def check(limits: RowLimits, *body: Stmt) -> set[str]:
    """The pass keeps the meaning, compiled too; returns the private arrays."""
    arrays = {n: Array(n, s, I8 if n in "ck" else F8, "transient" if n in "kw" else "argument")
              for n, s in SHAPES.items()}
    given = tuple(n for n in arrays if n not in "kw")
    before = Program("p", arrays, given, body)
    after = split_rows(before, (), limits)
    rng = np.random.default_rng(1)
    start = {n: rng.integers(0, 64, 64) if n == "c" else rng.random(arrays[n].shape) for n in given}
    results = []
    for p in (before, after):
        memory = {n: np.zeros(a.shape, a.dtype) for n, a in p.arrays.items()} | {n: a.copy() for n, a in start.items()}
        interpret.run(p, memory)
        results.append(memory)
    compiled = {n: a.copy() for n, a in start.items()}
    compile_program(after)(compiled)
    for name in given:
        np.testing.assert_array_equal(results[0][name], results[1][name])
        np.testing.assert_allclose(results[0][name], compiled[name], rtol=1e-15)
    return {n for s in statements(after.body) if isinstance(s, Loop) and s.parallel for n in s.private}


@pytest.mark.parametrize("body", [(FIND, SQUARE, USE), (FIND, SQUARE, WRITE, USE)], ids=["read", "written"])
def test_rows(body: tuple[Stmt, ...]):
    assert check(ROWS, *body) == {"k", "w"}


def test_strips():
    assert "k" in check(STRIPS, FIND, READ)
