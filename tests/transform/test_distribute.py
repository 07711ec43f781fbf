"""What crosses rows leaves a sweep only when every dependence is kept."""
from __future__ import annotations

from sdfgad.codegen.cpu.schedule.rows.distribute import distribute_sweeps
from sdfgad.ir.index import ix
from sdfgad.ir.program import Loop, Map, Program, Stmt
from tests.codegen.build_programs import F8, add, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

I, J = ix("i"), ix("j")
ROWS, INNER = span("i", 40), span("i", 1, 39)


def build(*body: Stmt) -> Program:
    return program(body, {n: ((40, 100), F8) for n in "pqxy"})


def distributed(before: Program) -> Program:
    """The program after the pass, which computes the same to the last bit."""
    after = distribute_sweeps(before)
    check_same(before, after)
    return after


def sweep(*more: Stmt, up: bool = False) -> Loop:
    """q[:, j - 1] += q[:, j] * x[:, j], from the last column to the first, and what else an iteration does."""
    carry = mapped([ROWS], store("q", (I, J - 1), mul(load("q", I, J), load("x", I, J)), "+"))
    return Loop(span("j", 1, 100) if up else span("j", 99, 0, step=-1), (*more, carry))


STENCIL = mapped([INNER], store("y", (I, J), add(load("q", I - 1, J), load("q", I + 1, J)), "+"))


def test_a_stencil_leaves_the_sweep() -> None:
    body = distributed(build(sweep(STENCIL))).body
    assert [type(s) for s in body] == [Loop, Map]


def test_what_destroys_the_values_follows() -> None:
    """The column is cleared after the stencil has read it."""
    clear = mapped([ROWS], store("q", (I, J), num(0.0)))
    loop = sweep(STENCIL)
    body = distributed(build(Loop(loop.range, (*loop.body, clear)))).body
    assert [type(s) for s in body] == [Loop, Map, Map]


def test_several_stores_of_a_map_are_taken_apart() -> None:
    both = mapped([ROWS], store("q", (I, J - 1), mul(load("q", I, J), load("x", I, J)), "+"),
                  store("q", (I, J), num(0.0)))
    body = distributed(build(Loop(span("j", 99, 0, step=-1), (STENCIL, both)))).body
    assert [type(s) for s in body] == [Loop, Map, Map]


def test_a_circle_stays_together() -> None:
    """The sweep reads what the stencil wrote in the iteration before."""
    carry = mapped([ROWS], store("q", (I, J - 1), mul(load("q", I, J), load("y", I, J)), "+"))
    stencil = mapped([INNER], store("y", (I, J - 1), add(load("q", I - 1, J), load("q", I + 1, J))))
    before = build(Loop(span("j", 99, 0, step=-1), (stencil, carry)))
    assert distributed(before).body == before.body


def test_a_sweep_whose_rows_never_meet_stays_whole() -> None:
    scale = mapped([ROWS], store("y", (I, J), mul(load("q", I, J), load("p", I, J))))
    before = build(sweep(scale))
    assert distributed(before).body == before.body


def test_a_value_read_before_it_is_overwritten_later() -> None:
    """Going upwards, an iteration changes the column the one before has read: the stencil has to come first."""
    body = distributed(build(sweep(mapped([INNER], store("y", (I, J), load("q", I - 1, J - 1), "+")), up=True))).body
    assert not isinstance(body[0], Map) or isinstance(body[-1], Loop)
