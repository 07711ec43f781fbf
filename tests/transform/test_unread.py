"""Stores that nobody reads afterwards go; what another iteration, a result or the map itself may read stays."""
from __future__ import annotations

from collections.abc import Iterable

from sdfgad.ir.index import ix
from sdfgad.ir.program import Block, If, Loop, Program, Stmt
from sdfgad.transform.dropping.dead import remove_dead_code
from tests.codegen.build_programs import F8, add, compare, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

I, K = ix("i"), ix("k")
ALL = span("i", 6)
SHAPE = ((6,), F8)


def pruned(*body: Stmt, keep: Iterable[str] = ("y",)) -> Block:
    """What is left of a program of vectors x and y, and scalars s."""
    made: Program = program(body, {"x": SHAPE, "y": SHAPE}, {"t": SHAPE, "s": ((), F8)})
    after = remove_dead_code(made.but(live_out=frozenset(keep)))
    check_same(made, after, keep=tuple(keep))
    return after.body


READ = mapped([ALL], store("y", (I,), mul(load("x", I), num(2.0))))
CHANGE = mapped([ALL], store("x", (I,), num(1.0)))
ADD = mapped([ALL], store("x", (I,), load("y", I), "+"))


def test_a_change_that_nobody_sees_goes() -> None:
    assert pruned(READ, CHANGE) == (READ,)


def test_what_only_it_needed_goes_as_well() -> None:
    fill = mapped([ALL], store("t", (I,), load("y", I)))
    use = mapped([ALL], store("x", (I,), load("t", I), "+"))
    assert pruned(READ, fill, use) == (READ,)


def test_a_change_before_a_read_stays() -> None:
    assert pruned(CHANGE, READ, ADD) == (CHANGE, READ)


def test_results_stay() -> None:
    assert pruned(READ, CHANGE, keep=("x", "y")) == (READ, CHANGE)


def test_the_next_iteration_reads() -> None:
    loop = Loop(span("k", 3), (READ, ADD))
    assert pruned(loop) == (loop,)


def test_a_loop_without_effect_goes() -> None:
    assert pruned(READ, Loop(span("k", 3), (CHANGE,))) == (READ,)


def test_branches_lose_their_own() -> None:
    cond = compare("gt", load("y", 0), num(0.0))
    made = pruned(READ, If(cond, (CHANGE, mapped([ALL], store("y", (I,), num(3.0)))), (ADD,)))
    assert made == (READ, If(cond, (mapped([ALL], store("y", (I,), num(3.0))),), ()))


def test_one_of_two_stores_goes() -> None:
    both = mapped([ALL], store("y", (I,), num(2.0)), store("x", (I,), num(1.0)))
    assert pruned(both) == (mapped([ALL], store("y", (I,), num(2.0))),)


def test_a_map_that_reads_what_it_stores_stays_whole() -> None:
    both = mapped([ALL], store("x", (I,), num(2.0)), store("y", (I,), add(load("x", I), num(1.0))))
    assert pruned(both) == (both,)
