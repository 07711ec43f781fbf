"""Rows that add to each other's cells run one after the other; all other meetings keep them together."""
from __future__ import annotations

from collections.abc import Iterable

import pytest

from sdfgad.codegen.cpu.schedule.rows.rows import split_rows
from sdfgad.codegen.cpu.schedule.rows.rows_in_turn import rows_in_turn
from sdfgad.ir.expr import Expr
from sdfgad.ir.index import ix
from sdfgad.ir.program import Block, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import statements
from sdfgad.thresholds import RowLimits
from tests.codegen.build_programs import F8, add, agree, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

SMALL = RowLimits(reuse=1, work=1, nearby=6000, trips=4, fewest=2)
ROWS, COLUMNS, STEPS = 12, 32, 9
I, J, K = ix("i"), ix("j"), ix("k")
ROW, COLUMN = span("i", ROWS), span("j", COLUMNS)


def collected(target: Expr | None = None) -> Block:
    """What `sweep` makes of one step, collected from neighbouring rows: a core and both ends."""
    here, before = mul(load("p", I, J, K), num(0.5)), mul(load("t", I - 1, J), num(0.25))
    return (mapped([span("i", 1, ROWS), COLUMN], store("y", (I, J, K), add(here, before), "+")),
            mapped([span("i", 0, 1), COLUMN], store("y", (I, J, K), here, "+")),
            mapped([span("i", ROWS, ROWS + 1), COLUMN], store("y", (I, J, K), before, "+")))


def sweep(*inside: Stmt, ahead: Block | None = None) -> Program:
    """A recurrence along k whose steps add to cells of their row and of the next one."""
    clear = mapped([span("i", ROWS + 1), COLUMN, span("k", STEPS)], store("y", (I, J, K), num(0.0)))
    body = (*((clear,) if ahead is None else ahead),
            mapped([ROW, COLUMN], store("p", (I, J, 0), num(1.0))),
            Loop(span("k", 1, STEPS), (
                mapped([ROW, COLUMN], store("t", (I, J), mul(load("p", I, J, K - 1), load("x", I, J, K)))),
                mapped([ROW, COLUMN], store("p", (I, J, K), add(load("t", I, J), load("p", I, J, K - 1)))),
                *(inside or collected()))))
    shape = (ROWS, COLUMNS, STEPS)
    return program(body, {"x": (shape, F8), "y": ((ROWS + 1, *shape[1:]), F8)},
                   {"t": (shape[:2], F8), "p": (shape, F8)})


def split(before: Program, keep: Iterable[str] = ("y",)) -> Program:
    """The program taken apart, which computes the same but for the order of sums."""
    after = split_rows(before, keep, SMALL)
    check_same(before, after, tolerance=1e-13)
    return after


def turns(made: Program) -> list[Loop]:
    """The loops over rows in turn."""
    return [s for p in statements(made.body) if isinstance(p, Loop) and p.parallel
            for s in p.body if isinstance(s, Loop) and s.range.var.startswith("row")]


def test_rows_that_meet_in_sums_come_one_after_the_other() -> None:
    made = split(sweep())
    turn, = turns(made)
    assert turn.range.trips == ROWS
    assert not turn.parallel


def test_what_lives_in_a_row_is_private_and_neighbours_of_a_strip_lie_side_by_side() -> None:
    made = split(sweep())
    assert made.arrays["t"].shape == (8,)
    assert made.arrays["p"].shape == (STEPS, 8)


def test_ends_of_a_collection_join_its_core() -> None:
    inner, = (s for s in statements(turns(split(sweep()))[0].body) if isinstance(s, Loop))
    added = [p for s in inner.body if isinstance(s, Map) for p in s.body if isinstance(p, Store) and p.array == "y"]
    assert len(added) == 2
    assert all(len(s.domain) == 1 for s in inner.body if isinstance(s, Map))


def test_compiled_code_agrees() -> None:
    agree(split(sweep()))


@pytest.mark.parametrize(("name", "inside"), [
    ("rows read what others write", (
        *collected(), mapped([span("i", 1, ROWS), COLUMN], store("p", (I, J, K), load("t", I - 1, J), "+")))),
    ("somebody looks at the sums", (
        *collected(), mapped([ROW, COLUMN], store("p", (I, J, K), load("y", I, J, K), "+")))),
    ("the sums are scaled in between", (
        *collected(), mapped([ROW, COLUMN], store("y", (I, J, K), num(0.5), "*")))),
    ("the target is overwritten in the loop", (
        mapped([ROW, COLUMN], store("y", (I, J, K), num(1.0))), *collected())),
    ("a product of two rows", (
        mapped([span("i", 1, ROWS), COLUMN], store("y", (I, J, K), mul(load("t", I, J), load("t", I - 1, J)), "+")),
        *collected())),
], ids=lambda v: v if isinstance(v, str) else "")
def test_other_meetings_keep_rows_together(name: str, inside: Block) -> None:
    assert not turns(split(sweep(*inside)))


def test_a_row_that_reads_another_one_rules_out_any_order() -> None:
    """Whether or not the rows would fit into the cache. Columns do not read each other."""
    def ways(made: Program) -> set[int]:
        return {found.rows.places["p"][0] for found in rows_in_turn(made.body, made.arrays)}

    read = mapped([span("i", 1, ROWS), COLUMN], store("p", (I, J, K), load("t", I - 1, J), "+"))
    assert ways(sweep()) == {0, 1}
    assert ways(sweep(*collected(), read)) == {1}


def test_what_replaces_the_sums_afterwards_is_no_first_value() -> None:
    made = sweep()
    last = mapped([span("i", 3), COLUMN], store("y", (I, J, 0), num(7.0)))
    assert not turns(split(made.but(body=(*made.body, last))))


def test_a_value_that_depends_on_the_run_is_no_first_one() -> None:
    late = mapped([ROW, COLUMN], store("y", (I, J, 0), load("p", I, J, 0)))
    made = sweep()
    assert not turns(split(made.but(body=(*made.body[:2], late, *made.body[2:]))))


def test_what_is_assigned_as_a_sum_of_rows_is_cleared_first() -> None:
    """What comes before a row of its own is the clearing; both terms are added where they belong."""
    made = sweep(ahead=())
    here, before = load("p", I, J, 0), load("p", I - 1, J, 0)
    first = (mapped([span("i", 1, ROWS), COLUMN], store("y", (I, J, 0), add(here, before))),
             mapped([span("i", 0, 1), COLUMN], store("y", (I, J, 0), here, "+")),
             mapped([span("i", ROWS, ROWS + 1), COLUMN], store("y", (I, J, 0), before, "+")))
    turn, = turns(split(made.but(body=(made.body[0], *first, made.body[1]))))
    assert all(p.op == "+" for s in statements(turn.body) if isinstance(s, Map)
               for p in s.body if isinstance(p, Store) and p.array == "y")
