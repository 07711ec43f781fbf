"""Clearings at the end of an iteration meet the accumulation at the start of the next one."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sdfgad.ir.expr import Load, call, const
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import statements
from sdfgad.thresholds import ClearingLimits
from sdfgad.transform.clearing.clear_first import clear_first
from tests.support.oracle import check_same

F8 = np.dtype("f8")
ZERO = const(0.0, F8)
N = 8
ALWAYS = ClearingLimits(points=0)


def load(name: str, index: object) -> Load:
    return Load(name, (ix(index),), F8)


def over(low: int, high: int, *stores: tuple[str, object, str | None], at: int = 0) -> Map:
    body = tuple(Store(name, (ix("i") + at,), expr, op) for name, expr, op in stores)
    return Map((Range("i", ix(low), ix(high)),), body)


ADD = over(1, 7, ("x", load("y", "i"), "+"))
USE = over(0, 8, ("y", call("mul", load("x", "i"), const(0.5, F8)), "+"))
CLEAR = over(1, 7, ("x", ZERO, None))


def loop(*body: Stmt, trips: int = 3) -> Loop:
    return Loop(Range("t", ix(0), ix(trips)), body)


def program(*body: Stmt) -> Program:
    arrays = {n: Array(n, (N,), F8, "argument") for n in ("x", "y")}
    return Program("p", arrays, ("x", "y"), tuple(body))


def rotated(*body: Stmt, limits: ClearingLimits = ALWAYS) -> Block:
    """The new body, which means the same."""
    before = program(*body)
    after = clear_first(before, limits)
    check_same(before, after)
    assert len({id(s) for s in statements(after.body)}) == sum(1 for _ in statements(after.body))
    return after.body


def ops(body: Block) -> list[str]:
    """How the loop stores into x."""
    inner = next(s for s in body if isinstance(s, Loop)).body
    return ["0" if p.expr == ZERO else p.op or "=" for s in inner if isinstance(s, Map) for p in s.body
            if isinstance(p, Store) and p.array == "x"]


def test_the_first_iteration_stands_apart() -> None:
    body = rotated(loop(ADD, USE, CLEAR))
    assert [isinstance(s, Loop) for s in body] == [False, False, True, False]
    assert ops(body) == ["="]


def test_after_a_clearing_no_iteration_stands_apart() -> None:
    for trips in (0, 3):
        body = rotated(over(0, 8, ("x", ZERO, None)), loop(ADD, USE, CLEAR, trips=trips))
        assert [isinstance(s, Loop) for s in body] == [False, True, False]
        assert ops(body) == ["="]


@pytest.mark.parametrize("before", [over(1, 6, ("x", ZERO, None)), over(0, 8, ("x", load("y", "i"), None)),
                                    over(1, 7, ("x", ZERO, None), ("y", load("x", "i"), None))])
def test_what_does_not_clear_enough_before_the_loop(before: Map) -> None:
    body = rotated(before, loop(ADD, USE, CLEAR))
    assert sum(isinstance(s, Loop) for s in body) == 1 and len(body) > 3


def test_a_later_value_before_the_loop_counts() -> None:
    body = rotated(over(0, 8, ("x", ZERO, None)), over(2, 4, ("x", load("y", "i"), None)), loop(ADD, USE, CLEAR))
    assert len(body) > 4


def test_a_clearing_beside_a_use_is_taken_out() -> None:
    together = over(0, 8, ("y", load("x", "i"), "+"), ("x", ZERO, None))
    assert ops(rotated(loop(over(0, 8, ("x", load("y", "i"), "+")), together))) == ["="]


def test_a_use_after_the_clearing_in_the_same_map() -> None:
    together = over(1, 7, ("x", ZERO, None), ("y", load("x", "i"), "+"))
    assert ops(rotated(loop(ADD, USE, together))) == ["+", "0"]


@pytest.mark.parametrize("later", [replace(USE), over(1, 2, ("x", load("y", "i"), "+")),
                                   over(3, 4, ("x", load("y", "i"), None))])
def test_a_clearing_that_is_not_the_last_look(later: Map) -> None:
    assert "0" in ops(rotated(loop(ADD, USE, CLEAR, later)))


def test_a_first_look_that_is_no_accumulation() -> None:
    assert ops(rotated(loop(USE, ADD, CLEAR))) == ["+", "0"]


def test_the_rim_is_filled_as_well() -> None:
    pieces = (over(2, 6, ("x", load("y", "i"), "+")), over(1, 2, ("x", load("y", "i"), "+")),
              over(6, 7, ("x", load("y", "i"), "+")))
    assert ops(rotated(loop(*pieces, USE, CLEAR))) == ["=", "=", "="]


RIM, MAIN = over(1, 2, ("x", load("y", "i"), "+")), over(2, 6, ("x", load("y", "i"), "+"))


def test_sums_at_the_rim_may_come_first() -> None:
    end = over(6, 7, ("x", load("y", "i"), "+"))
    assert ops(rotated(loop(RIM, MAIN, end, USE, CLEAR))) == ["=", "=", "="]
    assert ops(rotated(over(0, 8, ("x", ZERO, None)), loop(RIM, end, MAIN, USE, CLEAR))) == ["=", "=", "="]


def test_a_sum_at_the_rim_that_reaches_inside() -> None:
    for overlapping in over(1, 3, ("x", load("y", "i"), "+")), over(1, 2, ("x", load("x", ix("i") + 2), "+")):
        assert ops(rotated(loop(overlapping, MAIN, USE, CLEAR))) == ["+", "+", "0"]


def test_a_variable_with_one_value_goes_to_each_element_once() -> None:
    for trips, expected in (1, ["=", "="]), (2, ["+", "+", "0"]):
        rim = replace(RIM, domain=(*RIM.domain, Range("j", ix(5), ix(5 + trips))))
        assert ops(rotated(loop(rim, MAIN, USE, over(1, 6, ("x", ZERO, None))))) == expected


def test_what_nobody_fills_is_cleared_once() -> None:
    body = rotated(loop(over(2, 7, ("x", load("y", "i"), "+")), USE, CLEAR))
    assert ops(body) == ["="]


def test_what_only_a_part_of_fills_is_cleared_every_time() -> None:
    twice = over(1, 3, ("x", load("y", "i"), "+"))
    assert ops(rotated(loop(over(2, 7, ("x", load("y", "i"), "+")), twice, USE, CLEAR))) == ["0", "=", "+"]


@pytest.mark.parametrize("limits", [ClearingLimits(), ClearingLimits(points=0, statements=2)])
def test_what_is_not_worth_a_first_iteration(limits: ClearingLimits) -> None:
    assert ops(rotated(loop(ADD, USE, CLEAR), limits=limits)) == ["+", "0"]


def test_one_trip_has_no_second_iteration() -> None:
    assert ops(rotated(loop(ADD, USE, CLEAR, trips=1))) == ["+", "0"]


def test_a_small_part_is_not_worth_it() -> None:
    assert ops(rotated(loop(over(2, 4, ("x", load("y", "i"), "+")), USE, CLEAR))) == ["+", "0"]


def test_parallel_loops_and_loops_that_may_end_early_are_left() -> None:
    kept = loop(ADD, USE, CLEAR)
    assert clear_first(program(replace(kept, parallel=True)), ALWAYS).body[0].body == kept.body  # type: ignore[union-attr]
    assert clear_first(program(replace(kept, until="stop", trips="n")), ALWAYS).body[0].body == kept.body  # type: ignore


def test_a_later_look_at_other_elements() -> None:
    other = over(0, 1, ("y", load("x", "i"), "+"), ("x", load("y", "i"), None))
    assert ops(rotated(over(0, 8, ("x", ZERO, None)), loop(ADD, USE, CLEAR, other))) == ["=", "="]


def test_a_loop_that_adds_element_by_element() -> None:
    one = Map((), (Store("x", (ix("j"),), load("y", "j"), "+"),))
    for r in (Range("j", ix(1), ix(7)), Range("j", ix(6), ix(0), -1)):
        body = rotated(over(0, 8, ("x", ZERO, None)), loop(Loop(r, (one,)), USE, CLEAR))
        inner = next(s for s in body if isinstance(s, Loop)).body[0]
        assert isinstance(inner, Loop) and inner.body[0].body[0].op is None  # type: ignore[union-attr]


@pytest.mark.parametrize("inner", [
    (Map((), (Store("x", (ix("j"),), load("y", "j"), "+"), Store("x", (ix("j") + 1,), load("y", "j"), "+"))),),
    (Map((), (Store("x", (ix("j"),), load("x", ix("j") - 1), "+"),)),),
    (Map((), (Store("x", (ix(3),), load("y", "j"), "+"),)),),
    (Map((), (Store("x", (ix("j"),), load("y", "j"), "+"),)), Map((), (Store("y", (ix("j"),), load("x", 2), "+"),))),
])
def test_a_loop_that_does_more_than_add_once(inner: Block) -> None:
    body = rotated(over(0, 8, ("x", ZERO, None)), loop(Loop(Range("j", ix(1), ix(7)), inner), USE, CLEAR))
    kept = [s for b in body if isinstance(b, Loop) for s in b.body if isinstance(s, Loop)]
    assert kept[0].body == inner


def around(*body: Stmt, trips: int = 2) -> Loop:
    return Loop(Range("s", ix(0), ix(trips)), body)


def innermost(body: Block) -> tuple[list[Stmt], Block]:
    """What stands beside the innermost loop, and its body."""
    (held,) = (s for s in body if isinstance(s, Loop))
    if any(isinstance(s, Loop) for s in held.body):
        return innermost(held.body)
    return [s for s in body if s is not held], held.body


ALL_CLEAR = over(0, 8, ("x", ZERO, None))
ELSEWHERE = over(0, 8, ("y", const(2.0, F8), "*"))


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
@pytest.mark.parametrize("outer", [
    lambda inner: around(inner), lambda inner: around(ELSEWHERE, inner, replace(ELSEWHERE)),
    lambda inner: around(inner, over(0, 8, ("x", ZERO, None))), lambda inner: around(around(inner)),
], ids=["alone", "among others", "and a clearing", "two loops around"])
def test_a_loop_that_is_repeated_with_the_box_clear(outer: Callable[[Loop], Loop], trips: int) -> None:
    beside, body = innermost(rotated(ALL_CLEAR, outer(loop(ADD, USE, CLEAR, trips=trips))))
    assert ops((loop(*body),)) == ["="]
    assert all(p.array == "y" or p.expr == ZERO for s in beside for p in s.body)  # type: ignore[union-attr]


@pytest.mark.parametrize("outer", [
    around(loop(ADD, USE, CLEAR), over(2, 3, ("x", load("y", "i"), "+"))),
    around(over(2, 3, ("x", load("y", "i"), "+")), loop(ADD, USE, CLEAR)),
    around(loop(ADD, USE, CLEAR), over(6, 7, ("x", load("y", "i"), None))),
    around(loop(ADD, USE, CLEAR), over(0, 8, ("x", ZERO, None), ("y", load("x", "i"), "+"))),
], ids=["added after", "added before", "replaced after", "cleared and read"])
def test_a_loop_that_is_repeated_with_something_in_the_box(outer: Loop) -> None:
    beside, _ = innermost(rotated(ALL_CLEAR, outer))
    assert sum(isinstance(p, Store) and p.array == "x" and p.expr != ZERO
               for s in beside if isinstance(s, Map) for p in s.body) >= 1


@pytest.mark.parametrize("before", [
    (), (over(1, 6, ("x", ZERO, None)),), (ALL_CLEAR, over(2, 3, ("x", load("y", "i"), None)))],
    ids=["nothing", "a part", "replaced"])
def test_a_loop_that_is_repeated_from_something_in_the_box(before: Block) -> None:
    body = rotated(*before, around(loop(ADD, USE, CLEAR)))
    assert sum(any(isinstance(n, Load) and n.array == "y" for p in s.body for n in (p.expr,) if p.array == "x")
               for s in statements(body[len(before):]) if isinstance(s, Map)) > 1  # type: ignore[union-attr]
