"""What a loop makes afresh every time, always alike, is made once before it; nothing else leaves it."""
from __future__ import annotations

import pytest

from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Loop, Program, Stmt
from sdfgad.ir.walk import all_writes, statements
from sdfgad.transform.fusion.hoist import hoist_invariants
from sdfgad.transform.normal.normalise import normalise
from tests.support.build import BOOL, F8, at, each, loop, one, put, span, when
from tests.support.oracle import check_same

I, T = span("i", 0, 4), span("t", 0, 3)
SHAPES = {"u": (4,), "y": (4,), "p": (4,), "q": (4,), "s": (), "flag": ()}
USE = each(I, put("y", ("i",), at("y", "i") * 2.0 + at("p", "i")))
SCALED = each(I, put("p", ("i",), at("u", "i") * 3.0))


def chain(array: str, factor: float, first: int = 0, last: int = 4) -> tuple[Stmt, ...]:
    """array[j] = factor * array[j - 1] + u[j], one after the other."""
    step = one(array, ("j",), at(array, ix("j") - 1) * factor + at("u", "j"))
    return (one(array, (first,), at("u", first)), loop(span("j", first + 1, last), step))


def check(*body: Stmt, kept: tuple[str, ...] = ("u", "y")) -> set[str]:
    """The pass keeps the meaning; returns the arrays that top-level loops still write."""
    arrays = {n: Array(n, s, BOOL if n == "flag" else F8, "argument" if n in kept else "transient")
              for n, s in SHAPES.items()}
    before = Program("p", arrays, kept, body)
    after = hoist_invariants(normalise(before).but(live_out=frozenset(kept)))
    check_same(before, after)
    return {n for s in after.body if not isinstance(s, Loop) or s.range.var != "t" for n in all_writes((s,))}


def test_values_that_are_always_the_same_are_made_once():
    assert check(loop(T, SCALED, USE)) == {"p"}
    assert check(loop(T, *chain("p", 0.5), USE)) == {"p"}


def test_what_hangs_on_them_follows():
    assert check(loop(T, SCALED, each(I, put("q", ("i",), at("p", "i") + 1.0)),
                      each(I, put("y", ("i",), at("y", "i") * at("q", "i"))))) == {"p", "q"}


def test_one_array_may_hold_one_value_after_the_other():
    assert check(loop(T, *chain("p", 0.5), USE, *chain("p", 0.25), USE)) == {"p_1", "p_2"}
    varying = each(I, put("p", ("i",), at("y", "i") * 0.5))
    assert check(loop(T, varying, USE, SCALED, USE)) == set()


def test_a_loop_that_makes_other_things_as_well_is_parted():
    both = loop(span("j", 1, 4), one("p", ("j",), at("p", ix("j") - 1) + at("u", "j")),
                one("y", ("j",), at("y", ix("j") - 1) * at("p", "j")))
    assert check(loop(T, one("p", (0,), 2.0), both)) == {"p"}


def test_a_value_leaves_several_loops():
    assert check(loop(T, loop(span("k", 0, 2), SCALED, USE))) == {"p"}


def test_sums_leave_when_what_they_are_added_to_is_made_before():
    total = each(I, put("s", (), at("u", "i"), "+"))
    assert check(loop(T, one("s", (), 0.0), total, each(I, put("y", ("i",), at("y", "i") + at("s"))))) == {"s"}
    assert check(one("s", (), 0.0), loop(T, total, each(I, put("y", ("i",), at("y", "i") + at("s"))))) == {"s"}


