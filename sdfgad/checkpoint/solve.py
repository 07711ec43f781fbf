"""The best plan within a limit: fewest extra seconds, and among those the fewest bytes."""
from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sdfgad.checkpoint.greedy import greedy
from sdfgad.checkpoint.highs import Outcome, pulp, run, solver_name
from sdfgad.checkpoint.inner import (
    Point,
    best_points,
    inner_problem,
    point_of,
    reads_outer_items,
    wholly_recorded_around,
)
from sdfgad.checkpoint.model import Model
from sdfgad.checkpoint.schedule import ScheduleProblem
from sdfgad.checkpoint.schedule_plan import FEASIBLE, SchedulePlan, SolverReport
from sdfgad.checkpoint.verify import verify, without_waste
from sdfgad.config import settings
from sdfgad.errors import ToolchainError, UsageError

POINTS = 12
"""How many points an inner loop offers to the loop around it."""
SLACK = 1e-9
"""Relative: plans whose seconds differ by less are equally fast."""
RETRIES = 4


@dataclass(frozen=True)
class Bounds:
    """What a plan may come to; None is no bound. held: bytes of the outermost loops between the sweeps."""

    peak: int | None = None
    held: int | None = None
    seconds: float | None = None


class Planner:
    """One problem, its model, and a deadline for all that is asked about it."""

    def __init__(self, problem: ScheduleProblem, time_limit: float | None = None, points: int = POINTS,
                 warm: bool = True, inner: Mapping[str, tuple[Point, ...]] | None = None) -> None:
        """warm: begin with the greedy plan; many small questions are answered faster without. inner: what inner loops
        offer, where another planner of the problem has found it."""
        self.problem, self.count, self.warm = problem, points, warm
        allowed = settings().solver_time_limit if time_limit is None else time_limit
        self.deadline = time.monotonic() + allowed
        offered = {p.name: self._points(p.name) for top in problem.children(None)
                   for p in problem.children(top.name)} if inner is None else inner
        # The planner of a loop may take half of the time that is left: none was cut short.
        self.whole = inner is not None or self.left() > allowed / 2
        self.model = Model(problem, offered)

    def left(self) -> float:
        """Seconds until the deadline."""
        return max(0.0, self.deadline - time.monotonic())

    def fastest(self, bounds: Bounds) -> SchedulePlan | None:
        """Fewest seconds, then the lowest peak; None when nothing keeps the bounds, or nothing was found in time."""
        start = greedy(self.problem, bounds.peak) if self.warm and bounds == Bounds(bounds.peak) else None
        plan, outcome = self._minimise(self.model.seconds, bounds, start)
        if plan is None:
            return start and replace(start, solver=self._report(outcome, FEASIBLE))
        report = self._report(outcome, outcome.status)
        if start is not None and start.seconds < plan.seconds * (1 - SLACK):
            # Found in time where the solver was not; or inside a loop, between the points it offered: no proof of that.
            plan, report = start, replace(report, status=FEASIBLE, bound=min(report.bound, start.seconds))
        plan = replace(plan, solver=report)
        within = replace(bounds, seconds=plan.seconds * (1 + SLACK), peak=plan.peak_bytes)
        return self._tie_broken(plan, self.smallest(within, then_seconds=False))

    def _tie_broken(self, plan: SchedulePlan, smaller: SchedulePlan | None) -> SchedulePlan:
        if smaller is None or (smaller.peak_bytes, len(smaller.rebuilds)) >= (plan.peak_bytes, len(plan.rebuilds)):
            return plan
        return replace(smaller, solver=plan.solver)

    def smallest(self, bounds: Bounds = Bounds(), then_seconds: bool = True) -> SchedulePlan | None:
        """Lowest peak, then the fewest seconds."""
        peak = pulp().LpProblem("peak").add_variable("peak", 0)
        rules = [size <= peak for size in self.model.bytes_in]
        plan, outcome = self._minimise(peak, bounds, None, rules)
        if plan is None:
            return None
        plan = replace(plan, solver=self._report(outcome, outcome.status))
        return self.fastest(replace(bounds, peak=plan.peak_bytes)) or plan if then_seconds else plan

    def _minimise(self, goal: Any, bounds: Bounds, start: SchedulePlan | None,
                  rules: list[Any] | None = None) -> tuple[SchedulePlan | None, Outcome]:
        """Solve, and walk through the result: where rounding broke a bound by a few bytes, ask for a little less."""
        asked = bounds
        for _ in range(RETRIES):
            model = self._stated(goal, asked, rules or [])
            outcome = run(model, self.left(), self.model.start(start) if start else None)
            if not outcome.values:
                return None, outcome
            plan = without_waste(self.problem, self.model.plan(outcome.values))
            verdict = verify(self.problem, plan)
            if verdict.complaints:
                raise ToolchainError(f"the solver broke its rules: {'; '.join(verdict.complaints)}", code="SG506")
            over = verdict.peak_bytes - bounds.peak if bounds.peak is not None else 0
            if over <= 0:
                return replace(plan, peak_bytes=verdict.peak_bytes, seconds=verdict.seconds), outcome
            asked = replace(asked, peak=(asked.peak or 0) - over)
        return None, outcome

    def _stated(self, goal: Any, bounds: Bounds, rules: list[Any]) -> Any:
        stated = pulp().LpProblem("plan", pulp().LpMinimize)
        # The zero keeps a goal without any variable, which PuLP would take for a constraint, an expression.
        stated.setObjective(pulp().lpSum([goal]))
        for rule in (*self.model.rules, *rules, *self._bound_rules(bounds)):
            if not isinstance(rule, bool):
                stated.addConstraint(rule)
        return stated

    def _bound_rules(self, bounds: Bounds) -> Iterator[Any]:
        if bounds.peak is not None:
            limit = bounds.peak * self.model.byte
            yield from (size <= limit for size in self.model.bytes_in)
        if bounds.held is not None:
            yield pulp().lpSum(self.model.held.values()) <= bounds.held * self.model.byte
        if bounds.seconds is not None:
            yield self.model.seconds <= bounds.seconds * self.model.second

    def _report(self, outcome: Outcome, status: str) -> SolverReport:
        bound = outcome.bound / self.model.second
        points = self.count if self.model.points else 0
        return SolverReport(status, solver_name(), bound, outcome.gap, outcome.seconds, points)

    def front(self, bounds: Bounds, count: int) -> list[SchedulePlan]:
        """The fastest plan and those that follow when bytes are taken away: all, or `count` at peaks spread evenly."""
        plans = self._descend(bounds, count + 1)
        if len(plans) <= count:
            return plans
        last = self.smallest(bounds)
        if last is None:
            return plans[:count]
        limits = reversed(between(last.peak_bytes, plans[0].peak_bytes, count - 2))
        middle = [p for limit in limits if (p := self.fastest(replace(bounds, peak=limit))) is not None]
        return _without_repeats([plans[0], *middle, last])

    def _descend(self, bounds: Bounds, count: int) -> list[SchedulePlan]:
        """The first `count` points of the front, from the fastest down."""
        plans: list[SchedulePlan] = []
        while len(plans) < count:
            plan = self.fastest(bounds)
            if plan is None:
                break
            plans.append(plan)
            bounds = replace(bounds, peak=plan.peak_bytes - 1)
        return plans

    # Inner loops.

    def _points(self, loop: str) -> tuple[Point, ...]:
        """What an inner loop offers: with no value of an outer region at hand, and with all of them."""
        choices = (False, True) if reads_outer_items(self.problem, loop) else (False,)
        found: list[Point] = []
        for outer_there in choices:
            try:
                inner = inner_problem(self.problem, loop, outer_there)
            except UsageError:
                continue   # A pin asks for a rebuild that needs a value which is not there.
            closer = wholly_recorded_around(inner)
            for asked in (inner,) if closer == inner else (inner, closer):
                plans = Planner(asked, self.left() / 2, self.count, warm=False).spread()
                found += [point_of(self.problem, loop, inner, plan) for plan in plans]
        return best_points(found, self.count)

    def spread(self) -> list[SchedulePlan]:
        """Plans that trade bytes held, bytes at the peak and seconds: all of them when they are few."""
        found, complete = self._every(2 * self.count)
        if not found:
            return [p for p in (greedy(self.problem, None),) if p is not None]
        if complete:
            return found
        ends = [p for p in (self.smallest(), self._least_held()) if p is not None]
        levels = sorted({_held(p) for p in (*found, *ends)})
        peaks = sorted({p.peak_bytes for p in (*found, *ends)})
        bounds = [*(Bounds(peak=limit) for limit in between(peaks[0], peaks[-1], self.count)),
                  *(Bounds(held=limit) for limit in between(levels[0], levels[-1], self.count // 2))]
        return [*found, *ends, *(p for bound in bounds if (p := self.fastest(bound)) is not None)]

    def _every(self, most: int) -> tuple[list[SchedulePlan], bool]:
        """Fewer and fewer bytes held, and for each a lower and lower peak; False when `most` did not suffice."""
        found: list[SchedulePlan] = []
        held: int | None = None
        while len(found) < most:
            level = self._descend(Bounds(held=held), most - len(found))
            found += level
            held = max((_held(p) for p in level), default=0) - 1
            if held < 0:
                return found, len(found) < most
        return found, False

    def _least_held(self) -> SchedulePlan | None:
        plan, _ = self._minimise(pulp().lpSum(self.model.held.values()), Bounds(), None)
        return plan


def between(low: int, high: int, count: int) -> list[int]:
    """Numbers strictly inside a range, evenly spread in ratio: half the bytes matter as much at any size."""
    ratio = (high + 1) / (low + 1)
    return sorted({round((low + 1) * ratio ** (k / (count + 1))) - 1 for k in range(1, count + 1)} - {low, high})


def _without_repeats(plans: list[SchedulePlan]) -> list[SchedulePlan]:
    found: dict[int, SchedulePlan] = {}
    for plan in plans:
        found.setdefault(plan.peak_bytes, plan)
    return list(found.values())


def _held(plan: SchedulePlan) -> int:
    return sum(verify(plan.problem, plan).held.values())
