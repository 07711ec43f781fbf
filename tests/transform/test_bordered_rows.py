"""Rows get a border of zeros where that makes one sum of several pieces."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.rows.bordered_rows import border_rows
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Map, Program, Stmt
from sdfgad.ir.walk import rename_symbols, statements
from tests.support.build import F8, at, each, lit, loop, put, span
from tests.support.oracle import check_same

N, M = 5, 20
I, D = ix("i"), ix("d")
FILL = each(span("d", 0, M), put("t", (D,), at("a", I, D)))
T = {k: at("t", D + k) for k in range(-2, 3)}


def piece(low: int, high: int, value, op: str | None = "+") -> Map:
    return each(span("d", low, high), put("x", (I, D + 3), value, op))


THREE = (piece(1, M - 1, (T[-1] + T[0]) + T[1]), piece(0, 1, T[0] + T[1]), piece(M - 1, M, T[-1] + T[0]),
         piece(-1, 0, T[1]), piece(M, M + 1, T[-1]))
ARRAYS = {"a": Array("a", (N, M), F8, "argument"), "x": Array("x", (N, M + 6), F8, "argument"),
          "t": Array("t", (M,), F8)}
STEPS = span("i", 0, N)


def made(*body: Stmt, arrays=ARRAYS, keep=()) -> Program:
    before = Program("p", arrays, ("a", "x"), body)
    after = border_rows(before.but(live_out=frozenset(keep)))
    check_same(before, after)
    return after


def pieces(program: Program) -> int:
    return sum(isinstance(s, Map) and any(p.array == "x" for p in s.body) for s in statements(program.body))


def test_pieces_become_one() -> None:
    after = made(loop(STEPS, FILL, *THREE))
    assert pieces(after) == 1 and after.arrays["t"].shape == (M + 16,)


@pytest.mark.parametrize("value", [
    lambda t: lit(2.0) * t[0] - t[1],
    lambda t: -(t[-1] + lit(0.5) * t[0]),
])
def test_multiples_and_differences(value) -> None:
    parts = [piece(1, M - 1, value(T))]
    for low, gone in ((0, -1), (M - 1, 1)):
        parts.append(piece(low, low + 1, value({**T, gone: lit(0.0)})))
    assert pieces(made(loop(STEPS, FILL, *parts))) == 1


def test_a_shorter_piece_of_another_kind_stays() -> None:
    after = made(loop(STEPS, FILL, piece(0, M - 1, T[0] + T[1], None), piece(M - 1, M, T[0])))
    assert after.arrays["t"].shape == (M,) and pieces(after) == 2


def test_rows_of_threads_are_cleared_by_each() -> None:
    own = replace(loop(STEPS, FILL, *THREE), parallel=True, private=("t",))
    after = made(own, replace(own, range=span("i", 0, 2)))
    assert pieces(after) == 2
    for region in after.body:
        assert isinstance(region.body[0], Map) and region.body[0].body[0] == put("t", ("b0",), 0.0)


def test_values_in_the_border_are_not_seen() -> None:
    """NaN at the rim of what rows come from stays there."""
    before = Program("p", ARRAYS, ("a", "x"), (loop(STEPS, FILL, *THREE),))
    a = np.ones((N, M))
    a[:, 0] = np.nan
    check_same(before, border_rows(before.but(live_out=frozenset(()))), {"a": a, "x": np.zeros((N, M + 6))})


@pytest.mark.parametrize(("name", "body"), [
    ("no loop", rename_symbols((FILL, *THREE), {"i": 0})),
    ("an infinite coefficient", (loop(STEPS, FILL, piece(1, M, lit(np.inf) * T[-1] + T[0]), piece(0, 1, T[0])),)),
    ("a row that collects itself", (loop(STEPS, FILL, *(
        each(span("d", a, b), put("t", (D,), e, "+")) for a, b, e in ((0, 12, at("t", D + 8)), (12, M, 0.0))),
        piece(0, M, T[0])),)),
    ("a gap", (loop(STEPS, FILL, THREE[0], THREE[2], THREE[3]),)),
    ("another sum", (loop(STEPS, FILL, THREE[0], piece(0, 1, T[0] + T[0])),)),
    ("a constant as well", (loop(STEPS, FILL, piece(1, M, T[-1] + 1.0), piece(0, 1, lit(1.0))),)),
    ("an element of an argument", (loop(STEPS, FILL, piece(1, M, T[-1] + at("a", I, D)), piece(0, 1, at("a", I, D))),)),
    ("within the row as well", (loop(STEPS, FILL, piece(1, M - 2, (T[-1] + T[0]) + T[1]),
                                     piece(M - 2, M, T[-1] + T[0])),)),
    ("another way to store", (loop(STEPS, FILL, THREE[0], piece(0, 1, T[0] + T[1], None)),)),
])
def test_left_alone(name: str, body: tuple[Stmt, ...]) -> None:
    assert made(*body).arrays["t"].shape == (M,), name


def test_rows_that_others_see_stay() -> None:
    body = loop(STEPS, FILL, *THREE)
    assert made(body, keep=("t",)).arrays["t"].shape == (M,)
    outside = {**ARRAYS, "t": replace(ARRAYS["t"], role="constant")}
    assert border_rows(Program("p", outside, ("a", "x"), (body,)).but(live_out=frozenset(()))).arrays["t"].shape == (M,)
