"""A sum over everything is no obstacle to rows, and is the same sum."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from sdfgad.codegen.cpu.schedule.rows.row_sums import split_with_sums
from sdfgad.ir.expr import loads
from sdfgad.ir.program import Array, Loop, Map, Program, Stmt, Store
from sdfgad.ir.text import program_text
from sdfgad.ir.walk import all_writes, statements, writes
from sdfgad.thresholds import RowLimits
from tests.codegen.build_programs import agree
from tests.support.build import F8, at, each, one, put, span
from tests.support.oracle import check_same
from tests.transform.test_rows_in_turn import COLUMNS, ROWS, STEPS, sweep, turns
from tests.transform.test_rows_in_turn import SMALL as TURNS

EAGER = RowLimits(reuse=1, work=1, nearby=1 << 16, trips=4, fewest=2)
STRIPS = RowLimits(reuse=1, work=1, nearby=1 << 9, trips=4, fewest=2)
SHAPES = {"x": (24, 32), "y": (24, 32), "v": (), "w": ()}
HELD = {"t": (24, 32), "u": (24, 32)}
ARRAYS = {n: Array(n, s, F8, "argument" if n in SHAPES else "transient") for n, s in (SHAPES | HELD).items()}
BOX = (span("i", 0, 24), span("j", 0, 32))
START = one("v", (), 0.0)
MADE = each(BOX, put("t", ("i", "j"), at("x", "i", "j") * 2.0))
TOTAL = each(BOX, put("v", (), at("t", "i", "j") * at("t", "i", "j"), "+"))
USED = each(BOX, put("y", ("i", "j"), at("t", "i", "j") * at("x", "i", "j")))


def split(*body: Stmt, limits: RowLimits = EAGER) -> Program:
    """The program in rows; it computes the same."""
    before = Program("p", ARRAYS, tuple(SHAPES), tuple(body))
    after = split_with_sums(before.but(live_out=frozenset(())), limits)
    check_same(before, after, tolerance=1e-12)
    return after


def outside(made: Program) -> int:
    """Statements that are not part of rows."""
    return sum(not isinstance(s, Loop) for s in made.body)


def sums(body: Iterable[Stmt]) -> list[str]:
    """The arrays that are added to, in order."""
    parts = [p for s in body if isinstance(s, Map) for p in s.body]
    return [p.array for p in parts if isinstance(p, Store) and p.op]


@pytest.mark.parametrize("limits", [EAGER, STRIPS], ids=["rows", "strips"])
def test_one_pass_makes_sums_and_uses(limits: RowLimits) -> None:
    after = split(MADE, START, TOTAL, USED, limits=limits)
    (loop,) = (s for s in after.body if isinstance(s, Loop))
    assert "t" in loop.private or any("t" in s.private for s in statements(after.body) if isinstance(s, Loop))
    assert outside(after) == 2, program_text(after)
    assert not any(n.startswith("terms") for n in after.arrays)
    assert sums(statements(after.body)).count("v_rows") == 1
    agree(after)


def test_terms_made_by_rows_in_turn_are_summed_there() -> None:
    """Inside the parallel strips there is one more loop, over rows that meet in sums."""
    plain = sweep()
    box = (span("i", 0, ROWS), span("j", 0, COLUMNS), span("k", 0, STEPS))
    arrays = {**plain.arrays, "v": Array("v", (), F8, "argument")}
    total = each(box, put("v", (), at("p", "i", "j", "k") * at("x", "i", "j", "k"), "+"))
    before = plain.but(arrays=arrays, arguments=(*plain.arguments, "v"), body=(START, *plain.body, total))
    after = split_with_sums(before.but(live_out=frozenset(())), TURNS)
    check_same(before, after, tolerance=1e-12)
    assert turns(after) and "v_rows" in sums(statements(after.body))
    agree(after)


def test_along_columns() -> None:
    down = (span("j", 0, 32), span("i", 0, 23))
    carried = each(down, put("t", ("i", "j"), at("t", "i", "j") + at("x", 23, "j")))
    after = split(MADE, carried, START, TOTAL, USED)
    assert sums(statements(after.body)).count("v_rows") == 1
    agree(after)


def test_rows_are_not_summed_across_memory() -> None:
    """What the ranges of a sum are called first says nothing of how its array lies."""
    across = each((span("i", 0, 24), span("k", 0, 24)), put("w", (), at("z", "k", "i"), "+"))
    body = (MADE, START, one("w", (), 0.0), TOTAL, across, USED)
    arrays = {**ARRAYS, "z": Array("z", (24, 24), F8, "argument")}
    before = Program("p", arrays, (*SHAPES, "z"), body).but(live_out=frozenset(()))
    after = split_with_sums(before, EAGER)
    check_same(before, after, tolerance=1e-12)
    rows = {s.range.var for s in statements(after.body) if isinstance(s, Loop)}
    read = {n.index for s in statements(after.body) if isinstance(s, Map) for p in s.body for n in loads(p.expr)
            if n.array == "z"}
    assert rows
    assert not any(index[1].symbols & rows for index in read), program_text(after)


def test_part_of_the_rows() -> None:
    part = each((span("i", 3, 11), span("j", 1, 9)), put("v", (), at("t", "i", "j"), "+"))
    agree(split(MADE, START, part, USED))


def test_several_sums_keep_their_order() -> None:
    more = each(BOX, put("v", (), at("t", "i", "j"), "+"))
    other = each(BOX, put("w", (), at("x", "i", "j"), "+"))
    after = split(MADE, START, TOTAL, USED, more, other)
    assert sums(after.body[-3:]) == ["v", "v", "w"]
    agree(after)


def test_what_is_not_in_rows_stays() -> None:
    body = (START, TOTAL)
    assert split(*body).body == body




def test_somebody_in_the_rows_looks_at_the_sum() -> None:
    """Then the rows end there."""
    after = split(MADE, START, TOTAL, each(BOX, put("y", ("i", "j"), at("t", "i", "j") * at("v"))), USED)
    assert "v_rows" not in sums(statements(after.body))
    agree(after)


@pytest.mark.parametrize("later", [one("w", (), at("v") * 2.0), one("v", (), 1.0)], ids=["read", "set again"])
def test_somebody_looks_at_the_sum_behind_the_rows(later: Stmt) -> None:
    after = split(MADE, START, TOTAL, later, each(BOX, put("y", ("i", "j"), at("t", "i", "j") * at("w"))))
    assert "v_rows" in sums(statements(after.body))
    agree(after)


def test_what_a_sum_comes_to_stands_last() -> None:
    """So that it does not part the rows that make the terms from those that use them."""
    after = split(MADE, START, TOTAL, one("w", (), at("v") / 768.0), USED)
    (loop,) = (s for s in after.body if isinstance(s, Loop))
    assert {"v_rows", "y"} <= all_writes((loop,)) and writes(after.body[-1]) == {"w"}
    agree(after)


def test_a_sum_that_reads_itself() -> None:
    odd = each(BOX, put("v", (), at("t", "i", "j") * 1e-3 + at("w"), "+"))
    start: Sequence[Stmt] = (one("v", (), at("w")), MADE, odd, USED)
    agree(split(*start))


def test_rows_that_leave_the_cache_do_not_become_others() -> None:
    """With the sum they would be rows of all five arrays, without it only those of the last two statements are."""
    narrow = RowLimits(reuse=1, work=1, nearby=1, trips=4, fewest=2)
    after = split(MADE, START, TOTAL, USED, limits=narrow)
    assert "v_rows" not in sums(statements(after.body))


def test_starts_of_sums_stand_first() -> None:
    body = (MADE, one("w", (), 0.0), USED, each(BOX, put("w", (), at("y", "i", "j") * 2.0 + at("v"), "+")))
    after = split(*body)
    assert sums(after.body[:1]) == [] and isinstance(after.body[0], Map) and not after.body[0].domain