@pytest.mark.parametrize("body", [
    (each(I, put("p", ("i",), at("y", "i"))), USE),
    (each(I, put("p", ("i",), at("u", "t"))), USE),
    (loop(span("j", 0, ix("t") + 1), one("p", ("j",), 1.0)), USE),
    (USE, SCALED),
    (each(span("i", 0, 3), put("p", ("i",), 1.0)), USE),
    (SCALED, USE, one("p", (1,), at("y", 0))),
    (SCALED, when(at("y", 0).compare("gt", 0.0), (one("p", (1,), 1.0),)), USE),
    (SCALED, one("y", (0,), at("p", 3)), each(span("i", 2, 4), put("p", ("i",), 7.0)),
     one("y", (1,), at("p", 3) + at("p", 0))),
    (loop(span("j", 0, 4), one("y", ("j",), at("p", 3)), one("p", ("j",), at("u", "j"))),),
    (SCALED, USE, each(I, put("u", ("i",), at("u", "i") * 2.0))),
    (each(I, put("p", ("i",), 0.0)), each(I, put("p", ("i",), at("y", "i"))), USE),
], ids=["varying", "counter", "bound", "before", "part", "patched", "condition", "overwritten", "later", "operand",
        "unread"])
def test_what_differs_between_iterations_stays(body: tuple[Stmt, ...]):
    assert check(each(I, put("p", ("i",), 1.0)), loop(T, *body)) == {"p"}


def test_what_somebody_reads_afterwards_stays():
    assert check(loop(T, SCALED, USE), one("y", (0,), at("p", 1))) == {"y"}
    assert check(loop(T, SCALED, USE), kept=("u", "y", "p")) == set()


@pytest.mark.parametrize("other", [
    loop(span("t", 0, ix("m")), SCALED, USE),
    loop(T, SCALED, USE, until="flag"),
], ids=["maybe empty", "early end"])
def test_a_loop_that_may_not_run_keeps_everything(other: Stmt):
    inside = loop(span("m", 0, 2), one("flag", (), at("u", 0).compare("gt", 1.0)), other)
    arrays = {n: Array(n, s, BOOL if n == "flag" else F8, "argument" if n in "uy" else "transient")
              for n, s in SHAPES.items()}
    before = Program("p", arrays, ("u", "y"), (inside,))
    after = hoist_invariants(normalise(before).but(live_out=frozenset(("y",))))
    kept = [s for s in statements(after.body) if isinstance(s, Loop) and s.range.var == "t"]
    assert "p" in all_writes(kept[0].body)
    check_same(before, after)


def test_what_ends_a_loop_stays():
    def ended(u: int) -> tuple[Stmt, ...]:
        return one("flag", (), at("u", u).compare("gt", 9.0)), loop(span("k", 0, 2), one("y", (u,), 2.0), until="flag")

    assert check(loop(T, *ended(0), *ended(1))) == set()


def test_a_line_written_in_several_runs_and_read_at_a_sum_of_variables():
    halves = (span("h", 0, 2), span("k", 0, 2))
    use = each((span("d", 0, 2), span("k", 0, 3)), put("y", ("k",), at("p", ix("k") + "d"), "+"))
    assert check(loop(T, each(halves, put("p", (ix("h") * 2 + "k",), at("u", "k"))), use)) == {"p"}
    for gaps in (ix("h") * 3 + "k", ix("h") + "k"):
        assert check(loop(T, each(halves, put("p", (gaps,), at("u", "k"))) if gaps != ix("h") * 3 + "k" else
                          each((span("h", 0, 2), span("k", 0, 1)), put("p", (gaps,), at("u", "k"))), use)) == set()


def test_a_line_read_in_rows_of_different_length():
    rows = (span("d", 0, 3), span("k", 0, 2 - ix("d") // 2))
    use = each(rows, put("y", ("k",), at("p", ix("k") + "d"), "+"))
    assert check(loop(T, SCALED, use)) == {"p"}
    short = each((span("k", 0, 3),), put("p", ("k",), at("u", "k")))
    assert check(loop(T, short, each(rows, put("y", ("k",), at("p", ix("k") + "d" + 1), "+")))) == set()


def test_what_leaves_gaps_makes_no_value():
    """Elements between those that are written stay as they were before the loop."""
    evens = each((span("k", 0, 4, step=2),), put("p", ("k",), at("u", "k")))
    assert check(SCALED, loop(T, evens, USE)) == {"p"}
    down = each((span("k", 2, -1, step=-2),), put("p", ("k",), at("u", "k")))
    assert check(SCALED, loop(T, down, USE)) == {"p"}
