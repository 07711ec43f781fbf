"""How often a condition on loop counters holds, and what that makes of the estimated time of its branches."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.analysis.chances import chance
from sdfgad.analysis.cost import seconds_of
from sdfgad.ir.expr import Call, Const, Expr, Index, Load
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, If, Loop, Map, Range, Store

BOOL, INT, FLOAT = np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)
I, J = ix("i"), ix("j")


def compared(fn: str, left: object, right: object) -> Expr:
    return Call(fn, (Index(ix(left), INT), Index(ix(right), INT)), BOOL)  # type: ignore[arg-type]


EVEN = compared("eq", I % 2, 0)


@pytest.mark.parametrize(("cond", "share"), [
    (EVEN, 0.5),
    (Call("not", (EVEN,), BOOL), 0.5),
    (compared("eq", I % 4, 1), 0.25),
    (compared("eq", I, 0), 0.01),
    (compared("lt", I, 25), 0.25),
    (Call("and", (EVEN, compared("lt", I, 50)), BOOL), 0.25),
    (Call("or", (EVEN, compared("ge", I, 50)), BOOL), 0.75),
])
def test_share_of_the_iterations(cond: Expr, share: float) -> None:
    path = (Range("i", ix(0), ix(100)),)
    assert chance(cond, path, {"i": 50}) == pytest.approx(share)


@pytest.mark.parametrize("trips", [100_000, 99_999])
def test_long_loops_are_looked_at_here_and_there(trips: int) -> None:
    assert chance(EVEN, (Range("i", ix(0), ix(trips)),), {"i": 0}) == pytest.approx(0.5, abs=0.01)


def test_an_inner_loop_decides_where_both_are_compared() -> None:
    path = (Range("i", ix(0), ix(100)), Range("j", ix(0), ix(100)))
    assert chance(compared("lt", J, I), path, {"i": 20, "j": 50}) == pytest.approx(0.2)


@pytest.mark.parametrize("cond", [
    compared("lt", "n", 3),
    Index(I, BOOL),
    Call("gt", (Load("x", (I,), FLOAT), Const(0.0, FLOAT)), BOOL),
    Call("and", (EVEN, Load("mask", (I,), BOOL)), BOOL),
])
def test_nothing_is_known_of_values_and_of_other_names(cond: Expr) -> None:
    assert chance(cond, (Range("i", ix(0), ix(100)),), {"i": 50}) is None


def test_a_branch_of_every_second_iteration_takes_half_the_time() -> None:
    x = Array("x", (1000,), FLOAT)
    dear = Map((Range("k", ix(0), ix(1000)),), (Store("x", (ix("k"),), Const(1.0, FLOAT)),))

    def time(cond: Expr | None) -> float:
        body = dear if cond is None else If(cond, (dear,), ())
        return seconds_of((Loop(Range("i", ix(0), ix(100)), (body,)),), {"x": x}, lambda work: work.operations)

    assert time(EVEN) == pytest.approx(time(None) / 2)
    assert time(Call("gt", (Load("x", (I,), FLOAT), Const(0.0, FLOAT)), BOOL)) == time(None)
