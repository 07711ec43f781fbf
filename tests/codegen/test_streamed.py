"""Nests write past the cache what fills more than it and nobody looks at meanwhile, and the same values."""
from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sdfgad.caches import Caches
from sdfgad.codegen.compiling.build import SOURCE
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests import streamed
from sdfgad.codegen.program import compile_program
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, Loop, Map, Program, Range, Stmt
from tests.codegen.build_programs import F4, F8, load, mapped, mul, num, program, span, store
from tests.support.point_loops import run

I, J = 30, 83
ROWS = span("i", I)


def filled(name: str = "z", dtype: np.dtype = F8, low: Ix | int = 0, high: Ix | int = J, row: Ix | str = "i") -> Map:
    value = mul(load("x", "i", "j", dtype=dtype), num(2.0, dtype))
    return mapped([Range("j", ix(low), ix(high))], store(name, [row, "j"], value))


def added(dtype: np.dtype = F8) -> Map:
    return mapped([span("j", J)], store("y", ["j"], load("x", "i", "j", dtype=dtype), "+"))


def both(dtype: np.dtype = F8, first: str = "x") -> Map:
    value = mul(load(first, *(("i", "j") if first == "x" else ("j",)), dtype=dtype), num(3.0, dtype))
    return mapped([span("j", J)], store("y", ["j"], load("x", "i", "j", dtype=dtype), "+"),
                  store("z", ["i", "j"], value))


def build(*body: Stmt, dtype: np.dtype = F8) -> Program:
    return program(body, {"x": ((I, J), dtype), "y": ((J,), dtype), "z": ((I, J), dtype)}, {})


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches that hold little; pieces are short, so that there are several of a row."""
    monkeypatch.setattr(streamed, "LEAST", 1024)
    monkeypatch.setattr(streamed, "CHUNK", 64)


def chosen(*body: Stmt, extents: tuple[Range, ...] = ()) -> frozenset[str]:
    return streamed.streamed(Frame(build(*body).arrays).inside(extents), body, extents)


def test_what_loops_fill():
    assert chosen(Loop(ROWS, (filled(),))) == {"z"}
    assert chosen(Loop(ROWS, (both(),))) == {"z"}
    assert chosen(filled(), extents=(ROWS,)) == {"z"}
    assert chosen(Loop(ROWS, (filled(high=ix("i")), filled(low=ix("i"))))) == {"z"}


@pytest.mark.parametrize("body", [
    (Loop(ROWS, (filled(), mapped([span("j", J)], store("y", ["j"], load("z", 0, "j"))))),),
    (Loop(ROWS, (filled(), mapped([span("j", J)], store("z", [0, "j"], load("x", "i", "j"), "+")))),),
    (Loop(span("t", 9), (Loop(ROWS, (filled(),)),)),),
    (Loop(ROWS, (filled(row=ix(0)),)),),
    (mapped([span("j", J)], store("z", [0, "j"], load("x", 0, "j"))),),
    (Loop(ROWS, (added(),)),),
], ids=["read", "added to", "again and again", "one row", "few", "a sum"])
def test_what_stays_in_the_cache(body: Block):
    assert not chosen(*body)


def test_slower_vectors(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(streamed, "vector_bytes", lambda: 16)
    assert not chosen(Loop(ROWS, (filled(),)))


def test_rows_that_stay_near_go_twice():
    frame = Frame(build().arrays, streamed=frozenset({"z"})).inside([ROWS])
    assert [[p.array for p in m.body] for m in streamed.apart_from_past(frame, both())] == [["y"], ["z"]]
    assert streamed.apart_from_past(frame, both(first="y")) == (both(first="y"),)
    assert streamed.apart_from_past(frame, added()) == (added(),)


def test_rows_that_leave_it_go_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(streamed, "USUAL", Caches(own=1024))
    frame = Frame(build().arrays, streamed=frozenset({"z"})).inside([ROWS])
    assert len(streamed.apart_from_past(frame, both())) == 1


DOWN = Range("i", ix(I - 1), ix(-1), -1)


def named(name: str, loop: Range, *body: Map) -> Loop:
    """A loop that fills an array of that name in place of z."""
    return Loop(loop, tuple(replace(m, body=tuple(replace(p, array=name) if p.array == "z" else p for p in m.body))
                            for m in body))


@pytest.mark.parametrize(("dtype", "start"), [(F8, 0), (F8, 8), (F4, 4)])
def test_values_stay(dtype: np.dtype, start: int):
    """Whole lines or not, rows, triangles in one and in two pieces, beside sums and of what they leave."""
    part = partial(filled, dtype=dtype)
    loops = [(ROWS, part()), (DOWN, both(dtype)), (ROWS, both(dtype, "y")), (ROWS, part(low=3)),
             (DOWN, part(high=ix("i") + 1)), (ROWS, part(low=ix("i"))), (ROWS, part(high=ix("i")), part(low=ix("i")))]
    body = [named(f"z{k}", *parts) for k, parts in enumerate(loops)]
    arrays = {"x": ((I, J), dtype), "y": ((J,), dtype)} | {f"z{k}": ((I, J), dtype) for k in range(len(loops))}
    made = program(body, arrays, {})
    code = compile_program(made, key=f"past the cache, {start}, {streamed.LEAST}, {streamed.CHUNK}")
    text = (code.folder / SOURCE).read_text()
    assert {f"z{k}" for k in range(len(loops)) if f"sg::write_past(&p_z{k}[" in text} == arrays.keys() - {"x", "y"}
    random = np.random.default_rng(3)
    given = {n: random.standard_normal(shape).astype(dtype) for n, (shape, _) in arrays.items()}
    given["x"][3, 5], given["x"][4, 0] = np.nan, np.inf
    expected = {n: v.copy() for n, v in given.items()}
    run(made, expected)
    actual = {n: aligned(v, start) for n, v in given.items()}
    code(actual)
    for name, value in expected.items():
        np.testing.assert_allclose(actual[name], value, rtol=1e-6 if dtype == F4 else 1e-14, err_msg=name)


def aligned(values: np.ndarray, start: int) -> np.ndarray:
    """A copy that begins `start` bytes after the beginning of a line of the cache."""
    store = np.zeros(values.nbytes + 128, np.uint8)
    first = -store.ctypes.data % 64 + start
    made = store[first:first + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made
