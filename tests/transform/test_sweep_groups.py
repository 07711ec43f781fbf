"""Groups of sweeps at the same time: each as far as the one before lets it, and no further."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.codegen.cpu.schedule.recurrences import skew_and_jam as module
from sdfgad.codegen.cpu.schedule.recurrences.skew_and_jam import skew_and_jam
from sdfgad.codegen.program import compile_program
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Loop, Program, Range, Stmt
from sdfgad.ir.walk import rebuild, rename_symbols, statements
from tests.support.build import F8, at, each, loop, one, position, put, span, when
from tests.support.oracle import check_same, sample
from tests.support.thresholds import change

WIDE, M = 40, 11
I, J = ix("i"), ix("j")
OWN = {"r": (M,), "v": ()}
LONG, COLUMNS = span("i", 2, WIDE - 2), span("j", 1, M)
SMOOTH = one("x", (I, J), at("x", I, J - 1) / 3.0 + (at("x", I - 1, J) + at("x", I + 1, J)) * 0.3)


def wide(row: tuple[Stmt, ...], count: int = 19, rows: Range = LONG, step: int = 1) -> Program:
    """Sweeps over rows, many enough for several blocks of them."""
    arrays = {n: Array(n, (WIDE, M), F8, "argument") for n in "xy"} | {n: Array(n, s, F8) for n, s in OWN.items()}
    return Program("p", arrays, ("x", "y"), (loop(span("t", 1, 1 + count * step, step), loop(rows, *row)),))


def hurried(block: Block) -> Block:
    """The block with every iteration of its parallel loops as far as it may be, and each before the one it follows."""
    def change(stmt: Stmt) -> Block:
        if not isinstance(stmt, Loop) or not stmt.parallel:
            return (stmt,)
        inner, group = stmt.body[0], stmt.range
        assert isinstance(inner, Loop) and inner.behind is not None and inner.behind.number == ix(group.var)
        here = ix("round") - ix(group.var) * inner.behind.ahead
        body = rename_symbols(inner.body, {inner.range.var: here})
        allowed = when(position(here).compare("lt", position(inner.range.stop)), body)
        allowed = when(position(here).compare("ge", position(0)), (allowed,))
        falling = Range(group.var, group.stop - 1, group.start - 1, -1)
        rounds = span("round", 0, inner.range.stop + (group.stop - 1) * inner.behind.ahead)
        return (loop(rounds, Loop(falling, (allowed,), private=stmt.private)),)

    return rebuild(block, change)


def parallel(program: Program) -> list[Loop]:
    return [s for s in statements(program.body) if isinstance(s, Loop) and s.parallel]


def same_at_any_pace(before: Program) -> Program:
    made = skew_and_jam(before.but(live_out=frozenset(before.arguments)))
    check_same(before, made)
    check_same(before, made.but(body=hurried(made.body)))
    return made


def smooth(reach: int) -> tuple[Stmt, ...]:
    terms = at("x", I - 1, J) + at("x", I + reach, J + 1)
    return (loop(span("j", 1, M - 1), one("x", (I, J), at("x", I, J - 1) / 3.0 + terms * 0.3)),)


@pytest.mark.parametrize(("reach", "count", "rows", "many"), [
    (0, 15, (2, 38, 1), False), (0, 16, (2, 38, 1), True), (1, 19, (2, 37, 1), True), (1, 16, (37, 1, -1), True),
    (2, 16, (37, 1, -1), True), (2, 19, (2, 38, 1), True), (2, 16, (3, 33, 1), False), (1, 17, (2, 24, 1), True),
    (1, 17, (2, 23, 1), False), (1, 16, (2, 38, 2), True)])
def test_groups_as_far_as_they_may_be(reach, count, rows, many):
    made = same_at_any_pace(wide(smooth(reach), count, span("i", *rows)))
    assert bool(parallel(made)) == many


@pytest.mark.parametrize("step", [1, -2])
def test_groups_have_their_own_temporaries(step):
    line = span("d", 0, M)
    row = (each(line, put("r", ("d",), at("x", I + 1, "d") * 0.5)), loop(COLUMNS, SMOOTH),
           each(line, put("x", (I, "d"), at("r", "d"), "+")), one("v", (), at("x", I, 2)),
           each(line, put("x", (I, "d"), at("v") * 0.1, "+")))
    made = same_at_any_pace(wide(row, 16, step=step))
    assert [s.private for s in parallel(made)] == [("r_1", "v_1", "r_2", "r_3", "r_4")]
    assert {"r", "v"}.isdisjoint(made.arrays)


@pytest.mark.parametrize(("count", "groups"), [(16, 4), (17, 5), (19, 5), (20, 5)])
def test_sweeps_that_are_left_over_are_one_more_group(count, groups):
    made = same_at_any_pace(wide(smooth(1), count))
    assert [s.range.trips for s in parallel(made)] == [groups]
    assert isinstance(made.body[-1], Loop) and made.body[-1].parallel


def test_a_group_one_block_behind_would_be_wrong(monkeypatch):
    change(monkeypatch, blocks_ahead=1)
    with pytest.raises(AssertionError, match="x, after"):
        same_at_any_pace(wide(smooth(1)))


@pytest.mark.parametrize("again", [1, 50], ids=["kernel", "team"])
def test_neighbouring_groups_belong_to_different_threads(again, monkeypatch):
    """A thread that had them all would be behind itself alone, and the others would wait."""
    change(monkeypatch, parallel_work=0)
    change(monkeypatch, team_waits=1 << 20)
    before = wide(smooth(1))
    repeated = before.but(body=(loop(span("a", 0, again), *before.body),) if again > 1 else before.body)
    text = source(lower(skew_and_jam(repeated.but(live_out=frozenset(repeated.arguments)))))
    assert text.count("sg::follow(") == text.count("sg::lead(") == text.count("schedule(static, 1)") == 1
    assert ("omp barrier" in text) == (again > 1)


def test_shorter_blocks_would_be_wrong(monkeypatch):
    honest = module._blocks
    monkeypatch.setattr(module, "_blocks", lambda nest: 3 * honest(nest))
    with pytest.raises(AssertionError, match="x, after"):
        same_at_any_pace(wide(smooth(1)))


@pytest.mark.parametrize("least", [0, 1 << 60], ids=["kernels", "groups"])
@pytest.mark.parametrize(("reach", "count"), [(0, 19), (1, 16), (2, 19)])
def test_native_code_gives_the_same_to_the_bit(least, reach, count, monkeypatch):
    """No expression leaves the compiler a choice of what to contract. Where no sweeps are left over, all groups store
    the same rows, one behind the other."""
    change(monkeypatch, parallel_work=least)
    line = span("d", 0, M)
    row = (one("v", (), at("x", I, 0)), each(line, put("r", ("d",), at("x", I, "d") * 0.5)), *smooth(reach),
           each(line, put("x", (I + 1, "d"), at("r", "d") * 0.1 + at("v"), "+")))
    before = wide(row, count)
    made = skew_and_jam(before.but(live_out=frozenset(before.arguments)))
    assert parallel(made)
    codes = [compile_program(p) for p in (before, made)]
    for threads in (1, 3):
        found = []
        for code in codes:
            memory = {n: sample(before.arrays[n], k) for k, n in enumerate(before.arguments)}
            code.threads = threads
            code(memory)
            found.append(memory["x"])
        np.testing.assert_array_equal(found[1], found[0])
