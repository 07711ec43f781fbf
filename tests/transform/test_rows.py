"""Rows are taken apart only where they never meet, and what becomes private leaks nothing."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.rows.rows import split_rows
from sdfgad.codegen.program import compile_program
from sdfgad.ir import interpret
from sdfgad.ir.expr import call
from sdfgad.ir.index import ix
from sdfgad.ir.program import Block, Loop, Map, Program
from sdfgad.ir.text import program_text
from sdfgad.ir.walk import statements
from sdfgad.thresholds import LineLimits, RowLimits, changed
from tests.codegen.build_programs import F8, add, agree, load, mapped, mul, num, program, sample, span, store
from tests.support.oracle import check_same
from tests.support.thresholds import change

EAGER = RowLimits(reuse=1, work=1, nearby=1 << 16, trips=4, fewest=2)
STRIPS = RowLimits(reuse=1, work=1, nearby=1 << 9, trips=4, fewest=2, narrow=64)
Shapes = Mapping[str, tuple[int, ...]]
I, J, K = ix("i"), ix("j"), ix("k")


def build(body: Block, arguments: Shapes, transients: Shapes) -> Program:
    return program(body, {n: (s, F8) for n, s in arguments.items()}, {n: (s, F8) for n, s in transients.items()})


def split(before: Program, limits: RowLimits = EAGER, keep: Iterable[str] = ()) -> Program:
    """The program taken apart, which computes the same to the last bit."""
    after = split_rows(before, keep, limits)
    check_same(before, after)
    return after


def parallel(made: Program) -> list[Loop]:
    return [s for s in statements(made.body) if isinstance(s, Loop) and s.parallel]


def private(made: Program) -> set[str]:
    return {n for s in parallel(made) for n in s.private}


ROW, COLUMN = span("i", 24), span("j", 32)


def normalise() -> Program:
    """Every row divided by its sum, by way of temporaries."""
    return build((
        mapped([ROW], store("total", (I,), num(0.0))),
        mapped([ROW, COLUMN], store("squares", (I, J), mul(load("x", I, J), load("x", I, J)))),
        mapped([ROW, COLUMN], store("total", (I,), load("squares", I, J), "+")),
        mapped([ROW, COLUMN], store("y", (I, J), call("div", load("squares", I, J), load("total", I)))),
    ), {"x": (24, 32), "y": (24, 32)}, {"total": (24,), "squares": (24, 32)})


def sweep(shift: int = 0) -> Program:
    """A recurrence along columns; with a shift it reads another row."""
    return build((
        mapped([ROW], store("p", (I, 0), num(1.0))),
        Loop(span("k", 1, 16), (
            mapped([ROW], store("t", (I,), mul(load("p", I, K - 1), load("x", I, K)))),
            mapped([ROW], store("p", (I + shift, K), add(load("t", I), load("p", I, K - 1)))),
        )),
    ), {"x": (24, 16), "p": (24 + shift, 16)}, {"t": (24,)})


LARGE = RowLimits(reuse=1, work=1, nearby=1 << 9, trips=4, fewest=2, private=64, far=1 << 9, alone=16)
"""For which a row of `normalise` is much work, and its temporaries too much for a thread or, all together, a cache."""


def test_rows_of_much_work_come_one_after_the_other_and_share_their_temporaries() -> None:
    made = split(normalise(), LARGE)
    assert [(s.parallel, s.range.trips) for s in made.body if isinstance(s, Loop)] == [(False, 24)]
    assert (made.arrays["total"].shape, made.arrays["squares"].shape) == ((), (32,))
    for limits in (replace(LARGE, private=1 << 9), replace(LARGE, far=1 << 20), replace(LARGE, alone=64)):
        assert split(normalise(), limits).body != made.body
        assert parallel(split(normalise(), limits))


def test_rows_of_much_work_leave_alone_what_is_seen_elsewhere() -> None:
    kept = split(normalise(), replace(LARGE, private=4, far=1), keep=("squares",))
    assert kept.arrays["squares"].shape == (24, 32)


def test_temporaries_become_private_to_a_row() -> None:
    made = split(normalise())
    assert len(parallel(made)) == 1
    assert private(made) == {"total", "squares"}
    assert (made.arrays["total"].shape, made.arrays["squares"].shape) == ((), (32,))


def test_what_somebody_keeps_stays_whole() -> None:
    made = split(normalise(), keep=("squares",))
    assert made.arrays["squares"].shape == (24, 32)
    assert private(made) == {"total"}


def test_private_arrays_fit_into_the_room_of_a_thread() -> None:
    made = split(normalise(), RowLimits(reuse=1, work=1, nearby=1 << 16, trips=4, fewest=2, private=64))
    assert private(made) == {"total"}


def test_private_arrays_fit_on_the_stacks_that_threads_of_others_have() -> None:
    """Half a megabyte where threads are not the first one, on some systems, for all that a call puts there."""
    assert RowLimits().stack + LineLimits().stack <= 1 << 18


def test_records_of_a_strip_that_fill_half_a_cache_of_usual_size_are_private() -> None:
    """Thirty records of a limiter for eight columns: out of memory they would come a line at a time."""
    points, at_t = (span("i", 199), span("j", 200)), load("t", "k", I, J)
    before = build((
        Loop(span("k", 30), (mapped(points, store("t", ("k", I, J), mul(load("x", I + 1, J), load("x", I, J)))),
                             mapped(points, store("x", (I + 1, J), at_t, "+")))),
        Loop(span("k", 29, -1, step=-1), (mapped(points, store("y", (I, J), at_t, "+")),)),
    ), {"x": (200, 200), "y": (200, 200)}, {"t": (30, 199, 200)})
    made = split_rows(before, ("x", "y"), replace(STRIPS, stream=64))
    assert private(made) == {"t"} and made.arrays["t"].shape == (30, 199, 8)


def test_strips_are_as_narrow_as_their_records_have_room() -> None:
    """All that a recurrence of 16 steps makes: 64 columns of it are too much for a thread, 32 are not."""
    points, at_t = (span("j", 256),), load("t", "k", J)
    before = build((
        Loop(span("k", 16), (mapped(points, store("t", ("k", J), mul(load("x", J), load("x", J)))),
                             mapped(points, store("x", (J,), at_t, "+")))),
        Loop(span("k", 15, -1, step=-1), (mapped(points, store("y", (J,), at_t, "+")),)),
    ), {"x": (256,), "y": (256,)}, {"t": (16, 256)})
    wide = replace(STRIPS, nearby=1 << 11)
    assert split(before, wide).arrays["t"].shape == (16, 64)
    made = split(before, replace(wide, private=16 * 32 * 8))
    assert private(made) == {"t"} and made.arrays["t"].shape == (16, 32)
    with changed(jammed_bytes=16 * 16 * 8):
        made = split(before, wide)
    assert private(made) == {"t"} and made.arrays["t"].shape == (16, 16), "the way back finds them in the nearest cache"


def test_a_recurrence_runs_in_strips_of_rows() -> None:
    made = split(sweep())
    assert [s.range.trips for s in parallel(made)] == [3]
    assert made.arrays["t"].shape == (8,)


@pytest.mark.parametrize(("apart", "strips"), [(True, [2]), (False, [])])
def test_the_last_strip_may_be_a_part_of_one(apart: bool, strips: list[int]) -> None:
    """Twelve rows for two threads: eight and four of them, but not of rows that lie side by side."""
    place = (lambda k: (I, k)) if apart else (lambda k: (k, I))
    rows, shape = span("i", 12), (12, 16) if apart else (16, 12)
    before = build((mapped([rows], store("p", place(ix(0)), num(1.0))), Loop(span("k", 1, 16), (
        mapped([rows], store("p", place(K), mul(load("p", *place(K - 1)), load("x", *place(K))))),))),
        {"x": shape, "p": shape}, {})
    assert [s.range.trips for s in parallel(split(before, EAGER))] == strips


def test_strips_that_fit_nowhere_take_some_lines_of_each_row() -> None:
    """Down the rows of a matrix: each of them lies on a page of its own."""
    down = Loop(span("k", 1, 16), (
        mapped([span("i", 256)], store("p", (K, I), mul(load("p", K - 1, I), load("x", K, I)))),))
    whole = mapped([span("k", 16), span("i", 256)], store("p", (K, I), num(1.0)))
    made = split(build((whole, down), {"x": (16, 256), "p": (16, 256)}, {}), STRIPS)
    assert [s.range.trips for s in parallel(made)] == [256 // 32]


@pytest.mark.parametrize(("narrow", "far", "strips"), [(64, 1 << 21, [8]), (512, 1 << 21, []), (512, 1 << 10, [8])])
def test_narrow_strips_of_what_lies_well_are_not_worth_their_ends(narrow: int, far: int, strips: list[int]) -> None:
    down = Loop(span("k", 1, 16), (
        mapped([span("i", 256)], store("p", (K, I), mul(load("p", K - 1, I), load("x", K, I)))),))
    whole = mapped([span("k", 16), span("i", 256)], store("p", (K, I), num(1.0)))
    before = build((whole, down), {"x": (16, 256), "p": (16, 256)}, {})
    made = split(before, replace(STRIPS, narrow=narrow, far=far))
    assert [s.range.trips for s in parallel(made)] == strips


def test_rows_that_read_each_other_stay() -> None:
    assert not parallel(split(sweep(shift=1)))


def test_a_stencil_stays() -> None:
    inside = span("i", 1, 23)
    body = Loop(span("k", 0, 4), (
        mapped([inside], store("t", (I,), add(load("x", I - 1), load("x", I + 1)))),
        mapped([inside], store("x", (I,), load("t", I)))))
    assert not parallel(split(build((body,), {"x": (24,)}, {"t": (24,)})))


def test_a_sum_over_rows_ends_the_run() -> None:
    first = normalise()
    over = mapped([ROW, COLUMN], store("s", (J,), load("y", I, J), "+"))
    made = split(build((*first.body, over), {"x": (24, 32), "y": (24, 32), "s": (32,)},
                       {"total": (24,), "squares": (24, 32)}))
    assert over in made.body
    assert private(made) == {"total", "squares"}


def test_offsets_and_differing_spans() -> None:
    """Rows of y are counted from one, and only part of them is scaled."""
    body = (mapped([ROW, COLUMN], store("t", (I, J), mul(load("x", I, J), num(2.0)))),
            mapped([ROW, COLUMN], store("y", (I + 1, J), load("t", I, J))),
            mapped([span("i", 3, 20), COLUMN], store("y", (I, J), add(load("t", I - 1, J), load("y", I, J)))))
    made = split(build(body, {"x": (24, 32), "y": (25, 32)}, {"t": (24, 32)}))
    assert private(made) == {"t"}


def test_a_temporary_that_outlives_an_iteration_is_not_private() -> None:
    """`t` hands a value from one iteration of the time loop to the next."""
    body = Loop(span("k", 0, 3), (
        mapped([ROW, COLUMN], store("y", (I, J), load("t", I, J), "+")),
        mapped([ROW, COLUMN], store("t", (I, J), load("y", I, J)))))
    start = mapped([ROW, COLUMN], store("t", (I, J), num(1.0)))
    other = mapped([], store("s", (), num(1.0)))
    made = split(build((start, other, body), {"y": (24, 32), "s": ()}, {"t": (24, 32)}))
    assert parallel(made)
    assert not private(made)


def twice(*last: Map) -> Program:
    """Two recurrences by way of the same temporary, a slice for each step, apart from each other."""
    def run(target: str, source: str) -> Loop:
        return Loop(span("k", 1, 16), (
            mapped([ROW], store("t", (K, I), mul(load(target, I, K - 1), load(source, I, K)))),
            mapped([ROW], store(target, (I, K), add(load("t", K, I), load(target, I, K - 1))))))

    between = mapped([], store("s", (), num(1.0)))
    return build((run("p", "x"), between, run("q", "p"), *last), {**dict.fromkeys("xpq", (24, 16)), "s": ()},
                 {"t": (16, 24)})


def test_a_temporary_is_private_where_nobody_else_sees_its_values() -> None:
    made = split(twice())
    assert len(parallel(made)) == 2
    assert {made.arrays[n].shape for n in private(made)} == {(16, 8)}
    assert len(private(made)) == 2


def test_a_temporary_is_not_private_where_it_is_looked_at_later() -> None:
    made = split(twice(mapped([], store("s", (), load("t", 3, 5)))))
    assert [len(s.private) for s in parallel(made)] == [1, 0]


def test_a_temporary_that_holds_what_was_there_before_is_not_private() -> None:
    """Of the second run only some steps make their slices."""
    first, between, second = twice().body
    assert isinstance(second, Loop)
    fewer = replace(second, body=(replace(second.body[0], domain=(span("i", 23),)), second.body[1]))
    made = split(build((first, between, fewer), {**dict.fromkeys("xpq", (24, 16)), "s": ()}, {"t": (16, 24)}))
    assert parallel(made) and not private(made)


def test_private_arrays_hold_nothing_at_the_start() -> None:
    """The interpreter notices a value carried from row to row."""
    leak = Loop(span("i", 4), (mapped([], store("y", (I,), load("t"))), mapped([], store("t", (), num(1.0)))),
                parallel=True, private=("t",))
    memory = {"y": np.zeros(4)}
    interpret.run(build((leak,), {"y": (4,)}, {"t": ()}), memory)
    assert np.isnan(memory["y"]).all()


@pytest.mark.parametrize("before", [normalise(), sweep()], ids=["normalise", "sweep"])
@pytest.mark.parametrize("limits", [EAGER, STRIPS], ids=["rows", "strips"])
@pytest.mark.parametrize("least", [1, 1 << 30], ids=["kernel", "alone"])
def test_compiled(before: Program, limits: RowLimits, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, parallel_work=least)
    executable = compile_program(split(before, limits))
    values = {n: sample(before.arrays[n], k) for k, n in enumerate(before.arguments)}
    expected = {n: v.copy() for n, v in values.items()}
    interpret.run(before, expected)
    for threads in (1, 2, 4):
        actual = {n: v.copy() for n, v in values.items()}
        executable.threads = threads
        executable(actual)
        for name, value in expected.items():
            np.testing.assert_allclose(actual[name], value, rtol=1e-13)


@pytest.mark.parametrize("far", [1 << 10, 1 << 20])
def test_rows_that_all_go_through_the_same_data_stay(far: int) -> None:
    """More data than a cache holds is taken a part at a time for all rows, which one row after the other cannot."""
    before = build((
        mapped([ROW], store("t", (I,), mul(num(2.0), load("p", I)))),
        mapped([ROW, span("j", 256)], store("y", (I,), mul(load("x", J), load("t", I)), "+")),
    ), {"x": (256,), "p": (24,), "y": (24,)}, {"t": (24,)})
    assert len(parallel(split(before, replace(EAGER, far=far)))) == (far > 256 * 8)


@pytest.mark.parametrize("nearby", [1 << 10, 1 << 20])
def test_rows_that_share_their_cache_lines_stay(nearby: int) -> None:
    """Channels of an image that lie side by side, each with products that run along it: more than a cache holds."""
    pixel, channel, other = span("i", 64), span("k", 16), span("j", 64)
    before = build((
        mapped([pixel, channel, other], store("t", (I, K), mul(load("w", K, J), load("x", I, J)), "+")),
        mapped([pixel, channel], store("y", (I, K), mul(load("t", I, K), load("t", I, K)))),
        mapped([channel, pixel], store("s", (K,), load("y", I, K), "+")),
    ), {"x": (64, 64), "w": (16, 64), "t": (64, 16), "y": (64, 16), "s": (16,)}, {})
    made = split(before, replace(EAGER, nearby=nearby))
    assert parallel(made)[0].range.trips == (16 if nearby > 1 << 10 else 64)


def steps_of_strips(points: int) -> Program:
    """Records of four steps of 3 x `points` numbers, read backwards; columns never meet."""
    here, t = [span("c", 3), span("j", points)], ix("t")
    c = ix("c")
    forth = Loop(span("t", 4), (
        mapped(here, store("tape", (t, c, J), load("x", c, J))),
        mapped(here, store("x", (c, J), mul(load("x", c, J), load("tape", t, ix(1), J))))))
    back = Loop(span("t", 4), (mapped(here, store("x", (c, J), mul(load("x", c, J), load("tape", ix(3) - t, c, J)))),))
    return build((forth, back), {"x": (3, points)}, {"tape": (4, 3, points)})


@pytest.mark.parametrize(("points", "apart"), [(64, True), (61, True), (36, False)],
                         ids=["whole strips", "a part of one", "too little of one"])
def test_strips_have_their_records_in_one_piece(points: int, apart: bool) -> None:
    limits = replace(STRIPS, private=1 << 9)
    made = split(steps_of_strips(points), limits)
    assert parallel(made), program_text(made)
    assert (len(made.arrays["tape"].shape) == 4) == apart, program_text(made)
    agree(made)
