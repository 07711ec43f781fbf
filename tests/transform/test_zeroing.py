"""Clearings are folded only where the next accumulation really starts from zero."""
from __future__ import annotations

import numpy as np

from sdfgad.ir.expr import Load, call, const
from sdfgad.ir.index import elem, ix, mod
from sdfgad.ir.program import Array, Block, If, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import statements
from sdfgad.transform.clearing.zeroing import fold_zeroing
from tests.support.oracle import check_same

F8 = np.dtype("f8")
ZERO = const(0.0, F8)


def load(name: str, *index: object) -> Load:
    return Load(name, tuple(ix(i) for i in index), F8)


def scalar(name: str, expr: object, op: str | None = None) -> Map:
    return Map((), (Store(name, (), expr, op),))


def program(*body: Stmt) -> Program:
    shapes = {"x": (4,), "y": (6,), "g": (), "out": ()}
    arrays = {n: Array(n, s, F8, "argument" if n in ("x", "out", "y") else "transient") for n, s in shapes.items()}
    return Program("p", arrays, ("x", "y", "out"), tuple(body))


def check(before: Program) -> Block:
    """The pass keeps the meaning; returns the new body."""
    after = fold_zeroing(before.but(live_out=frozenset(("out", "y"))))
    check_same(before, after)
    return after.body


def stores(body: Block, name: str) -> list[Store]:
    return [p for s in statements(body) if isinstance(s, Map) for p in s.body
            if isinstance(p, Store) and p.array == name]


def test_an_accumulator_cleared_every_iteration_is_assigned() -> None:
    inside = (scalar("g", load("x", "i"), "+"), scalar("out", load("g"), "+"), scalar("g", ZERO))
    body = check(program(scalar("out", ZERO), scalar("g", ZERO), Loop(Range("i", ix(0), ix(4)), inside)))
    assert [s.op for s in stores(body, "g")] == [None]


def test_an_accumulator_that_lives_on_is_kept() -> None:
    """The cotangent of a loop-carried value: scaled at the end of the iteration, not cleared."""
    inside = (scalar("g", load("x", "i"), "+"), scalar("out", load("g"), "+"),
              scalar("g", call("mul", load("g"), const(0.5, F8))))
    body = check(program(scalar("out", ZERO), scalar("g", ZERO), Loop(Range("i", ix(0), ix(4)), inside)))
    assert "+" in [s.op for s in stores(body, "g")]


def test_the_rim_of_a_cleared_region_is_still_cleared() -> None:
    clear = Map((Range("a", ix(0), ix(6)),), (Store("y", (ix("a"),), ZERO),))
    core = Map((Range("b", ix(0), ix(4)),), (Store("y", (ix("b") + 1,), load("x", "b"), "+"),))
    body = check(program(clear, core))
    assert sorted(s.op or "=" for s in stores(body, "y")) == ["=", "=", "="]


def test_an_accumulation_that_reads_the_array_is_left_alone() -> None:
    clear = Map((Range("a", ix(0), ix(6)),), (Store("y", (ix("a"),), ZERO),))
    core = Map((Range("b", ix(0), ix(4)),), (Store("y", (ix("b"),), call("add", load("y", "b"), load("x", "b")), "+"),))
    body = check(program(clear, core))
    assert [s.op for s in stores(body, "y")] == [None, "+"]


def test_several_variables_may_be_the_digits_of_a_position() -> None:
    clear = Map((Range("a", ix(0), ix(2)), Range("b", ix(0), ix(3))), (Store("y", (ix("a") * 3 + "b",), ZERO),))
    add = Map((Range("c", ix(0), ix(2)), Range("d", ix(0), ix(2))),
              (Store("y", (ix("c") + ix("d") * 2 + 1,), load("x", ix("c") + ix("d") * 2), "+"),))
    body = check(program(clear, add))
    assert sorted(s.op or "=" for s in stores(body, "y")) == ["=", "=", "="]


