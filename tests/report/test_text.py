"""The printed report: 80 columns, what it must say, what it leaves out when nobody knows it."""
from __future__ import annotations

from dataclasses import replace

import pytest

from sdfgad.checkpoint.decided import RECOMPUTE, STORE
from sdfgad.checkpoint.modes import Mode
from sdfgad.checkpoint.outlook import About, Argument, FrontPoint, LoopRow, Measured, Moment, Outlook
from sdfgad.checkpoint.problem import Item, Problem
from sdfgad.checkpoint.schedule import FORWARD, REVERSE, ScheduledBlock, ScheduleProblem
from sdfgad.checkpoint.schedule_plan import OPTIMAL, SchedulePlan, SolverReport
from sdfgad.plans.plan import Plan
from tests.support.plans import store_all

ITEMS = (Item("h@4", "h", 800_000, "model.py", 4, "needed by line 5", False, 0, loop="t@3"),
         Item("h@7", "h", 200_000, "model.py", 7, "needed by line 12", False, 0, loop="t@3"),
         Item("mask", "mask", 5_000, "model.py", 6, "needed by line 8", True, 100, light=True, loop="t@3"),
         Item("a_long_name_indeed@9", "a_long_name_indeed", 4_000, "/far/other_file.py", 9, "needed by line 9", True,
              7))
PROBLEM = Problem("cost", ITEMS, {"u": 80_000, "grad_u": 80_000}, ("t@3",), "0")
ABOUT = About("model.py", ("u", "v"), (Argument("u", (100, 100), "float64", 80_000),
                                       Argument("v", (100, 100), "float64", 80_000), Argument("c", (), "float64", 8)),
              {"nt": 50}, "cpu", 4, {"sdfgad": "1"})
LOOK = Outlook(300_000, 2.0, 7.0, 6.0, {"a_long_name_indeed@9": 0.5},
               (LoopRow("t@3", 50, "7 snapshots", 560_000, 80_000, 3.0),),
               (Moment("forward 0", FORWARD, {"u": 80_000, "h": 500_000}), Moment("back", REVERSE, {"u": 80_000})),
               (FrontPoint(1_200_000, 1_164_000, 3.0), FrontPoint(310_000, 310_000, 9.0)))
QUESTION = ScheduleProblem("cost", (ScheduledBlock("f", FORWARD, {}), ScheduledBlock("r", REVERSE, {})), ())
SCHEDULE = SchedulePlan(QUESTION, frozenset(), solver=SolverReport(OPTIMAL, "HiGHS", 0.1, 0.0, 0.41))
DECISIONS = {"h@4": STORE, "h@7": STORE, "mask": RECOMPUTE, "a_long_name_indeed@9": RECOMPUTE}
PLAN = Plan(PROBLEM, DECISIONS, 1_165_000, "the fastest within the limit", {"t@3": Mode("binomial", 7)}, SCHEDULE,
            5_000_000, ABOUT, Measured(1_150_000, 0.25)).with_outlook(LOOK)
OPEN = replace(PLAN, policy="snapshots, as the tape of a loop of unknown length outgrew the limit").with_outlook(
    replace(LOOK, loops=(LoopRow("while@5", 0, "at most 64 snapshots", 64_000, 1_000, None),)))
PLANS = (PLAN, OPEN, store_all(PROBLEM), store_all(Problem("m", (), {})))


@pytest.mark.parametrize("plan", PLANS, ids=["full", "open", "hand", "no"])
def test_lines_have_at_most_80_columns_of_plain_text(plan: Plan) -> None:
    for line in str(plan).splitlines():
        assert len(line) <= 80 and line == line.rstrip() and line.isascii() and "\x1b" not in line


def row(plan: Plan, start: str) -> list[str]:
    return next(line for line in str(plan).splitlines() if line.startswith(f" {start}")).split()


def test_the_header_says_whom_it_is_for() -> None:
    top = str(PLAN).split("\n\n")[0]
    assert top.startswith("plan for model.py:cost: the fastest within the limit\n")
    assert "wrt u, v  nt=50  cpu with 4 threads" in top
    assert "u, v float64[100, 100] 80 kB each" in top
    assert " c " not in top
    there = str(replace(PLAN, about=replace(ABOUT, device="gpu")))
    assert "nt=50  gpu\n" in there  # threads of the processor have no part in it


def test_the_values_of_an_array_that_share_a_fate_share_a_row() -> None:
    assert row(PLAN, "h ")[:10] == ["h", "line", "4-7", "t", "loop", "1", "MB", "store", "-"]
    assert "needed by line 5, 12" in " ".join(str(PLAN).split())


def test_what_is_computed_again_shows_what_it_would_take() -> None:
    assert row(PLAN, "mask")[:6] == ["mask", "line", "6", "body", "(5", "kB)"]
    assert row(PLAN, "a_long")[:2] == ["a_long_na~", "other_file.py:9"]
    assert "+0.25" in row(PLAN, "a_long")


def test_a_loop_shows_its_mode_and_what_it_costs() -> None:
    assert row(PLAN, "t loop")[:10] == ["t", "loop", "line", "3", "whole", "560", "kB", "7", "snapshots", "+1.50"]


def test_what_a_loop_of_unknown_length_costs_is_not_made_up() -> None:
    text = " ".join(str(OPEN).split())
    assert "64 kB at most 64 snapshots ? unknown length, a snapshot takes 1 kB" in text
    assert "time at least 3.5 x" in text and "at least" not in str(PLAN)


def test_a_growable_tape_is_mentioned() -> None:
    item = Item("w@9", "w", None, "model.py", 9, "needed by line 9", False, 0)
    text = str(store_all(Problem("m", (item,), {})))
    assert "growable  store" in text and "a growable tape, whose size is known only at run time" in text
    assert "tape" not in str(PLAN)


def test_the_answer_stands_below() -> None:
    below = str(PLAN).split("\n\n")[-1]
    for part in ("limit 1.17 MB", "predicted peak 1.16 MB", "floor 300 kB", "store-all 5 MB (does not fit)",
                 "time 3.5 x forward sweep (store-all 3.0 x)", "solver HiGHS: optimal, gap 0.0 %, 0.41 s",
                 "measured peak 1.15 MB", "time 0.25 s", "next 1.16 MB -> 3.0 x   310 kB -> 9.0 x"):
        assert part in below
    assert "front" in str(PLAN.with_front([PLAN])).split("\n\n")[-1]


def test_what_nobody_asked_for_is_not_made_up() -> None:
    text = str(store_all(PROBLEM))
    assert "limit none" in text and "does not fit" not in text
    for absent in ("floor", "forward sweep", "next", "measured", "solver"):
        assert absent not in text


def test_reading_a_plan_does_not_ask_for_an_outlook() -> None:
    def refuse() -> Outlook:
        raise AssertionError("the solver was asked")

    plan = Plan(PROBLEM, DECISIONS, look=refuse)
    assert plan.predicted.peak_bytes == 1_160_000 and plan == Plan(PROBLEM, DECISIONS)
    with pytest.raises(AssertionError, match="asked"):
        str(plan)
