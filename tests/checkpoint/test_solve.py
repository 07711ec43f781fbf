"""The solver against enumeration: equal cost at every limit, the true minimum, monotone, deterministic, honest."""
from __future__ import annotations

from dataclasses import replace

import pytest

from sdfgad.checkpoint.modes import BINOMIAL, Mode
from sdfgad.checkpoint.revolve import advances
from sdfgad.checkpoint.schedule import (
    FORWARD,
    REVERSE,
    Recomputation,
    ScheduledBlock,
    ScheduledItem,
    ScheduledLoop,
    ScheduleProblem,
)
from sdfgad.checkpoint.schedule_plan import FEASIBLE, OPTIMAL, store_everything
from sdfgad.checkpoint.solve import Bounds, Planner
from sdfgad.checkpoint.verify import Verdict, verify
from tests.checkpoint.questions import random_problem, true_front

PER_TEST = 10
LONG = 600.0
"""Seconds that nothing here takes, whatever else the machine does."""


def tens(quick, many):
    """The first numbers of tens of problems; of those from `quick` on only slow tests are made."""
    return [*range(0, quick, PER_TEST),
            *(pytest.param(first, marks=pytest.mark.slow) for first in range(quick, many, PER_TEST))]


def solve(problem, limit=None):
    """The fastest plan within a limit; None where there is none."""
    return Planner(problem, LONG).fastest(Bounds(limit))