def test_overlapping_or_sparse_positions_are_no_digits() -> None:
    for factor in (1, 3):
        clear = Map((Range("a", ix(0), ix(6)),), (Store("y", (ix("a"),), ZERO),))
        add = Map((Range("c", ix(0), ix(2)), Range("d", ix(0), ix(2))),
                  (Store("y", (ix("c") + ix("d") * factor,), load("x", "c"), "+"),))
        assert "+" in [s.op for s in stores(check(program(clear, add)), "y")]


ROWS = (Range("a", ix(0), ix(4)), Range("b", ix("a") + 1, ix(5)))


def triangle(*body: Stmt, before: Block = ()) -> Program:
    """A loop over what a triangular part of a matrix m, cleared before, is used for."""
    arrays = {"x": Array("x", (5,), F8, "argument"), "out": Array("out", (5,), F8, "argument"),
              "m": Array("m", (4, 5), F8)}
    clear = Map((Range("c", ix(0), ix(4)), Range("d", ix(0), ix(5))), (Store("m", (ix("c"), ix("d")), ZERO),))
    return Program("p", arrays, ("x", "out"), (clear, *before, Loop(Range("i", ix(0), ix(3)), body)))


def over(name: str, first: str, second: str, expr: object, op: str | None = None, rest: int = 5) -> Map:
    """m[a, b] of a triangle, or an element of another array, in variables of one's own."""
    domain = (Range(first, ix(0), ix(4)), Range(second, ix(first) + 1, ix(rest)))
    return Map(domain, (Store(name, (ix(first), ix(second)) if name == "m" else (ix(second),), expr, op),))


ADDED = over("m", "a", "b", load("x", "b"), "+")
USED = over("out", "p", "q", load("m", "p", "q"), "+")
CLEARED = over("m", "f", "g", ZERO)


def test_part_of_a_matrix_that_each_iteration_leaves_clear_is_assigned() -> None:
    after = fold_zeroing(triangle(ADDED, USED, CLEARED).but(live_out=frozenset(("out",))))
    check_same(triangle(ADDED, USED, CLEARED), after)
    assert [s.op for s in stores(after.body, "m")] == [None]
    assert isinstance(after.body[0], Loop)


def test_part_of_a_matrix_that_others_see_more_of_is_added_to() -> None:
    for body in ((ADDED, USED), (ADDED, USED, over("m", "f", "g", ZERO, rest=4)),
                 (ADDED, over("out", "p", "q", load("m", "p", ix("q") - 1), "+"), CLEARED),
                 (ADDED, USED, over("m", "f", "g", load("x", "f"), "+", rest=4), CLEARED),
                 (over("m", "a", "b", load("x", "b"), "+", rest=4), USED, CLEARED)):
        after = fold_zeroing(triangle(*body).but(live_out=frozenset(("out",))))
        check_same(triangle(*body), after)
        assert "+" in [s.op for s in stores(after.body, "m")]


def test_a_loop_in_a_branch_assigns() -> None:
    clear = Map((Range("a", ix(0), ix(6)),), (Store("y", (ix("a"),), ZERO),))
    fill = Loop(Range("i", ix(0), ix(6)), (Map((), (Store("y", (ix("i"),), Load("x", (ix(0),), F8), "+"),)),))
    positive = call("gt", load("x", 1), ZERO, dtype="?")
    body = check(program(scalar("out", ZERO), clear, If(positive, (fill,), ())))
    assert [s.op for s in stores(body, "y")] == [None, None]


def test_a_table_of_zeros_is_looked_at_by_indices() -> None:
    i8 = np.dtype("i8")
    arrays = {"x": Array("x", (4,), F8, "argument"), "y": Array("y", (3,), F8, "argument"), "k": Array("k", (3,), i8)}
    here, there = ix("a"), mod(elem("k", ("a",)), 4)
    table = Map((Range("a", ix(0), ix(3)),), (Store("k", (here,), const(0, i8)),))
    read = Map((Range("a", ix(0), ix(3)),), (Store("y", (here,), load("x", there)),))
    written = Map((Range("a", ix(0), ix(3)),), (Store("x", (there,), load("y", 0), "+"),))
    for looks in (read, written):
        before = Program("p", arrays, ("x", "y"), (table, looks), live_out=frozenset("xy"))
        assert stores(fold_zeroing(before).body, "k")
