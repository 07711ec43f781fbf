"""Copies into elements that nobody looks at any more go, although other elements of the array are read."""
from __future__ import annotations

from dataclasses import replace

import pytest

from sdfgad.analysis.elements.access import Site, reads_of
from sdfgad.codegen.cpu.schedule.copies.unseen_copies import remove_unseen_copies
from sdfgad.ir.expr import Local
from sdfgad.ir.index import ix, mod
from sdfgad.ir.program import Block, Let, Lib, Loop, Map, Program, Range, Stmt, Store, View, axis
from tests.codegen.build_programs import F8, I8, load, mapped, mul, num, program, span, store
from tests.support.build import number_at
from tests.support.oracle import check_same

N = 6
I, T = ix("i"), ix("t")
FALLING = Range("t", ix(N - 1), ix(-1), -1)
AHEAD = Range("i", T + 1, ix(N))
USE = mapped([span("i", 1)], store("y", (T,), load("x", T), "+"))


def pruned(*body: Stmt, keep: tuple[str, ...] = ("y",)) -> tuple[Block, Block]:
    """A program of a matrix a and vectors x and y, before and after."""
    made: Program = program(body, {"a": ((N, N), F8), "x": ((N,), F8), "y": ((N,), F8)}, {})
    after = remove_unseen_copies(made.but(live_out=frozenset(keep)))
    check_same(made, after, keep=keep)
    return made.body, after.body


def copied(r: Range = AHEAD, *more: Store) -> Map:
    return Map((r,), (Let("v", load("a", T, I)), Store("y", (I,), Local("v", F8), "+"),
                      Store("x", (I,), Local("v", F8)), *more))


def stays(*body: Stmt, keep: tuple[str, ...] = ("y",)) -> bool:
    before, after = pruned(*body, keep=keep)
    return before == after


def test_what_later_iterations_do_not_reach_goes() -> None:
    _, (loop,) = pruned(Loop(FALLING, (copied(), USE)))
    assert isinstance(loop, Loop)
    assert [p.array for p in loop.body[0].body if isinstance(p, Store)] == ["y"]  # type: ignore[union-attr]


def test_a_map_without_anything_else_goes() -> None:
    alone = mapped([AHEAD], store("x", (I,), load("a", T, I)))
    assert pruned(Loop(FALLING, (alone, USE)))[1] == (Loop(FALLING, (USE,)),)


@pytest.mark.parametrize("body", [
    (Loop(replace(FALLING, start=ix(0), stop=ix(N), step=1), (copied(), USE)),),
    (Loop(FALLING, (copied(replace(AHEAD, start=T)), USE)),),
    (Loop(FALLING, (copied(),)), mapped([span("i", N)], store("y", (I,), load("x", I), "+"))),
    (Loop(span("t", N), (copied(),)), Loop(FALLING, (USE,))),
    (Loop(FALLING, (copied(AHEAD, store("y", (I,), load("x", I), "+")), USE)),),
    (Loop(FALLING, (copied(), mapped([AHEAD], store("x", (I,), num(1.0), "+")), USE)),),
    (Loop(span("t", N), (copied(Range("i", ix(0), T)),)), Loop(FALLING, (USE,))),
    (Map((span("i", N),), (Store("x", (I,), load("a", 0, I)), store("y", (I,), load("x", I), "+"))),),
], ids=["rising", "own element", "afterwards", "another loop of the same name", "same map", "added to", "the way back",
        "once"])
def test_what_somebody_sees_stays(body: Block) -> None:
    assert stays(*body)


def test_results_stay() -> None:
    assert stays(Loop(FALLING, (copied(), USE)), keep=("x", "y"))


@pytest.mark.parametrize("made", [store("x", (I,), load("a", T, I), "+"),
                                  store("x", (I,), mul(load("a", T, I), num(2.0)))])
def test_only_copies_are_looked_at(made: Store) -> None:
    assert stays(Loop(FALLING, (mapped([AHEAD], made), USE)))


def test_the_same_statement_at_two_places() -> None:
    """Needed at the first of them only."""
    copy = mapped([span("i", N)], store("x", (I,), load("a", 0, I)))
    use = mapped([span("i", N)], store("y", (I,), load("x", I), "+"))
    assert pruned(copy, use, copy)[1] == (copy, use)


