"""Sweeps run side by side exactly when they stay far enough apart, and every element sees the same operations."""
from __future__ import annotations

import random

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.schedule.recurrences import skew_and_jam as module
from sdfgad.codegen.cpu.schedule.recurrences.skew_and_jam import skew_and_jam
from sdfgad.ir.algebra import Term
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_writes, statements
from tests.support.build import BOOL, F8, I8, at, each, lit, loop, number_at, one, position, put, span, when
from tests.support.oracle import check_same
from tests.support.passes import replace_pass

N, M = 16, 11
T, I, J = ix("t"), ix("i"), ix("j")
SHAPES = {"x": (N, M), "y": (N, M), "z": (5, N, M), "w": (3 * N, M), "p": (M,), "q": (N,), "s": ()}
OWN = {"r": (M,), "v": (), "u": (N, M)}
ROWS, COLUMNS = span("i", 2, N - 2), span("j", 1, M)
ABOVE = at("x", I - 1, J) + at("x", I + 1, J)
SMOOTH = one("x", (I, J), at("x", I, J - 1) / 3.0 + ABOVE * 0.3)


def build(*body: Stmt, dtype: np.dtype = F8) -> Program:
    arrays = {n: Array(n, s, dtype, "argument") for n, s in SHAPES.items()}
    arrays |= {n: Array(n, s, dtype) for n, s in OWN.items()}
    arrays |= {"k": Array("k", (N,), I8, "argument"), "stop": Array("stop", (), BOOL), "trips": Array("trips", (), I8)}
    return Program("p", arrays, (*SHAPES, "k"), body)


def jammed(*body: Stmt, keep: tuple[str, ...] = (), dtype: np.dtype = F8) -> Program | None:
    """The program after the pass, which leaves exactly the same; None if it left it alone."""
    before = build(*body, dtype=dtype)
    made = skew_and_jam(before.but(live_out=frozenset((*before.arguments, *keep))))
    check_same(before, made, {"k": np.arange(N)[::-1] % M})
    return None if made.body == before.body else made


def sweeps(count: int, *row: Stmt, rows: Range = ROWS, step: int = 1) -> Loop:
    return loop(span("t", 1, 1 + count * step, step), loop(rows, *row))


def together(program: Program | None, array: str = "x", dim: int = 0) -> tuple[int, int]:
    """How many rows the recurrence takes that takes the most of them, and how far they are apart."""
    assert program is not None
    inner = [s for s in statements(program.body) if isinstance(s, Loop) and all(isinstance(m, Map) for m in s.body)]
    found = [[p.index[dim] for m in s.body if isinstance(m, Map) for p in m.body
              if isinstance(p, Store) and p.array == array] for s in inner]
    rows = max(found, key=len)
    return len(rows), abs((rows[0] - rows[1]).const or 0)


@pytest.mark.parametrize("count", range(10))
def test_any_number_of_sweeps(count):
    made = jammed(sweeps(count, loop(COLUMNS, SMOOTH)))
    assert (made is None) == (count < 2)
    if made is not None:
        assert together(made) == (4 if count > 3 else 2, 2)


def test_what_is_left_over_runs_together():
    made = jammed(sweeps(7, loop(COLUMNS, SMOOTH)))
    assert made is not None
    groups = [together(made.but(body=(s,))) for s in made.body]
    assert groups == [(4, 2), (3, 2)]


@pytest.mark.parametrize("rows", range(14))
def test_any_number_of_rows(rows):
    made = jammed(sweeps(5, loop(COLUMNS, SMOOTH), rows=span("i", 1, 1 + rows)))
    assert (made is None) == (rows < 4)
    if made is not None:
        assert together(made) == (4 if rows > 11 else 2, 2)


@pytest.mark.parametrize("rows", [span("i", N - 2, 1, -1), span("i", 1, N - 1, 2), span("i", N - 2, 0, -3),
                                  span("i", 2, N - 1, 3)])
@pytest.mark.parametrize("step", [1, -1, 2, -3])
def test_steps_of_both_loops(rows, step):
    made = jammed(sweeps(9, loop(COLUMNS, SMOOTH), rows=rows, step=step))
    assert made is not None
    assert together(made)[1] % abs(rows.step) == 0


