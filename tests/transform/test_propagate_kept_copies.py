"""What is brought back is read where it was kept, as long as both places hold the same."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.schedule.copies.propagate_kept_copies import propagate_kept_copies
from sdfgad.codegen.cpu.schedule.copies.unseen_copies import remove_unseen_copies
from sdfgad.ir.index import ix
from sdfgad.ir.program import If, Loop, Map, Program, Stmt
from sdfgad.ir.walk import all_writes
from tests.codegen.build_programs import F4, F8, compare, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

N, W = 9, 4
S, K, J = ix("s"), ix("k"), ix("j")
LANES = span("j", S * W, S * W + W)
BACK = mapped([LANES], store("x", [K, J], load("kept", K - 1, J)))
USE = mapped([LANES], store("y", [K, J], mul(load("x", K, J), load("x", K - 1, J)), "+"))


def redirected(*body: Stmt, down: bool = True, parallel: bool = True) -> tuple[bool, bool]:
    """Whether the loop reads elsewhere after that, and whether the copy goes."""
    steps = span("k", N - 1, 0, step=-1) if down else span("k", 1, N)
    strips = Loop(span("s", 3), (Loop(steps, body),), parallel=parallel)
    shape = (N, 3 * W)
    arrays = {n: (shape, F8) for n in ("kept", "x", "y")} | {"small": (shape, F4), "turned": (shape[::-1], F8)}
    made: Program = program([strips], arrays, {})
    after = propagate_kept_copies(made)
    check_same(made, after, keep=("y", "kept", "x", "small"))
    rest = remove_unseen_copies(after.but(live_out=frozenset(("y", "kept", "small"))))
    check_same(made, rest, keep=("y", "kept", "small"))
    return after.body != made.body, "x" not in all_writes(rest.body)


def test_elements_brought_back_downwards() -> None:
    assert redirected(BACK, USE) == (True, True)


def test_what_the_next_iteration_reads_is_still_brought_back() -> None:
    assert redirected(BACK, USE, down=False) == (True, False)


def test_other_names_and_other_starts() -> None:
    """The same points, counted otherwise."""
    q = ix("q") - 2
    other = mapped([span("q", S * W + 2, S * W + W + 2)], store("y", [K, q], mul(load("x", K, q), num(3.0))))
    assert redirected(BACK, other) == (True, True)


def test_fewer_points_than_were_brought_back() -> None:
    assert redirected(BACK, mapped([span("j", S * W, S * W + W - 1)], *USE.body)) == (True, True)


def test_statements_in_between() -> None:
    between = mapped([LANES], store("y", [K - 1, J], num(2.0)))
    assert redirected(BACK, between, If(compare("gt", load("kept", 0, 0), num(0.0)), (between,), ()), USE)[0]


@pytest.mark.parametrize("body", [
    (BACK, mapped([LANES], store("x", [K, J], num(1.0))), USE),
    (BACK, mapped([LANES], store("kept", [K - 1, J], num(1.0))), USE),
    (BACK, mapped([LANES], store("x", [K, J], mul(load("x", K, J), num(2.0))))),
    (BACK, Loop(span("m", 2), (mapped([LANES], store("kept", [K - 1, J], num(1.0))),)), USE),
    (BACK, mapped([LANES], store("y", [K, J], load("x", K - 1, J), "+"))),
    (mapped([LANES], store("x", [K, J], load("kept", K - 1, J), "+")), USE),
    (mapped([LANES], store("x", [K, J], mul(load("kept", K - 1, J), num(1.0)))), USE),
    (mapped([LANES], store("x", [K, S * W], load("kept", K - 1, J))), mapped(
        [LANES], store("y", [K, J], load("x", K, S * W)))),
    (mapped([LANES], store("x", [K, J], load("turned", J, K))), USE),
    (mapped([LANES], store("small", [K, J], load("kept", K, J))), mapped(
        [LANES], store("y", [K, J], load("small", K, J, dtype=F4)))),
], ids=["written again", "source written", "in place", "source written in a loop", "other elements", "a sum",
        "a product", "one place", "far apart", "rounded"])
def test_what_may_differ_is_not_touched(body: tuple[Map, ...]) -> None:
    assert not redirected(*body)[0]


def test_only_in_parallel_loops() -> None:
    assert not redirected(BACK, USE, parallel=False)[0]
