"""Divisions and functions that every iteration would compute alike are computed once per value of their counter."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.joining.tabulate_rows import tabulate_rows
from sdfgad.ir.expr import Expr, Index, Load, Local, call, const
from sdfgad.ir.index import elem, ix, mod
from sdfgad.ir.program import Array, Let, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import statements
from sdfgad.thresholds import Thresholds
from tests.support.oracle import check_same

F8 = np.dtype("f8")
I8 = np.dtype("i8")
N = 6
ROWS, COLUMNS = Range("i", ix(0), ix(4)), Range("j", ix(0), ix(N))
P = Load("p", (ix("j"),), F8)
X = Load("x", (ix("i"), ix("j")), F8)


def recip(e: Expr) -> Expr:
    return call("div", const(1.0, F8), call("add", e, const(3.0, F8)))


def update(e: Expr, *domain: Range) -> Map:
    return Map(domain or (ROWS, COLUMNS), (Store("x", (ix("i"), ix("j")), call("mul", X, e)),))


def loop(*body: Stmt, trips: int = 3) -> Loop:
    return Loop(Range("t", ix(0), ix(trips)), body)


def program(*body: Stmt) -> Program:
    shapes = {"x": (4, N), "p": (N,), "s": (), "k": (N,), "long": (Thresholds().tabulated_row,)}
    arrays = {n: Array(n, s, I8 if n == "k" else F8, "argument") for n, s in shapes.items()}
    return Program("p", arrays, tuple(shapes), tuple(body))


def rows(*body: Stmt) -> list[tuple[int, ...]]:
    """The shapes of the rows that are made; the program means the same."""
    before = program(*body)
    after = tabulate_rows(before)
    check_same(before, after)
    return [a.shape for n, a in after.arrays.items() if n not in before.arrays]


def test_a_division_by_a_row_is_done_once() -> None:
    before = program(loop(update(recip(P))))
    after = tabulate_rows(before)
    check_same(before, after)
    inside = after.body[-1]
    assert isinstance(inside, Loop)
    made = [p.expr for s in statements(inside.body) if isinstance(s, Map) for p in s.body]
    assert made == [call("mul", X, Load("row", (ix("j"),), F8))]
    assert after.arrays["row"].shape == (N,)


def test_parts_that_occur_often_are_looked_at_once() -> None:
    e = X
    for _ in range(60):
        e = call("add", call("mul", e, recip(P)), e)
    made = tabulate_rows(program(loop(Map((ROWS, COLUMNS), (Store("x", (ix("i"), ix("j")), e),)))))
    assert [a.shape for n, a in made.arrays.items() if n.startswith("row")] == [(N,)]


def test_uses_of_other_ranges_share_a_row() -> None:
    shifted = Load("p", (ix("j") - 1,), F8)
    back = Loop(Range("j", ix(4), ix(0), -1), (update(recip(P), ROWS),))
    assert rows(loop(update(recip(P), ROWS, Range("j", ix(2), ix(4))), back)) == [(4,)]
    assert rows(loop(update(recip(shifted), ROWS, Range("j", ix(1), ix(N))))) == [(5,)]


def test_numbers_that_stay_may_be_part_of_it() -> None:
    assert rows(loop(update(call("div", P, Load("s", (), F8))))) == [(N,)]
    assert rows(loop(update(call("sqrt", call("cast", Index(ix("j"), I8), dtype=F8))))) == [(N,)]


@pytest.mark.parametrize("e", [
    call("mul", P, P), recip(X), recip(Load("x", (ix("t"), ix("j")), F8)), recip(Load("s", (), F8)),
    recip(Load("p", (mod(elem("k", ("j",)), N),), F8)), recip(call("add", P, Load("p", (ix("i"),), F8))),
    recip(Load("p", (ix("t"),), F8)), recip(call("cast", Index(elem("k", ("j",)), I8), dtype=F8)),
], ids=["cheap", "changed", "time", "scalar", "gather", "two counters", "counter of the loop", "number in an array"])
def test_what_stays_in_the_loop(e: Expr) -> None:
    assert not rows(loop(update(e)))


def test_an_array_that_the_loop_changes_anywhere() -> None:
    change = Map((COLUMNS,), (Store("p", (ix("j"),), const(0.5, F8), "+"),))
    assert not rows(loop(update(recip(P)), change))


def test_integers_are_left_alone() -> None:
    """A division by zero, in an iteration that does not do it, would end the process."""
    whole = call("floordiv", const(7, I8), Load("k", (ix("j"),), I8))
    body = loop(update(call("cast", whole, dtype=F8)))
    assert tabulate_rows(program(body)).body == (body,)


def test_a_load_outside_of_the_array_that_is_never_made() -> None:
    beyond = call("select", call("lt", Index(ix("j"), I8), const(3, I8)), recip(Load("p", (ix("j") + 2,), F8)), P)
    assert not rows(loop(update(beyond)))


def test_values_of_the_same_map_are_no_rows() -> None:
    stmt = Map((ROWS, COLUMNS), (Let("v", P), Store("x", (ix("i"), ix("j")), recip(call("add", P, Local("v", F8))))))
    assert not rows(loop(stmt))


def test_ranges_that_depend_on_others() -> None:
    triangle = update(recip(P), ROWS, Range("j", ix(0), ix("i") + 1))
    assert not rows(loop(triangle))
    assert not rows(loop(Loop(Range("j", ix(0), ix(2)), (triangle,))))


def test_what_is_used_too_rarely_or_too_long() -> None:
    assert not rows(loop(update(recip(P), Range("i", ix(0), ix(1)), COLUMNS)))
    assert not rows(loop(update(recip(P)), trips=1))
    wide = Map((Range("i", ix(0), ix(2)), Range("j", ix(0), ix(Thresholds().tabulated_row))),
               (Store("x", (ix("i"), ix(0)), recip(Load("long", (ix("j"),), F8)), "+"),))
    assert tabulate_rows(program(loop(wide))).body == (loop(wide),)


def test_parallel_loops_are_left_alone() -> None:
    body = replace(loop(update(recip(P))), parallel=True)
    assert tabulate_rows(program(body)).body == (body,)