@pytest.mark.parametrize("column", [span("j", M - 2, -1, -1), span("j", 1, M - 1, 1), span("j", 1, M, 1)])
def test_recurrences_either_way(column):
    side = J + (1 if column.step < 0 else -1)
    row = loop(column, one("x", (I, J), at("x", I, J) + at("x", I, side) / 2.0), one("x", (I + 1, side), at("x", I, J)))
    assert together(jammed(sweeps(6, row))) == (8, 1)


@pytest.mark.parametrize(("reads", "writes", "lag"), [
    ((0,), (0,), 1), ((1,), (0,), 2), ((-1,), (0,), 2), ((2,), (0,), 3), ((-1, 1), (1,), 3), ((-2,), (1,), 4),
    ((1,), (1,), 1)])
def test_the_distance_is_the_smallest_that_is_right(reads, writes, lag):
    terms = sum((at("x", I + r, J) for r in reads), at("x", I + writes[0], J - 1))
    row = loop(COLUMNS, *(one("x", (I + w, J), terms / 4.0) for w in writes))
    found = together(jammed(sweeps(4, row, rows=span("i", 2, N - 2))))
    assert found[1] == lag


def test_a_distance_one_shorter_would_be_wrong(monkeypatch):
    honest = module.least_lag
    monkeypatch.setattr(module, "least_lag", lambda *a: (honest(*a) or 0) - 1)
    row = loop(span("j", 1, M - 1), one("x", (I, J), at("x", I + 2, J + 1) + at("x", I, J - 1)))
    with pytest.raises(AssertionError, match="x, after"):
        jammed(sweeps(4, row))


def test_rows_that_are_not_neighbours():
    """Rows 2 i: neighbours of the loop are two apart, and one apart never meets."""
    row = loop(COLUMNS, one("w", (2 * I, J), at("w", 2 * I, J - 1) + at("w", 2 * I + 3, J)),
               one("x", (I, J), at("x", I, J - 1)))
    assert together(jammed(sweeps(4, row)))[1] == 2


def test_versions_of_an_array():
    row = one("z", (T, I, J), at("z", T - 1, I - 1, J) + at("z", T - 1, I + 1, J) + at("z", T, I, J - 1))
    assert together(jammed(sweeps(4, loop(COLUMNS, row))), "z", 1) == (4, 2)


@pytest.mark.parametrize("value", [0.0, np.inf, np.nan])
def test_any_values(value):
    first = one("x", (3, 3), at("x", 3, 3) + float(value))
    made = jammed(first, sweeps(5, loop(COLUMNS, SMOOTH)))
    assert made is not None


def test_single_precision():
    f4 = np.dtype("f4")
    row = one("x", (I, J), at("x", I, J - 1, dtype=f4) * lit(0.3, f4) + at("x", I + 1, J, dtype=f4))
    assert jammed(sweeps(5, loop(COLUMNS, row)), dtype=f4) is not None


def test_rows_share_what_they_use_up_at_once():
    line = span("d", 0, M)
    row = (loop(COLUMNS, SMOOTH), each(line, put("r", ("d",), at("x", I, "d") * 0.5)),
           each(line, put("x", (I + 1, "d"), at("r", "d"), "+")), each(line, put("x", (I - 1, "d"), at("r", "d"), "+")))
    made = jammed(sweeps(6, *row))
    assert made is not None and made.arrays.keys() == build().arrays.keys()


def test_rows_get_their_own_of_what_lasts_through_the_recurrence():
    line = span("d", 0, M)
    row = (each(line, put("r", ("d",), at("x", I + 1, "d") * 0.5)), one("v", (), at("x", I, 3)),
           loop(COLUMNS, one("x", (I, J), at("x", I, J - 1) * 0.1 + at("r", J) + at("v"))))
    made = jammed(sweeps(6, *row))
    assert made is not None
    assert made.arrays.keys() - build().arrays.keys() == {f"{n}_{k}" for n in "rv" for k in (1, 2, 3)}


def test_values_of_one_step_of_a_recurrence():
    row = loop(COLUMNS, one("v", (), at("x", I, J - 1) * 0.1), one("x", (I, J), at("v") + at("x", I - 1, J)))
    made = jammed(sweeps(6, row))
    assert made is not None and made.arrays.keys() == build().arrays.keys()


def test_values_carried_along_a_row():
    row = (one("v", (), 0.0), loop(COLUMNS, one("v", (), at("v") * 0.5 + at("x", I + 1, J)),
                                   one("x", (I, J), at("x", I, J - 1) + at("v"))))
    assert together(jammed(sweeps(6, *row)))[0] == 4


