"""Clearings that a loop does bit by bit come behind it, where that leaves less to clear."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.clearing.clear_behind import clear_behind
from sdfgad.ir.expr import Load, call, const
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, If, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import statements
from sdfgad.thresholds import ClearingLimits
from tests.support.oracle import check_same

F8 = np.dtype("f8")
N, M = 8, 3
ALWAYS = ClearingLimits(points=0)
J = ix("j")


def at(name: str, row: Ix) -> Load:
    return Load(name, (row, ix("i")), F8)


def line(*parts: tuple[str, Ix, object, str | None], low: int = 0, high: int = M) -> Map:
    """Stores into rows of arrays."""
    body = tuple(Store(n, (row, ix("i")), e if isinstance(e, Load) else const(0.0, F8), op) for n, row, e, op in parts)
    return Map((Range("i", ix(low), ix(high)),), body)


def sweep(*body: Stmt, down: bool = False, trips: int = N - 2) -> Loop:
    """Rows 1 to N - 1 one after the other."""
    last = trips + 1
    return Loop(Range("j", ix(last - 1), ix(0), -1) if down else Range("j", ix(1), ix(last)), body)


def program(*body: Stmt) -> Program:
    arrays = {n: Array(n, (N, M), F8, "argument") for n in ("x", "y")}
    return Program("p", arrays, ("x", "y"), tuple(body))


CARRY = ("x", J + 1, at("x", J), "+")
CLEAR = ("x", J, None, None)
TAKE = ("y", J, at("x", J), "+")
REFILL = Map((Range("j", ix(1), ix(N - 1)), Range("i", ix(0), ix(M))), (Store("x", (J, ix("i")), at("y", J), "+"),))


def moved(*body: Stmt) -> Block:
    """The new body, which means the same."""
    before = program(*body)
    after = clear_behind(before.but(live_out=frozenset(("x", "y"))), ALWAYS)
    check_same(before, after)
    assert len({id(s) for s in statements(after.body)}) == sum(1 for _ in statements(after.body))
    return after.body


def stores(body: Block, name: str = "x") -> Iterator[tuple[str, int]]:
    """How a program stores to an array, and inside how many loops."""
    def visit(block: Block, depth: int) -> Iterator[tuple[str, int]]:
        for s in block:
            if isinstance(s, Loop):
                yield from visit(s.body, depth + 1)
            elif isinstance(s, Map):
                zero = const(0.0, F8)
                yield from (("0" if p.expr == zero else p.op or "=", depth) for p in s.body
                            if isinstance(p, Store) and p.array == name)
    return visit(body, 0)


@pytest.mark.parametrize("trips", [0, 1, 2, 5, N - 2])
def test_a_recurrence_hands_on_and_clears(trips: int) -> None:
    refill = replace(REFILL, domain=(Range("j", ix(1), ix(trips + 1)), REFILL.domain[1]))
    body = moved(sweep(line(TAKE, CARRY, CLEAR), trips=trips), refill)
    if trips:
        assert list(stores(body)) == [("+", 1), ("=", 0)]


def test_downwards() -> None:
    body = moved(sweep(line(TAKE, ("x", J - 1, at("x", J), "+"), CLEAR), down=True), REFILL)
    assert list(stores(body)) == [("+", 1), ("=", 0)]


def test_a_part_is_left_to_clear() -> None:
    body = moved(sweep(line(TAKE, CARRY, CLEAR)), replace(REFILL, domain=(Range("j", ix(2), ix(N - 1)),
                                                                       REFILL.domain[1])))
    assert sorted(stores(body)) == [("+", 1), ("0", 0), ("=", 0)]


def test_the_next_sweep_of_an_outer_loop_fills() -> None:
    wipe = Map((Range("a", ix(0), ix(N)), Range("i", ix(0), ix(M))),
               (Store("x", (ix("a"), ix("i")), const(0.0, F8)),))
    fill = sweep(line(("x", J, at("y", J), "+")))
    times = Loop(Range("t", ix(0), ix(3)), (fill, sweep(line(TAKE), line(CLEAR))))
    body = moved(wipe, times)
    assert ("=", 2) in list(stores(body)) and ("0", 2) not in list(stores(body))


@pytest.mark.parametrize("first", [
    sweep(line(TAKE, ("x", J - 1, at("x", J), "+"), CLEAR)),
    sweep(line(TAKE, CARRY, CLEAR), down=True),
    sweep(line(CLEAR), line(TAKE)),
    sweep(line(CLEAR, TAKE)),
    sweep(line(TAKE, CLEAR), line(("y", J, at("x", J - 1), "+"))),
    sweep(line(TAKE, CLEAR), line(("y", J, at("x", ix(3)), "+"))),
    sweep(line(TAKE, CLEAR), line(("x", J, at("y", J), "+"))),
    sweep(line(TAKE, CLEAR), line(("y", J, at("x", ix(N - 1) - J), "+"))),
    replace(sweep(line(TAKE, CARRY, CLEAR)), parallel=True),
])
def test_what_is_looked_at_again_is_cleared_in_the_loop(first: Loop) -> None:
    before = program(first, REFILL)
    if not first.parallel:
        check_same(before, clear_behind(before.but(live_out=frozenset(("x", "y"))), ALWAYS))
    assert clear_behind(p := before.but(live_out=frozenset(("x", "y"))), ALWAYS) is p


def test_looks_ahead_do_no_harm() -> None:
    body = moved(sweep(line(TAKE, CLEAR), line(("y", J, at("x", J + 1), "+"))), REFILL)
    assert ("0", 1) not in list(stores(body))


def test_what_nobody_fills_stays() -> None:
    before = program(sweep(line(TAKE, CARRY, CLEAR)))
    assert clear_behind(p := before.but(live_out=frozenset(("x", "y"))), ALWAYS) is p


@pytest.mark.parametrize("between", [line(("y", ix(0), at("x", ix(2)), "+")), line(("x", ix(2), at("y", ix(2)), "+"))])
def test_a_look_before_the_accumulation(between: Map) -> None:
    body = moved(sweep(line(TAKE, CARRY, CLEAR)), between, REFILL)
    assert list(stores(body)).count(("=", 0)) <= 1


def test_clearings_under_a_condition_stay() -> None:
    choice = If(call("lt", const(0.0, F8), Load("y", (J, ix(0)), F8)), (line(TAKE, CLEAR),), ())
    before = program(sweep(choice), REFILL)
    assert clear_behind(p := before.but(live_out=frozenset(("x", "y"))), ALWAYS) is p


def test_rows_that_steps_leave_out_stay() -> None:
    loop = Loop(Range("j", ix(1), ix(N - 1), 2), (line(TAKE, CLEAR),))
    before = program(loop, REFILL)
    assert clear_behind(p := before.but(live_out=frozenset(("x", "y"))), ALWAYS) is p
