"""Elements that lie apart are read, and added to, as lines of neighbours."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpu.schedule.rows.lines import line_up
from sdfgad.ir.algebra import select
from sdfgad.ir.expr import loads
from sdfgad.ir.index import ix
from sdfgad.ir.program import Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import statements
from tests.codegen.build_programs import F8, add, agree, compare, index, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same
from tests.support.thresholds import change

N, M = 9, 10
POINTS = (span("i", N), span("j", M))
ARRAYS = {"x": ((M, 3), F8), "w": ((N, 3), F8), "y": ((N, M), F8), "z": ((M, 2), F8), "s": ((N, 2), F8),
          "many": ((4, M, 3), F8)}


@pytest.fixture(autouse=True)
def small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, lined_up=1)


def lined(*body: Stmt) -> Program:
    before = program([Loop(span("t", 1, 3), body)], ARRAYS)
    after = line_up(before)
    check_same(before, after, tolerance=1e-13)
    return after


def made(after: Program) -> list[str]:
    """Arrays that were added."""
    return sorted(set(after.arrays) - set(ARRAYS))


def large(after: Program) -> list[Map]:
    return [s for s in statements(after.body) if isinstance(s, Map) and len(s.domain) == 2]


PAIR = add(load("x", "j", 2), load("w", "i", 1))
WRITES = mapped(POINTS, store("y", ("i", "j"), PAIR))


def test_what_every_row_reads_is_brought_together() -> None:
    after = lined(WRITES)
    assert made(after) == ["x_line"]
    (stmt,) = large(after)
    assert {n.array for p in stmt.body for n in loads(p.expr)} == {"x_line", "w"}


def test_native_code() -> None:
    both = mapped(POINTS, store("s", ("i", 0), mul(PAIR, PAIR), "+"), store("z", ("j", 1), mul(PAIR, PAIR), "+"))
    agree(lined(WRITES, both))


def test_statements_share_lines_until_the_array_changes() -> None:
    assert made(lined(WRITES, WRITES)) == ["x_line"]
    change = mapped((span("j", M),), store("x", ("j", 2), num(3.0)))
    assert made(lined(WRITES, change, WRITES)) == ["x_line", "x_line_1"]


def test_sums_that_lie_apart_are_added_up_side_by_side() -> None:
    after = lined(mapped(POINTS, store("s", ("i", 0), PAIR, "+"), store("z", ("j", 1), mul(PAIR, PAIR), "+")))
    assert made(after) == ["x_line", "z_sums"]
    (stmt,) = large(after)
    assert {p.array for p in stmt.body if isinstance(p, Store)} == {"s", "z_sums"}


def test_lines_of_one_iteration_of_a_loop() -> None:
    assert made(lined(mapped(POINTS, store("y", ("i", "j"), load("many", "t", "j", 1))))) == ["many_line"]


def test_ranges_that_move_with_the_row() -> None:
    after = lined(mapped((span("i", N), span("j", ix("i") + 1, M)), store("y", ("i", "j"), PAIR)))
    assert made(after) == ["x_line"]
    assert after.arrays["x_line"].shape == (M - 1,)


@pytest.mark.parametrize("stmt", [
    pytest.param(mapped(POINTS, store("y", ("i", "j"), PAIR), store("x", ("j", 0), PAIR, "+")),
                 id="the map changes what it reads"),
    pytest.param(mapped((span("i", 3), span("j", M)), store("y", ("i", "j"), load("x", "j", 2))), id="few rows"),
    pytest.param(mapped(POINTS, store("many", (1, "j", 0), load("y", "i", "j"), "+"),
                        store("many", (1, "j", 1), load("y", "i", "j"), "+")), id="two sums in one array"),
    pytest.param(mapped(POINTS, store("z", ("j", 1), mul(load("z", "j", 0), load("y", "i", "j")), "+")),
                 id="sums that are read"),
])
def test_left_alone(stmt: Map) -> None:
    assert made(lined(stmt)) == []


def test_no_line_reaches_out_of_an_array() -> None:
    """Where a condition guards an access, not every element of the line exists."""
    shifted = load("x", ix("j") - 1, 2)
    inside = select(compare("gt", index("j"), index(0)), shifted, num(0.0))
    assert made(lined(mapped(POINTS, store("y", ("i", "j"), inside)))) == []