def test_loops_inside_loops():
    inner = one("z", ("c", I, J), at("z", "c", I, J - 1) * 0.4 + at("z", "c", I + 1, J) * 0.3)
    made = jammed(sweeps(4, loop(span("c", 0, 5), loop(COLUMNS, inner))))
    assert made is not None and isinstance(made.body[0], Loop)
    middle = made.body[0].body[1]
    assert isinstance(middle, Loop) and len(middle.body) == 1 and isinstance(middle.body[0], Loop)
    assert [len(s.body) for s in middle.body[0].body if isinstance(s, Loop)] == [4]


def test_loops_and_branches_around():
    nest = loop(span("a", 0, 2), when(position("a").compare("gt", position(0)), (sweeps(5, loop(COLUMNS, SMOOTH)),)))
    assert jammed(nest) is not None


def test_two_nests_with_the_same_variables():
    nest = sweeps(5, loop(COLUMNS, SMOOTH))
    again = sweeps(5, loop(COLUMNS, one("y", (I, J), at("y", I, J - 1) * 0.5 + at("x", I, J))))
    made = jammed(nest, again)
    assert made is not None and len(made.body) == 4


SEVERAL = tuple(one("x", (I, J), at("x", I, J - 1) * 0.1 + 0.01 * k) for k in range(7))


@pytest.mark.parametrize("body", [
    sweeps(4, loop(COLUMNS, one("x", (I, J), at("x", I, J - 1) + at("x", 3, J)))),
    sweeps(4, loop(COLUMNS, one("x", (I, J), at("x", I, J - 1) + at("x", 2 * I - 2 * I + 1, J)))),
    sweeps(4, loop(COLUMNS, one("x", (I, J), at("x", I, J - 1) + at("x", 2 * I - 4, J))), rows=span("i", 2, 10)),
    sweeps(4, loop(COLUMNS, one("x", (I, J), at("x", I, J - 1) + at("x", N - 1 - I, J)))),
    sweeps(4, loop(COLUMNS, one("x", (I, J), at("x", I, J - 1) + at("x", T, J)))),
    sweeps(4, loop(COLUMNS, one("x", (I + J - J, J), at("x", I, J - 1) + at("x", I - 2 + T - J + J, J)))),
    sweeps(4, loop(COLUMNS, SMOOTH, one("s", (), at("x", I, J), "+"))),
    sweeps(4, loop(COLUMNS, SMOOTH, one("p", (J,), at("x", I, J), "+"))),
    sweeps(4, loop(COLUMNS, one("x", (I, J), at("x", I, J - 1) + at("x", number_at("k", I), J)))),
    sweeps(4, loop(span("j", 1, number_at("k", I)), SMOOTH)),
    sweeps(4, loop(span("j", 1, number_at("k", 0)), SMOOTH)),
    sweeps(4, loop(span("j", 1, I - 2), SMOOTH)),
    sweeps(4, loop(span("j", T, M), SMOOTH)),
    sweeps(4, loop(COLUMNS, SMOOTH), rows=span("i", T, N - 1)),
    sweeps(4, loop(COLUMNS, SMOOTH), rows=span("i", 2, N - T)),
    loop(span("t", 0, 4), loop(ROWS, loop(COLUMNS, SMOOTH)), one("x", (0, 0), 1.0)),
    loop(span("t", 0, 4), one("x", (0, 0), 1.0), loop(ROWS, loop(COLUMNS, SMOOTH))),
    sweeps(4, one("v", (), at("x", I, 1)), loop(COLUMNS, SMOOTH),
           when(at("v").compare("gt", 0.0), (one("q", (I,), 1.0),))),
    sweeps(4, loop(COLUMNS, *SEVERAL)),
    sweeps(4, loop(span("j", 1, 6), SMOOTH)),
    sweeps(4, each(COLUMNS, put("x", (I, J), at("y", I, J) + at("y", I - 1, J)))),
    sweeps(4, loop(COLUMNS, SMOOTH), each(span("i", 0, M), put("y", (3, "i"), 1.0))),
    loop(span("t", 0, 4), Loop(ROWS, (loop(COLUMNS, one("x", (I, J), at("x", I, J - 1))),), parallel=True)),
    Loop(span("a", 0, 1), (sweeps(4, loop(COLUMNS, SMOOTH)),), parallel=True),
], ids=["a fixed row", "a row that only looks moving", "other steps", "backwards", "the sweep's row",
        "a row of sweep and iteration", "one sum of all", "sums by columns", "a row from a table",
        "bounds from a table", "a bound from a table", "triangles", "shrinking rows", "later sweeps start later",
        "later sweeps end earlier", "something after a sweep", "something before a sweep", "a branch", "many stores",
        "short", "no recurrence", "a variable twice", "parallel rows", "inside parallel"])