def test_what_the_indices_of_an_operand_look_at_stays() -> None:
    rows = View("a", (ix(N), ix(N)), (mod(number_at("n", axis(0)), ix(N)), ix(axis(1))), F8)
    x, y = (View(name, (ix(N),), (ix(axis(0)),), F8) for name in "xy")
    body = (mapped([span("i", N)], store("n", (I,), load("m", I, dtype=I8))), Lib("matmul", (y,), (rows, x)))
    made = program(body, {"a": ((N, N), F8), "x": ((N,), F8), "y": ((N,), F8), "m": ((N,), I8)}, {"n": ((N,), I8)})
    assert remove_unseen_copies(made.but(live_out=frozenset(("y",)))).body == made.body


def test_an_operand_added_to_is_looked_at() -> None:
    a, x, y = (View(n, (ix(N),) * k, tuple(ix(axis(d)) for d in range(k)), F8) for n, k in (
        ("a", 2), ("x", 1), ("y", 1)))
    plain = Lib("matmul", (y,), (a, x))
    place = Site((), 0, 1)
    assert {r.array for r in reads_of(plain, place)} == {"a", "x"}
    assert {r.array for r in reads_of(replace(plain, attrs={"accumulate": True}), place)} == {"a", "x", "y"}


LANES = span("i", ix("s") * 2, ix("s") * 2 + 2)
LANE = I - ix("s") * 2


@pytest.mark.parametrize(("fill", "goes"), [
    ((mapped([span("d", N), LANES], store("w", (ix("d"), LANE), load("y", I))),), True),
    ((mapped([span("d", N - 1), LANES], store("w", (ix("d"), LANE), load("y", I))),), True),
    ((mapped([span("d", 1, N), LANES], store("w", (ix("d"), LANE), load("y", I))),), False),
    ((mapped([span("d", N), LANES], store("w", (ix("d"), LANE), load("y", I), "+")),), False),
    ((Loop(span("q", "u", 1), (mapped([span("d", N), LANES], store("w", (ix("d"), LANE), load("y", I))),)),), False),
    ((), False),
], ids=["filled", "all but a row that nobody looks at", "all but a row", "added to",
        "filled in a loop that may not run", "not at all"])
def test_what_the_next_iteration_fills_first_is_not_passed_on(fill: Block, goes: bool) -> None:
    """for s: { for u: { w = y ; y += w[t] ; for t: { w[t + 1] = a[t] ; y += w[t] } } }, t falling"""
    copy = mapped([LANES], store("w", (T + 1, LANE), load("a", T, I)))
    look = mapped([LANES], store("y", (I,), load("w", T, LANE), "+"))
    turns = Loop(Range("t", ix(N - 2), ix(-1), -1), (copy, look))
    first = mapped([LANES], store("y", (I,), load("w", 3, LANE), "+"))
    strips = Loop(span("s", 3), (Loop(span("u", 2), (*fill, first, turns)),))
    arrays = {"a": ((N, N), F8), "w": ((N, 2), F8), "y": ((N,), F8)}
    made: Program = program((strips,), arrays, {})
    after = remove_unseen_copies(made.but(live_out=frozenset(("y",))))
    check_same(made, after, keep=("y",))
    assert (after.body != made.body) is goes


def test_what_every_step_makes_anew_is_put_back_for_nobody() -> None:
    """Each step makes its row of t, looks at it, and copies something there."""
    row = [span("i", N)]
    back = mapped(row, store("t", (T, I), load("a", T, I)))
    steps = (mapped(row, store("t", (T, I), num(2.0))), mapped(row, store("y", (I,), load("t", T, I), "+")), back)
    made = program((Loop(span("s", 2), (Loop(span("t", N), steps),)),), {"a": ((N, N), F8), "y": ((N,), F8)},
                   {"t": ((N, N), F8)})
    after = remove_unseen_copies(made.but(live_out=frozenset(("y",))))
    check_same(made, after, keep=("y",))
    assert after.body == (Loop(span("s", 2), (Loop(span("t", N), steps[:2]),)),)
