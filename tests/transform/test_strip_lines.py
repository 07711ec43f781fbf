"""Lines of a strip lie side by side while the strip works on them, and nothing else is loaded, kept or written back."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.rows.strip_lines import pack_strips
from sdfgad.ir.index import Ix, ix, minimum
from sdfgad.ir.program import Array, Loop, Map, Program, Range, Stmt
from sdfgad.ir.walk import statements
from sdfgad.thresholds import LineLimits
from tests.support.build import F8, at, each, lit, loop, one, put, span, when
from tests.support.oracle import check_same

I, N, K, W = 3, 16, 9, 4
S, LOW = ix("s"), ix("s") * W
LANES = span("j", LOW, LOW + W)
J, T = ix("j"), ix("t")
UP, DOWN, ALL = span("t", 1, K), span("t", K - 2, -1, step=-1), span("d", 0, K)
LINES = {"x": (N, K), "y": (N, K), "z": (N, K + 1), "u": (I, N, K), "v": (K, N), "w": (N,), "p": (N, N)}


def build(*body: Stmt, strip: Range | None = None, dtype: np.dtype = F8) -> Program:
    outer = Loop(strip or span("s", 0, N // W), body, parallel=True)
    arrays = {n: Array(n, shape, dtype, "argument") for n, shape in LINES.items()}
    return Program("p", arrays, tuple(LINES), (outer,))


def lines(*body: Stmt, strip: Range | None = None, limits: LineLimits | None = None) -> set[str]:
    """The lines that the pass makes; what the program leaves stays the same, to the bit."""
    before = build(*body, strip=strip)
    after = pack_strips(before, limits)
    check_same(before, after, tolerance=0.0)
    return set(after.arrays) - set(before.arrays)


def copies(*body: Stmt) -> int:
    """Maps that the pass adds."""
    before = build(*body)
    after = pack_strips(before)
    check_same(before, after)
    return sum(isinstance(s, Map) for s in statements(after.body)) - sum(isinstance(s, Map) for s in
                                                                           statements(before.body))


def step(target: str, index: tuple[Ix | int, ...], value: object, op: str | None = None, lanes: Range = LANES) -> Map:
    return each(lanes, put(target, index, value, op))  # type: ignore[arg-type]


SOLVE = loop(UP, step("y", (J, T), at("x", J, T) * at("y", J, T - 1) + at("x", J, T - 1), "+"))
CLEAR = each((LANES, ALL), put("y", (J, "d"), lit(0.0)))


def test_what_is_read_is_copied_in_and_what_is_written_out_as_well():
    assert lines(SOLVE) == {"x_line", "y_line"}
    assert copies(SOLVE) == 3


def test_backwards():
    assert lines(loop(DOWN, step("y", (J, T), at("x", J, T) * at("y", J, T + 1) * at("x", J, T + 1), "+"))) \
        == {"x_line", "y_line"}


def test_the_lines_belong_to_the_loop():
    made = pack_strips(build(SOLVE)).body[0]
    assert isinstance(made, Loop)
    assert set(made.private) == {"x_line", "y_line"}


def test_what_is_assigned_first_is_not_loaded():
    assert copies(CLEAR, SOLVE) == 2
    first = step("y", (J, 0), lit(3.0))
    rest = each((LANES, span("d", 1, K)), put("y", (J, "d"), at("x", J, "d")))
    assert copies(first, rest, SOLVE) == 2


@pytest.mark.parametrize("first", [
    each((LANES, span("d", 0, K - 1)), put("y", (J, "d"), lit(0.0))),
    each((LANES, span("d", 1, K)), put("y", (J, "d"), lit(0.0))),
    each((LANES, span("d", 0, K, step=2)), put("y", (J, "d"), lit(0.0))),
    each((LANES, span("d", 0, 5)), put("y", (J, ix("d") * 2), lit(0.0))),
    each((LANES, ALL), put("y", (J, "d"), lit(0.0), "*")),
    each((LANES, ALL), put("y", (J, "d"), at("y", J, "d") * 2.0)),
], ids=["but the last", "but the first", "every other", "every other place", "update", "reads itself"])
def test_what_is_assigned_in_part_is_loaded(first: Map):
    assert copies(first, SOLVE) == 3


def test_what_is_read_before_it_is_assigned_is_loaded():
    assert copies(step("w", (J,), at("y", J, 3)), CLEAR, SOLVE) == 3


@pytest.mark.parametrize("fill", [
    loop(span("t", 0, K), step("y", (J, T), at("x", J, T))),
    loop(span("t", 1, 1), CLEAR),
], ids=["all of it", "never"])
def test_an_assignment_in_a_loop_counts_for_nothing(fill: Stmt):
    assert copies(fill, SOLVE) == 3


def test_what_nobody_assigns_is_loaded_to_be_written_back():
    some = loop(span("t", 0, K, step=2), step("y", (J, T), at("x", J, T)), step("y", (J, T), at("x", J, T) * 2.0))
    assert "y_line" in lines(some, limits=LineLimits(uses=0.1))


def test_inside_rows_that_come_one_after_the_other():
    def row(i: Ix) -> Stmt:
        return loop(UP, step("u", (i, J, T), at("x", J, T) * at("u", i, J, T - 1), "+"),
                    step("u", (i + 1, J, T), at("x", J, T) * at("u", i, J, T - 1), "+"))

    assert lines(loop(span("i", 0, I - 1), row(ix("i")))) == {"u_line", "u_line_1", "x_line"}


def test_strips_that_do_not_fill_up():
    lanes = span("j", ix("s") * 6, minimum(N, ix("s") * 6 + 6))
    body = loop(UP, step("y", (J, T), at("x", J, T) * at("y", J, T - 1) * at("x", J, T - 1), "+", lanes))
    assert lines(body, strip=span("s", 0, 3)) == {"x_line", "y_line"}


def ahead(by: int, lanes: Range) -> Stmt:
    value = at("x", J + by, T) * at("y", J + by, T - 1) + at("x", J + by, T - 1)
    return loop(UP, step("y", (J + by, T), value, "+", lanes))


BEHIND = span("j", LOW - 1, LOW + W - 1)


@pytest.mark.parametrize("stop", [LOW + W - 1, minimum(N, LOW + W) - 1, minimum(N - 1, LOW + W - 1)])
def test_lanes_that_are_ahead_of_their_variable(stop: Ix):
    lanes = span("j", LOW - 1, stop)
    first = step("y", (J + 1, 0), lit(3.0), None, lanes)
    body = ahead(1, lanes)
    assert lines(first, body) == {"x_line", "y_line"}
    assert copies(each((lanes, ALL), put("y", (J + 1, "d"), lit(0.0))), body) == 2


def test_lanes_of_several_variables():
    body = ahead(1, BEHIND)
    assert lines(CLEAR, body) == {"x_line", "y_line"}
    assert copies(CLEAR, body) == 2


def test_rows_of_strips_start_behind_the_first():
    lanes = span("j", LOW, minimum(N - 2, LOW + W))
    body = ahead(2, lanes)
    assert lines(body) == {"x_line", "y_line"}


def test_rows_read_ahead_by_different_numbers_stay():
    lanes = span("j", LOW, minimum(N - 1, LOW + W))
    body = loop(UP, step("y", (J, T), at("x", J, T) * at("y", J, T - 1) + at("x", J + 1, T), "+", lanes),
                step("y", (J, T), at("x", J + 1, T - 1), "+", lanes))
    assert lines(body) == {"y_line"}


def test_a_row_that_another_strip_writes_stays():
    lanes = span("j", LOW, minimum(N - 1, LOW + W))
    body = loop(UP, step("y", (J, T), at("x", J, T) * at("y", J, T - 1) + at("x", J, T - 1), "+", lanes))
    other = step("w", (J,), at("y", J + 1, 0), None, lanes)
    assert "y_line" not in set(pack_strips(build(other, body)).arrays)


def test_strips_that_overlap_stay():
    lanes = span("j", LOW, LOW + W + 1)
    body = loop(UP, step("y", (J, T), at("x", J, T) * at("x", J, T - 1), None, lanes))
    assert not lines(body, strip=span("s", 0, N // W - 1))


def test_an_empty_strip_stays():
    lanes = span("j", LOW, minimum(N, LOW + W))
    assert not lines(loop(UP, step("y", (J, T), at("x", J, T) * at("x", J, T - 1), None, lanes)),
                     strip=span("s", 0, N // W + 1))


@pytest.mark.parametrize("other", [
    step("w", (J,), at("y", J - LOW, 0)),
    each(span("j", LOW, LOW + W - 1), put("w", ("j",), at("y", J, 0))),
    each(span("j", LOW, LOW + W - 1), put("w", ("j",), at("y", J + 1, 0))),
    one("w", (LOW,), at("y", LOW, 0)),
    when(lit(1.0).compare("lt", at("y", LOW, 0)), (step("w", (J,), lit(1.0)),)),
    when(lit(1.0).compare("lt", at("w", 0)), (step("y", (J, 2), lit(1.0)),)),
    step("w", (J,), at("y", J, J - LOW)),
], ids=["other rows", "some lanes", "moved lanes", "one lane", "condition", "branch", "diagonal"])
def test_what_else_touches_the_array(other: Stmt):
    assert lines(SOLVE, other) == {"x_line"}


def test_a_position_may_change_from_strip_to_strip():
    assert lines(SOLVE, step("w", (J,), at("y", J, S))) == {"x_line", "y_line"}


def test_a_position_that_goes_with_the_lane_stays():
    twice = loop(UP, step("p", (J, T), at("x", J, T) * at("p", J, T - 1), "+"), step("w", (J,), at("p", J, -J + N - 1)))
    assert lines(twice) == {"x_line"}


def test_outer_and_inner_loops_have_lines_of_their_own():
    inner = loop(span("i", 0, I), loop(UP, step("u", (ix("i"), J, T), at("x", J, T) * at("u", ix("i"), J, T - 1), "+")))
    assert lines(inner) == {"x_line", "u_line"}


@pytest.mark.parametrize("other", [
    step("w", (J,), at("y", J - LOW, 0)),
    each(span("k", 0, W), put("w", (LOW + "k",), at("y", ix("k"), 0))),
    step("w", (J,), at("y", J + 1, 0)),
])
def test_rows_of_others_are_looked_at_outside_the_block(other: Stmt):
    inner = loop(span("i", 0, 2), CLEAR, SOLVE)
    before = build(other, inner)
    assert not any(n.startswith("y_line") for n in pack_strips(before).arrays)


def test_two_lines_that_may_be_one_stay():
    twice = loop(span("i", 0, I), loop(UP, step("u", (ix("i"), J, T), at("x", J, T) * at("x", J, T - 1), "+"),
                                       step("u", (2, J, T), at("x", J, T), "+")))
    assert lines(twice) == {"x_line"}


def test_what_lies_side_by_side_stays():
    assert not lines(loop(UP, step("v", (T, J), at("v", T - 1, J) * 2.0, "+")))


def test_positions_that_nobody_knows_to_exist_stay():
    reach = loop(span("i", 0, 3), loop(span("t", 1, ix("i")), step("z", (J, T), at("u", ix("i") - 1, J, T), "+"),
                                       step("z", (J, T), at("u", ix("i") - 1, J, T - 1), "+")))
    assert not any(n.startswith("u_line") for n in lines(reach))


def test_what_is_touched_once_stays():
    assert not lines(loop(UP, step("y", (J, 0), at("x", J, T), "+")), limits=LineLimits(uses=1.1))


def test_room_is_limited():
    assert lines(SOLVE, limits=LineLimits(stack=K * W * 8)) == {"y_line"}
    assert not lines(SOLVE, limits=LineLimits(stack=K * W * 8 - 1))


def test_a_loop_that_is_not_parallel_stays():
    before = build(SOLVE)
    outer = before.body[0]
    assert isinstance(outer, Loop)
    plain = before.but(body=(replace(outer, parallel=False),))
    assert pack_strips(plain) is plain


def test_strips_inside_a_loop():
    """What a serial loop around the strips looks at one row after the other has lines in each iteration."""
    row = loop(UP, step("u", (ix("i"), J, T), at("x", J, T) * at("u", ix("i"), J, T - 1), "+"))
    inside = build(row)
    before = inside.but(body=(loop(span("i", 0, I), *inside.body),))
    after = pack_strips(before)
    check_same(before, after, tolerance=0.0)
    assert set(after.arrays) - set(before.arrays) == {"u_line", "x_line"}


def test_names_of_the_copies_mean_no_other_variable():
    inner = loop(span("c0", 0, I), loop(UP, step("u", (ix("c0"), J, T), at("u", ix("c0"), J, T - 1) * 2.0, "+")))
    assert lines(inner) == {"u_line"}


ROWS = Range("s", ix(0), ix(N))
COLUMN = span("j", 0, K)


def test_rows_with_lanes_of_their_own():
    """One row of a box at a time: its columns are the lanes, and what it has of its own lies that way."""
    sweep = loop(span("t", 1, N), each(COLUMN, put("b", (S, "j", "t"), at("a", S, "j", "t") * at("h", "j", T - 1), "+"),
                                       put("h", ("j", "t"), at("b", S, "j", "t") + at("h", "j", T - 1))))
    first = each((COLUMN, span("d", 0, N)), put("h", ("j", "d"), lit(0.5)))
    shapes = {"a": (N, K, N), "b": (N, K, N), "h": (K, N)}
    arrays = {n: Array(n, s, F8, "transient" if n == "h" else "argument") for n, s in shapes.items()}
    before = Program("p", arrays, ("a", "b"), (Loop(ROWS, (first, sweep), parallel=True, private=("h",)),))
    after = pack_strips(before)
    check_same(before, after, tolerance=0.0)
    assert set(after.arrays) - set(arrays) == {"a_line", "b_line"} and after.arrays["h"].shape == (N, K)


def test_rows_that_others_write_as_well_have_no_lines():
    sums = loop(span("t", 1, N), each(COLUMN, put("p", ("j", "t"), at("u", S, "j", "t"), "+")))
    arrays = {"p": Array("p", (K, N), F8, "argument"), "u": Array("u", (N, K, N), F8, "argument")}
    before = Program("p", arrays, ("p", "u"), (Loop(ROWS, (sums, sums), parallel=True),))
    assert not any(n.startswith("p_line") for n in pack_strips(before).arrays)
