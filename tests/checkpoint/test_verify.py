"""The checker against plans run step by step, and against plans that are wrong."""
from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sdfgad.checkpoint.modes import Mode
from sdfgad.checkpoint.schedule import (
    FORWARD,
    REVERSE,
    Recomputation,
    ScheduledBlock,
    ScheduledItem,
    ScheduledLoop,
    ScheduleProblem,
)
from sdfgad.checkpoint.schedule_plan import Rebuild, SchedulePlan, store_everything
from sdfgad.checkpoint.verify import verify
from sdfgad.errors import UsageError
from tests.checkpoint.execution import Execution
from tests.checkpoint.questions import all_plans, random_problem


@pytest.mark.parametrize("loops, nested", [(0, False), (1, False), (2, False), (1, True)])
def test_peak_and_time_are_those_of_the_plan_run_step_by_step(loops, nested):
    as_predicted = 0
    for seed in range(25):
        problem = random_problem(seed, loops, nested, most=800)
        legal = [p for p in all_plans(problem) if not verify(problem, p).complaints]
        for plan in random.Random(seed).sample(legal, min(8, len(legal))):
            verdict = verify(problem, plan)
            peak, seconds = Execution(problem, plan).run()
            assert peak <= verdict.peak_bytes
            assert seconds == pytest.approx(verdict.seconds, abs=1e-9)
            as_predicted += peak == verdict.peak_bytes
    assert as_predicted > 50


BLOCKS = (ScheduledBlock("make", FORWARD, {"x": 10}), ScheduledBlock("step", FORWARD, {"x": 10}, "t"),
          ScheduledBlock("end", FORWARD, {"x": 10}), ScheduledBlock("end'", REVERSE, {"x": 10}),
          ScheduledBlock("step'", REVERSE, {"x": 10}, "t"), ScheduledBlock("make'", REVERSE, {"x": 10}))
ITEMS = (ScheduledItem("a", "a", 100, "float64", 12, 0, (3, 5), recipe=Recomputation(2.0, (), {"x": (3, 5)})),
         ScheduledItem("b", "b", 40, "float64", 5, 0, (3,), recipe=Recomputation(1.0, ("a",))),
         ScheduledItem("u", "u", 8, "float64", 1, 1, (4,), "t"))
PROBLEM = ScheduleProblem("model", BLOCKS, ITEMS, (ScheduledLoop("t", 10, 16, 0.5),))
ALL = Mode("store all")


def plan(stored="a b u", rebuilds=(), mode=ALL):
    return SchedulePlan(PROBLEM, frozenset(stored.split()), tuple(Rebuild(*r) for r in rebuilds), {"t": mode})


def test_what_is_alive_when():
    assert verify(PROBLEM, plan()).timeline == (150, 230, 230, 230, 190, 110)
    released = verify(PROBLEM, plan("u", [("a", 3), ("b", 3), ("a", 5)]))
    assert released.timeline == (10, 90, 90, 230, 90, 110)
    assert released.seconds == 5.0
    assert verify(PROBLEM, plan(mode=Mode("binomial", 2))).seconds == 0.5 * (3 * 10 - 10)
    assert verify(PROBLEM, plan(mode=Mode("segments", 5))).timeline[2:5] == (230, 230, 206)


@pytest.mark.parametrize("wrong, complaint", [
    (plan("a u"), "b is not there for block 3"),
    (plan("a b"), "u is not there for block 4"),
    (plan("u", [("b", 3), ("a", 5)]), "a is not there for block 3"),
    (plan("a u", [("b", 5)]), "b is not there for block 3"),
    (plan("a b", [("u", 4)]), "u cannot be made again"),
    (plan("b u", [("a", 3), ("a", 4), ("a", 5)]), "x has been overwritten"),
    (plan("a b u", [("b", 1)]), "no place"),
    (plan("a b u c"), "there is no value c"),
    (plan(mode=Mode("segments", 11)), "cannot be run as 11 segments"),
    (plan(mode=Mode("hope")), "cannot be run as hope"),
    (replace(plan(), modes={}), "loop t has no mode"),
    (replace(plan(), modes={"t": ALL, "s": ALL}), "there is no loop s"),
])
def test_wrong_plans_are_found_out(wrong, complaint):
    assert any(complaint in c for c in verify(PROBLEM, wrong).complaints)


def test_pins_and_limits_are_checked():
    pinned = replace(PROBLEM, pins={"a": "store", "b": "recompute", "t": "snapshot"})
    complaints = verify(pinned, plan("u", [("a", 3), ("b", 3), ("a", 5)])).complaints
    assert complaints == ("the pin store='a' is not kept", "the pin snapshot='t' is not kept")
    assert verify(PROBLEM, plan()).peak_bytes == 230


def test_json_there_and_back():
    for seed in range(5):
        problem = random_problem(seed, 1, True, most=800)
        assert ScheduleProblem.from_json(problem.to_json()) == problem
        everything = store_everything(problem)
        assert SchedulePlan.from_json(everything.to_json()) == everything
    made = plan("u", [("a", 3), ("b", 3), ("a", 5)], Mode("binomial", 3))
    assert SchedulePlan.from_json(made.to_json()) == made


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": "sdfgad.problem/9"}',
                                  '{"schema": "sdfgad.problem/1"}'])
def test_something_else_is_refused(text):
    for read in (ScheduleProblem.from_json, SchedulePlan.from_json):
        with pytest.raises(UsageError, match="not a plan"):
            read(text)


@pytest.mark.parametrize("change, complaint", [
    ({"blocks": BLOCKS[::-1]}, "forward blocks come first"),
    ({"blocks": BLOCKS[:4]}, "missing or not together"),
    ({"loops": ()}, "unknown loop t"),
    ({"loops": (ScheduledLoop("t", 10, 16, 0.5, "t"),)}, "lies in itself"),
    ({"loops": (ScheduledLoop("t", 0, 16, 0.5),)}, "no iterations"),
    ({"items": (*ITEMS, ITEMS[0])}, "twice"),
    ({"items": (replace(ITEMS[0], born=4),)}, "not a forward block"),
    ({"items": (replace(ITEMS[2], needed=(3,)),)}, "outside its region"),
    ({"items": (replace(ITEMS[0], recipe=Recomputation(1.0, ("c",))),)}, "unknown item c"),
    ({"items": (replace(ITEMS[0], recipe=Recomputation(1.0, ("b",))), ITEMS[1])}, "the recipe of a needs a"),
    ({"items": (replace(ITEMS[0], recipe=Recomputation(1.0, ("u",))), ITEMS[2])}, "of another loop"),
    ({"pins": {"c": "store"}}, "names no value; values: a, b, u"),
    ({"pins": {"u": "recompute"}}, "cannot be made again"),
    ({"pins": {"u": "snapshot"}}, "names no loop"),
    ({"pins": {"u": "keep"}}, "is no pin"),
])
def test_problems_that_make_no_sense_are_refused(change, complaint):
    with pytest.raises(UsageError, match=complaint):
        replace(PROBLEM, **change)