def limits_of(front):
    """Each point of the front, one byte less, and far more than enough; at most seven of them, the ends included."""
    peaks = [p for p, _ in front]
    limits = sorted({*peaks, *(p - 1 for p in peaks[1:]), peaks[-1] + 1000})
    return sorted({*limits[:: max(1, len(limits) // 4)], limits[0], limits[-1]})


def legal(problem, plan, limit) -> Verdict:
    """The verdict of a plan that breaks no rule and keeps the limit."""
    verdict = verify(problem, plan)
    assert not verdict.complaints and verdict.peak_bytes <= limit
    return verdict


def check_against_enumeration(problem):
    """With one planner for all limits: what inner loops offer does not depend on them."""
    front = true_front(problem)
    if not front:
        assert solve(problem) is None
        return
    found, planner = [], Planner(problem, LONG)
    for limit in limits_of(front):
        plan = planner.fastest(Bounds(limit))
        best_peak, best = min(((p, s) for p, s in front if p <= limit), key=lambda x: x[1])
        assert plan.seconds == pytest.approx(best, abs=1e-9), f"limit {limit}"
        assert plan.peak_bytes == best_peak
        assert plan.solver.status == OPTIMAL and plan.solver.bound == pytest.approx(best, rel=1e-6, abs=1e-6)
        verdict = legal(problem, plan, limit)
        assert (verdict.peak_bytes, verdict.seconds) == (plan.peak_bytes, plan.seconds)
        found.append((plan.seconds, plan.peak_bytes))
    assert [s for s, _ in found] == sorted((s for s, _ in found), reverse=True)
    assert [p for _, p in found] == sorted(p for _, p in found)
    assert planner.fastest(Bounds(front[0][0] - 1)) is None and planner.smallest().peak_bytes == front[0][0]


@pytest.mark.parametrize("first", tens(20, 100))
def test_as_good_as_enumeration_without_loops(first):
    for seed in range(first, first + PER_TEST):
        check_against_enumeration(random_problem(seed))


@pytest.mark.parametrize("first", tens(10, 60))
@pytest.mark.parametrize("loops", [1, 2])
def test_as_good_as_enumeration_with_loops(loops, first):
    for seed in range(first, first + PER_TEST):
        check_against_enumeration(random_problem(seed, loops, most=1500))


@pytest.mark.parametrize("first", tens(10, 30))
def test_as_good_as_enumeration_with_a_loop_in_a_loop(first):
    for seed in range(first, first + PER_TEST):
        check_against_enumeration(random_problem(seed, 1, nested=True, most=800))


def time_loop(trips=1000, state=1000, record=500, pins=None, **more):
    """One loop whose iterations each need one value that cannot be made again."""
    blocks = (ScheduledBlock("step", FORWARD, {"u": state}, "t"), ScheduledBlock("step'", REVERSE, {"u": state}, "t"))
    item = ScheduledItem("u@3", "u", record, "float64", record // 8, 0, (1,), "t")
    return ScheduleProblem("heat", blocks, (item,), (ScheduledLoop("t", trips, state, 1.0, **more),), pins or {})


@pytest.mark.parametrize("snapshots", [1, 2, 5, 10, 20])
def test_a_single_loop_gets_the_binomial_schedule_of_its_limit(snapshots):
    """With a record of one iteration; recording several together may be faster still."""
    limit = 1000 + snapshots * 1000 + 500
    problem = time_loop()
    single = replace(store_everything(problem), modes={"t": Mode(BINOMIAL, snapshots)})
    verdict = verify(problem, single)
    assert (verdict.peak_bytes, verdict.seconds) == (limit, advances(1000, snapshots))
    plan = solve(problem, limit)
    assert plan.peak_bytes <= limit and plan.seconds <= verdict.seconds
    assert snapshots > 5 or plan.modes["t"] == Mode(BINOMIAL, snapshots)


def test_without_a_limit_everything_is_stored():
    plan = solve(time_loop())
    assert str(plan.modes["t"]) == "store all" and plan.seconds == 0 and plan.peak_bytes == 501_000


def test_three_loops_deep():
    blocks = [ScheduledBlock("f", FORWARD, {}, "c"), ScheduledBlock("r", REVERSE, {}, "c")]
    loops = tuple(ScheduledLoop(n, 4, 1, s, parent) for n, s, parent in (("a", 16, None), ("b", 4, "a"), ("c", 1, "b")))
    item = ScheduledItem("v", "v", 10, "float64", 1, 0, (1,), "c")
    problem = ScheduleProblem("deep", tuple(blocks), (item,), loops)
    planner = Planner(problem, LONG)
    assert planner.fastest(Bounds()).peak_bytes == 640
    for limit in (300, 100, 40, 13):
        plan = planner.fastest(Bounds(limit))
        assert legal(problem, plan, limit).seconds == plan.seconds
    assert planner.fastest(Bounds(12)) is None and planner.smallest().peak_bytes == 13


def test_what_inner_loops_offer_serves_every_planner_of_a_problem(monkeypatch):
    problem = random_problem(3, 1, nested=True, most=800)
    first = Planner(problem, LONG)
    assert first.whole and first.model.points
    monkeypatch.setattr(Planner, "spread", None)  # nobody looks for it again
    again = Planner(problem, LONG, inner=first.model.points)
    for planner in (first, again):
        assert planner.smallest().peak_bytes == true_front(problem)[0][0]
    assert not Planner(time_loop(), 0.0).whole


def test_nothing_keeps_a_limit_below_the_minimum():
    assert solve(time_loop(), 2000) is None and Planner(time_loop()).smallest().peak_bytes == 2500
    assert solve(time_loop(), 2500).peak_bytes == 2500


def test_pins_are_kept():
    plan = solve(time_loop(pins={"t": "snapshot"}))
    assert plan.modes["t"].snapshots
    problem = replace(random_problem(3), pins={})
    loose = solve(problem)
    item = next(i for i in problem.items if i.rebuildable and i.bytes and not i.free)
    pinned = replace(problem, pins={item.name: "store"})
    assert item.name in solve(pinned).stored
    assert loose.seconds <= solve(pinned).seconds


def test_pins_that_no_limit_allows():
    blocks = (ScheduledBlock("f", FORWARD, {}), ScheduledBlock("g", FORWARD, {"w": 60}),
              ScheduledBlock("r", REVERSE, {}))
    items = tuple(ScheduledItem(n, n, 50, "float64", 1, 0, (2,), recipe=Recomputation(1.0)) for n in ("a", "b"))
    problem = ScheduleProblem("two", blocks, items, (), {"a": "store", "b": "store"})
    assert solve(problem, 100) is None and Planner(problem).smallest().peak_bytes == 160
    assert solve(replace(problem, pins={"b": "store"}), 100) is None
    assert solve(replace(problem, pins={}), 100).stored == frozenset()


def test_the_same_question_gets_the_same_answer():
    problem = random_problem(11, 2)
    front = true_front(problem)
    for limit in (front[0][0], front[-1][0]):
        one, other = solve(problem, limit), solve(problem, limit)
        assert (one.stored, one.rebuilds, one.modes) == (other.stored, other.rebuilds, other.modes)


def test_what_was_found_when_time_is_up_is_never_called_optimal():
    plan = Planner(time_loop(), 0.0).fastest(Bounds(50_000))
    assert plan.solver.status == FEASIBLE
    assert legal(plan.problem, plan, 50_000).seconds == plan.seconds
    assert plan.solver.gap >= 0


@pytest.mark.parametrize("seed", range(5))
def test_the_front(seed):
    problem = random_problem(seed, 1)
    true = true_front(problem)
    found = Planner(problem).front(Bounds(), 100)
    assert [(p.peak_bytes, p.seconds) for p in found] == [(p, pytest.approx(s)) for p, s in reversed(true)]


def test_a_long_front_is_thinned():
    found = Planner(time_loop()).front(Bounds(), 6)
    assert 4 <= len(found) <= 6
    assert found[0].seconds == 0 and found[-1].peak_bytes == 2500
    assert [p.seconds for p in found] == sorted(p.seconds for p in found)
    assert not any(verify(p.problem, p).complaints for p in found)
