"""What a rank knows of a value: whether it is made of its own numbers, of what all ranks have, or of both."""
from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from sdfgad.analysis.uniform import Provenance, origin_of
from sdfgad.ir.expr import Expr, Load, call, const
from sdfgad.ir.index import ix
from sdfgad.ir.messages import (
    DUALS,
    EXCHANGE,
    NUMBERS,
    OF_RANK,
    OP,
    REVERSE,
    dual,
    order_array,
    order_view,
    received,
    sent,
    told,
)
from sdfgad.ir.program import Array, Block, If, Lib, Loop, Map, Program, Range, Stmt, Store, View, While, axis

FLOAT, WORLD, HALF = np.dtype(float), 7, 8
NOTHING: Mapping[str, Any] = MappingProxyType({})


def array(name: str, *shape: int, role: str = "transient") -> Array:
    return Array(name, shape, FLOAT, role)


def message(kind: str, into: list[View], out: list[View], communicator: int = WORLD,
            more: Mapping[str, Any] = NOTHING) -> Lib:
    numbers = View(f"to{communicator}", (ix(2),), (ix(axis(0)),), np.dtype(np.int64))
    both = (numbers, numbers) if kind == EXCHANGE else (numbers,)
    attrs = MappingProxyType({"kind": kind, "dtype": FLOAT, "count": 1, **more})
    return Lib(OP, (*into, order_view()), (*out, *both, order_view()), attrs)


def load(name: str, *index: int) -> Load:
    return Load(name, tuple(map(ix, index)), FLOAT)


def put(name: str, value: Expr, *index: int) -> Map:
    return Map((), (Store(name, tuple(map(ix, index)), value),))


def times(name: str, number: float) -> Expr:
    return call("mul", load(name), const(number, FLOAT))


def known(body: Block, output: str = "s", *more: Array) -> Provenance:
    numbers = {f"to{c}": np.array([c, 0]) for c in (WORLD, HALF)}
    arrays = [array("x", role="argument"), array("s"), array("t"), array("pair", 2), order_array(), *more,
              *(Array(n, (2,), np.dtype(np.int64), "constant", label=NUMBERS) for n in numbers)]
    program = Program("f", {a.name: a for a in arrays}, ("x",), body, constants=numbers, live=frozenset(numbers))
    return origin_of(program, [program.arrays[output].whole], frozenset({WORLD}))


X, S, T, PAIR = (array(n, *shape).whole for n, shape in (("x", ()), ("s", ()), ("t", ()), ("pair", (2,))))
TOTAL = message("allreduce", [S], [X])


@pytest.mark.parametrize("body, own, common", [
    ((TOTAL,), False, True),
    ((TOTAL, put("s", times("s", 3.0))), False, True),
    ((TOTAL, put("s", call("add", load("s"), load("x")))), True, True),
    ((put("s", times("x", 2.0)),), True, False),
    ((put("s", times("x", 2.0)), message("allreduce", [S], [T])), False, True),
    ((message(EXCHANGE, [S], [X]),), True, False),
    ((message("reduce", [S], [X]),), True, False),
    ((message("allreduce", [S], [X], HALF),), True, False),
    ((message("allgather", [S], [X], more={OF_RANK: True}),), True, False),
    ((put("s", times("x", 1.0)), message("bcast", [], [S])), False, True),
    ((put("s", const(2.0, FLOAT)),), False, False)])
def test_what_a_value_is_made_of(body: tuple[Stmt, ...], own: bool, common: bool) -> None:
    found = known(body)
    assert (found.own, found.common) == (own, common)


def test_a_part_that_is_received_leaves_the_rest() -> None:
    first = View("pair", (), (ix(0),), FLOAT)
    found = known((put("pair", load("x"), 1), message("allreduce", [first], [X])), "pair")
    assert found.own and found.common


def test_what_decides_counts() -> None:
    condition = call("gt", load("x"), const(0.0, FLOAT), dtype=bool)
    found = known((TOTAL, If(condition, (put("s", times("s", 2.0)),), ())))
    assert found.own and found.common


def test_a_loop_hands_values_on() -> None:
    """t takes what s had before: behind two iterations it is x."""
    body = (put("s", load("x")), TOTAL, put("t", const(0.0, FLOAT)),
            Loop(Range("k", ix(0), ix(3)), (put("t", load("s")), put("s", load("x")))))
    assert known(body, "t").own


@pytest.mark.parametrize("trips", [1, 2])
def test_the_last_iteration_may_be_an_early_one(trips: int) -> None:
    """What a loop makes common in its end is a rank's own where it was read at the beginning."""
    body = (put("s", load("x")), put("t", load("s")), put("u", load("s")),
            Loop(Range("k", ix(0), ix(trips)), (put("u", load("t")), put("t", load("s")), TOTAL)))
    assert known(body, "t" if trips == 1 else "u", array("u")).own


def test_a_while_loop_is_as_common_as_its_condition() -> None:
    flag = Array("flag", (), np.dtype(bool))
    run = While("flag", (put("s", times("s", 0.5)),), "trips")

    def decided(name: str) -> Map:
        return Map((), (Store("flag", (), call("gt", load(name), const(1.0, FLOAT), dtype=bool)),))

    assert not known((TOTAL, decided("s"), run), "s", flag).own
    assert known((TOTAL, decided("x"), run), "s", flag).own


def test_temporaries_of_an_iteration_hand_nothing_on() -> None:
    """A loop may have any number of them: each is filled before it is read."""
    names = [f"t{k}" for k in range(20)]
    line = [put(name, times(before, 0.5)) for before, name in zip(["s", *names], names)]
    loop = Loop(Range("k", ix(0), ix(3)), (*line, put("s", load(names[-1]))))
    assert not known((TOTAL, loop), "s", *map(array, names)).own
    assert known((TOTAL, put("t", load("x")), Loop(loop.range, (*loop.body, put("s", times("t", 0.5))))), "s",
                 *map(array, names)).own


def test_a_long_chain_is_not_looked_into() -> None:
    names = [f"t{k}" for k in range(20)]
    empty = [put(name, const(0.0, FLOAT)) for name in names]
    chain = [put(name, load(before)) for before, name in zip(["s", *names], names)]
    body = (TOTAL, *empty, Loop(Range("k", ix(0), ix(3)), tuple(reversed(chain))))
    assert known(body, names[-1], *map(array, names)).own


def test_marks_tell_statements_apart_and_not_names() -> None:
    def of(factor: float, name: str) -> str:
        other = array(name).whole
        return known((message("allreduce", [other], [X]), put("s", times(name, factor))), "s", array(name)).mark

    assert of(2.0, "t1") == of(2.0, "t2") != of(3.0, "t1")


def test_second_collectives_are_others() -> None:
    twice = (TOTAL, message("allreduce", [S], [X]))
    assert known(twice).mark != known(twice[:1]).mark


def test_duals() -> None:
    assert all(DUALS[DUALS[kind]] == kind for kind in DUALS)
    for kind in DUALS.keys() - {"barrier"}:
        stmt = message(kind, [S], [X])
        there = dual(stmt, (T,), (S,))
        assert (received(there), sent(there)) == ((T,), (S,))
        back = dual(there, (S,), (T,)).attrs
        assert back == {**stmt.attrs, "sweep": REVERSE} and len(told(there)) == len(told(stmt))
