"""Copies write past the cache what nobody looks at before it has left the cache, and the same values."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.calls.buffers import room
from sdfgad.codegen.compiling.build import SOURCE
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests import past
from sdfgad.codegen.cpu.nests.past import plan_past
from sdfgad.codegen.program import compile_program
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Loop, Map, Program, Range, Stmt
from tests.codegen.build_programs import F4, F8, load, mapped, mul, num, program, span, store
from tests.support.vectors import run

I, J = 40, 64
PLANES = span("i", I)


def copied_in(k: int, plane: Ix | str = "i", name: str = "x", dtype: np.dtype = F8) -> Map:
    return mapped([span("k", k), span("j", J)], store("t", ["k", "j"], load(name, plane, "j", "k", dtype=dtype)))


def doubled(k: int, dtype: np.dtype = F8) -> Map:
    twice = mul(load("t", "k", "j", dtype=dtype), num(2.0, dtype))
    return mapped([span("k", k), span("j", J)], store("t", ["k", "j"], twice))


def copied_out(k: int, plane: Ix | str = "i", first: int = 0, dtype: np.dtype = F8) -> Map:
    return mapped([span("k", first, k), span("j", J)], store("y", [plane, "j", "k"], load("t", "k", "j", dtype=dtype)))


def build(*body: Stmt, k: int, around: Range = PLANES, dtype: np.dtype = F8) -> Program:
    shape = (I + 1, J, k)
    return program([Loop(around, body)], {"x": (shape, dtype), "y": (shape, dtype)}, {"t": ((k, J), dtype)})


def chosen(*body: Stmt, k: int = 1664, around: Range = PLANES) -> frozenset[str]:
    made = build(*body, k=k, around=around)
    return plan_past(Frame(made.arrays).inside([around]), around, body)


def test_results_of_a_loop_that_goes_through_much():
    assert chosen(copied_in(1664), doubled(1664), copied_out(1664)) == {"y"}
    assert not chosen(copied_in(1536), doubled(1536), copied_out(1536), k=1536)


@pytest.mark.parametrize("body", [
    (copied_in(1664), copied_in(1664, name="y"), copied_out(1664)),
    (copied_in(1664), copied_out(1664), copied_out(1664, ix("i") + 1)),
    (copied_in(1664), copied_out(1664), mapped([span("j", J)], store("y", [I, "j", 0], num(0.0)))),
    (copied_in(1664), Loop(span("m", 3), (copied_out(1664),))),
    (copied_in(1664), copied_out(1664, ix(3))),
], ids=["added to", "two copies", "another store", "again and again", "always the same"])
def test_what_is_touched_again_stays_in_the_cache(body: tuple[Stmt, ...]):
    assert not chosen(*body)


def aligned(values: np.ndarray, start: int = 0) -> np.ndarray:
    """A copy that begins `start` bytes after the beginning of a line of the cache."""
    store = room().empty((values.nbytes + 64,), np.dtype("u1"))
    first = -store.ctypes.data % 64 + start
    made = store[first:first + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


@pytest.mark.parametrize(("k", "first", "start", "dtype"), [
    (80, 0, 0, F8), (80, 0, 8, F8), (80, 1, 0, F8), (83, 0, 0, F8), (96, 0, 0, F4)])
def test_values_stay(k: int, first: int, start: int, dtype: np.dtype, monkeypatch: pytest.MonkeyPatch):
    """Whole lines, lines that begin elsewhere, and rows that are no lines."""
    monkeypatch.setattr(past, "LEAST", 0)
    monkeypatch.setattr("sdfgad.codegen.cpu.nests.ahead.FAR", 0)
    body = copied_in(k, dtype=dtype), doubled(k, dtype), copied_out(k, first=first, dtype=dtype)
    made = build(*body, k=k, dtype=dtype)
    code = compile_program(made, key=f"past the cache {first}")
    assert "sg::turn_past" in (code.folder / SOURCE).read_text()
    random = np.random.default_rng(3)
    given = {n: random.standard_normal((I + 1, J, k)).astype(dtype) for n in ("x", "y")}
    expected = run(made, given)
    actual = {n: aligned(v, start) for n, v in given.items()}
    code(actual)
    for name, value in actual.items():
        np.testing.assert_array_equal(value, expected[name])