def test_what_stays_as_it_is(body):
    assert jammed(body) is None


def test_loops_that_may_end_early():
    body = loop(span("t", 0, 4), loop(ROWS, loop(COLUMNS, SMOOTH)), until="stop")
    assert jammed(one("stop", (), lit(False, BOOL)), body) is None


@pytest.mark.parametrize("keep", [(), ("v",)])
def test_values_seen_after_the_loops(keep):
    row = loop(COLUMNS, one("v", (), at("x", I, J - 1) * 0.1), one("x", (I, J), at("v") + at("x", I - 1, J)))
    assert (jammed(sweeps(4, row), keep=keep) is None) == bool(keep)
    assert jammed(sweeps(4, row), one("s", (), at("v"))) is None


def test_values_handed_from_row_to_row():
    make, use = one("v", (), at("x", I, 3)), loop(COLUMNS, one("x", (I, J), at("x", I, J - 1) * 0.1 + at("v")))
    assert jammed(sweeps(4, make, use)) is not None
    assert jammed(one("v", (), 1.0), sweeps(4, use, make)) is None


def test_a_temporary_of_which_rows_leave_something():
    """Only a part of it is made afresh, after something else has made it whole."""
    row = (each(span("d", 0, 3), put("r", ("d",), at("x", I, "d"))),
           loop(COLUMNS, one("x", (I, J), at("x", I, J - 1) * 0.1 + at("r", J))),
           each(span("d", 3, M), put("r", ("d",), at("x", I, "d"))))
    assert jammed(each(span("d", 0, M), put("r", ("d",), at("p", "d"))), sweeps(4, *row)) is None


def term(rng: random.Random, rows: int) -> Term:
    name = rng.choice(["x", "x", "y"])
    return at(name, I + rng.randint(-rows, rows), J - rng.choice([0, 1])) * round(rng.uniform(-0.4, 0.4), 2)


def random_row(rng: random.Random) -> tuple[Stmt, ...]:
    """Statements of a row: some whole lines, a recurrence or two, temporaries."""
    row: list[Stmt] = []
    line, reach = span("d", 1, M), rng.randint(0, 2)
    if rng.random() < 0.5:
        row.append(each(line, put("r", ("d",), at("x", I + rng.randint(-reach, reach), "d") * 0.5)))
    for _ in range(rng.randint(1, 2)):
        terms = sum((term(rng, reach) for _ in range(rng.randint(1, 3))), at("x", I, J - 1) * 0.3)
        terms = terms + at("r", J) if row and rng.random() < 0.5 else terms
        name = rng.choice(["x", "y"])
        row.append(loop(COLUMNS, one(name, (I + rng.randint(-reach, reach), J), terms, rng.choice([None, "+"]))))
    if row and isinstance(row[0], Map) and rng.random() < 0.7:
        row.append(each(line, put("x", (I + rng.randint(-reach, reach), "d"), at("r", "d"), "+")))
    return tuple(row)


def test_random_nests():
    done = 0
    for seed in range(60):
        rng = random.Random(seed)
        step = rng.choice([1, 1, -1, 2, -2])
        rows = span("i", 2, N - 2, step) if step > 0 else span("i", N - 3, 1, step)
        done += jammed(sweeps(rng.randint(2, 7), *random_row(rng), rows=rows, step=rng.choice([1, -1]))) is not None
    assert done > 20


def test_nothing_else_is_written():
    made = jammed(sweeps(4, loop(COLUMNS, SMOOTH)))
    assert made is not None and all_writes(made.body) == {"x"}


def relaxed(u, steps):
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + np.sin(u[i, j + 1]))
    return np.sum(u * u)


@pytest.mark.parametrize("steps", [3, 4, 9])
def test_the_gradient_of_sweeps(steps, monkeypatch):
    u = np.random.default_rng(3).standard_normal((24, 14))
    made = sdfgad.grad(relaxed)(u.copy(), steps)
    replace_pass(monkeypatch, "skew_and_jam", lambda program: program)
    plain = sdfgad.grad(relaxed)(u.copy(), steps)
    np.testing.assert_array_equal(made, plain)
