"""Bytes against seconds: the front of a problem, and the next point on it to either side."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.checkpoint.schedule import ScheduleProblem
from sdfgad.checkpoint.schedule_plan import SchedulePlan
from sdfgad.checkpoint.solve import SLACK, Bounds, Planner


def pareto(problem: ScheduleProblem, points: int = 8, time_limit: float | None = None) -> tuple[SchedulePlan, ...]:
    """Plans none of which is both smaller and faster than another, from the fastest to the smallest: all of them, or
    as many as asked for, at peaks evenly spread in ratio. Each carries its own peak as the limit."""
    front = Planner(problem, time_limit).front(Bounds(), max(points, 2))
    return tuple(replace(plan, limit_bytes=plan.peak_bytes) for plan in front)


def next_smaller(plan: SchedulePlan, time_limit: float | None = None) -> SchedulePlan | None:
    """The fastest plan with a lower peak; None when this one is the smallest."""
    return Planner(plan.problem, time_limit).fastest(Bounds(peak=plan.peak_bytes - 1))


def next_faster(plan: SchedulePlan, time_limit: float | None = None) -> SchedulePlan | None:
    """The smallest plan that takes less time; None when this one is the fastest."""
    planner = Planner(plan.problem, time_limit)
    fastest = planner.fastest(Bounds())
    if fastest is None or fastest.seconds >= plan.seconds * (1 - SLACK):
        return None
    # A point on the way between: less than this plan's time by more than the solver's rounding.
    target = max(fastest.seconds, plan.seconds - max(plan.seconds * 1e-6, (plan.seconds - fastest.seconds) * 1e-6))
    return planner.smallest(Bounds(seconds=target))
