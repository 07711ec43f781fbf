"""Clearings leave out what the next loop adds to first, and everything else is still cleared."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.clearing.clear_rest import clear_rest
from sdfgad.ir.expr import Load, const
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import Array, Block, If, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.text import program_text
from tests.support.oracle import check_same

F8 = np.dtype("f8")
N = 6
I, K = ix("i"), ix("k")


def cleared(name: str = "x", rows: tuple[int, int] = (0, N), columns: tuple[int, int] = (0, N)) -> Map:
    domain = (Range("a", ix(rows[0]), ix(rows[1])), Range("b", ix(columns[0]), ix(columns[1])))
    return Map(domain, (Store(name, (ix("a"), ix("b")), const(0.0, F8)),))


def adds(low: Ix | int, high: Ix | int, *index: Ix, op: str | None = "+", step: int = 1) -> Map:
    where = index or (I, K)
    return Map((Range("k", ix(low), ix(high), step),), (Store("x", where, Load("y", (I, K), F8), op),))


def point(*index: Ix) -> Map:
    return Map((), (Store("x", index, Load("y", (I, ix(0)), F8), "+"),))


def loop(*body: Stmt, first: int = 0, last: int = N, down: bool = False) -> Loop:
    r = Range("i", ix(last - 1), ix(first - 1), -1) if down else Range("i", ix(first), ix(last))
    return Loop(r, body)


def made(*body: Stmt) -> Block:
    """The new body, which means the same."""
    arrays = {n: Array(n, (N, N), F8, "argument") for n in ("x", "y")}
    before = Program("p", arrays, ("x", "y"), tuple(body))
    after = clear_rest(before)
    check_same(before, after)
    return after.body


def clears(body: Block) -> int:
    """How many elements a block clears before its loop, by running the ranges."""
    total = 0
    for stmt in body:
        if isinstance(stmt, Map) and isinstance(stmt.body[0], Store) and stmt.body[0].expr == const(0.0, F8):
            a, b = stmt.domain
            total += sum(len(range(b.start.evaluate({a.var: n}), b.stop.evaluate({a.var: n})))
                         for n in range(a.start.evaluate({}), a.stop.evaluate({})))
    return total


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize(("parts", "left"), [
    ((adds(0, I), point(I, I)), N * (N - 1) // 2),
    ((point(I, I), adds(0, I)), N * (N - 1) // 2),
    ((adds(I, N),), N * (N - 1) // 2),
    ((adds(I + 1, N), point(I, I)), N * (N - 1) // 2),
    ((adds(0, N),), 0),
    ((adds(0, I), adds(I, N)), 0),
    ((adds(2, 5),), N * 3),
    ((adds(0, N - I),), N * (N - 1) // 2),
    ((adds(0, N, N - 1 - I, K),), 0),
    ((adds(0, N, I, N - 1 - K),), 0),
    ((point(I, ix(3)),), N * (N - 1)),
])
def test_only_the_rest_is_cleared(parts: tuple[Map, ...], left: int, down: bool):
    body = made(cleared(), loop(*parts, down=down))
    assert clears(body) == left
    assert not any(p.op for s in body if isinstance(s, Loop) for m in s.body if isinstance(m, Map)
                   for p in m.body if isinstance(p, Store))


@pytest.mark.parametrize(("first", "last"), [(0, 1), (2, 5), (N - 1, N), (1, N)])
def test_rows_of_no_iteration_are_cleared(first: int, last: int):
    body = made(cleared(), loop(adds(0, I), point(I, I), first=first, last=last))
    assert clears(body) == N * N - sum(i + 1 for i in range(first, last))


@pytest.mark.parametrize("body", [
    (cleared(), loop(adds(0, I + 1), point(I, I))),
    (cleared(), loop(adds(0, I - 1), point(I, I))),
    (cleared(), loop(adds(0, I - 1))),
    (cleared(), loop(adds(0, N, ix(2), K))),
    (cleared(), loop(adds(0, N, I * 2, K), last=N // 2)),
    (cleared(), loop(Map((), (*point(I, I).body, Store("y", (elem("x", (I, ix(0))), ix(0)), const(1.0, F8)))))),
    (cleared(), loop(adds(0, N, K, K))),
    (cleared(), loop(adds(0, N, K, ix(0)))),
    (cleared(), loop(adds(0, I), Map((), (Store("y", (I, I), Load("x", (I, ix(0)), F8)),)))),
    (cleared(), loop(adds(0, I), If(const(True, np.dtype(bool)), (point(I, I),), ()))),
    (cleared(rows=(1, N)), loop(adds(0, N))),
    (cleared(columns=(0, N - 1)), loop(adds(0, N))),
    (cleared(), Map((), (Store("y", (ix(0), ix(0)), Load("x", (ix(1), ix(1)), F8)),)), loop(adds(0, N))),
    (cleared(), loop(adds(0, N), first=3, last=3)),
    (cleared(), loop(adds(0, N, step=2))),
    (cleared(), loop(adds(0, N, op="max"))),
    (cleared(), loop(adds(0, I), adds(0, I))),
    (cleared(), loop(adds(0, 2), adds(3, 5))),
    (cleared(), Loop(Range("i", ix(0), ix(N), 2), (adds(0, N),))),
    (cleared(), replace(loop(adds(0, N)), private=("x",))),
], ids=["overlap", "side by side but for one", "may be inside out", "one row", "every other one", "an index",
        "diagonal", "column", "read", "branch", "outside rows",
        "outside columns", "looked at before", "no trip", "gaps", "maximum", "twice", "apart", "every other row",
        "private"])
def test_what_is_not_known_stays(body: Block):
    arrays = {n: Array(n, (N, N), F8, "argument") for n in ("x", "y")}
    before = Program("p", arrays, ("x", "y"), body)
    assert program_text(clear_rest(before)) == program_text(before)


def test_columns_of_a_triangle_stay_cleared():
    """What is left would be a range that depends on one further inside."""
    before = cleared(), loop(adds(0, I, K, I))
    assert clears(made(*before)) == N * N


def test_whole_columns():
    assert clears(made(cleared(), loop(adds(0, N, K, I)))) == 0


def test_three_dimensions():
    """Each element that is left is cleared once."""
    whole = tuple(Range(v, ix(0), ix(N)) for v in "abc")
    x = Array("x", (N, N, N), F8, "argument")
    zero = Map(whole, (Store("x", tuple(ix(v) for v in "abc"), const(0.0, F8)),))
    inside = Range("k", ix(1), I + 1), Range("m", ix(2), ix(5))
    inner = Map(inside, (Store("x", (I, K, ix("m")), const(2.0, F8), "+"),))
    before = Program("p", {"x": x}, ("x",), (zero, loop(inner)))
    after = clear_rest(before)
    check_same(before, after)
    count = np.zeros(x.shape, int)
    for stmt in after.body:
        if isinstance(stmt, Map):
            a, b, c = stmt.domain
            for n in range(a.start.evaluate({}), a.stop.evaluate({})):
                ends = [(r.start.evaluate({a.var: n}), r.stop.evaluate({a.var: n})) for r in (b, c)]
                count[n, ends[0][0]:ends[0][1], ends[1][0]:ends[1][1]] += 1
    for n in range(N):
        count[n, 1:n + 1, 2:5] += 1
    assert (count == 1).all()
