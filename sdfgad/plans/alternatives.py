"""What else could be done: the floor, the plans to either side, the whole front; and what a plan costs by the model."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

from sdfgad.analysis.cost import seconds_of
from sdfgad.checkpoint.modes import SEGMENTS, STORE_ALL, Mode, each, price
from sdfgad.checkpoint.outlook import About, FrontPoint, LoopRow, Outlook
from sdfgad.checkpoint.schedule import ScheduledLoop, ScheduleProblem
from sdfgad.checkpoint.schedule_plan import Rebuild, SchedulePlan, store_everything
from sdfgad.checkpoint.verify import Verdict, verify
from sdfgad.config import config, for_same_target, settings
from sdfgad.errors import PlanNotExecutable, UsageError
from sdfgad.later import later
from sdfgad.plans.emission import Emission
from sdfgad.plans.plan import Plan
from sdfgad.plans.planning import POINTS, Choice

if TYPE_CHECKING:
    from sdfgad.checkpoint.solve import Bounds, between
    from sdfgad.plans.timeline import timeline_of
    from sdfgad.reverse.problem import open_loops
else:
    Bounds = later("sdfgad.checkpoint.solve", "Bounds")
    between = later("sdfgad.checkpoint.solve", "between")
    timeline_of = later("sdfgad.plans.timeline", "timeline_of")
    open_loops = later("sdfgad.reverse.problem", "open_loops")

PATIENCE = 2.0
"""Seconds one question to the solver may take for a report."""
HURRY = 4.0
"""Seconds after which a report does without further neighbours."""
ALONE = "one by one, each starts from nothing"
"""How independent iterations run."""
TRIED = 2
"""Of these, the nearest ones that a report looks at before it names the end."""
USEFUL = 0.01
"""A point on the front is smaller than the one before it by that share, and faster than the one behind it."""


@dataclass(frozen=True)
class Alternative:
    """A gradient program, and how the solver's model sees it."""

    choice: Choice
    emission: Emission
    plan: Plan

    @cached_property
    def schedule(self) -> SchedulePlan:
        return self.plan.schedule or _by_hand(self.choice.question, self.emission)

    @cached_property
    def verdict(self) -> Verdict:
        return verify(self.schedule.problem, self.schedule)

    @cached_property
    def seconds(self) -> float:
        """Of one call: what storing everything takes, and what the plan takes beyond that.

        Of segments that nobody asked the solver for, the estimate that they were chosen by: the solver's model does not
        know that their records stay in the cache.
        """
        if self.plan.schedule is None and all(m.kind == SEGMENTS for m in self.emission.modes.values()):
            return self.emission.seconds(self.choice.machine)
        question = self.schedule.problem
        base = verify(question, store_everything(question)).seconds
        return self.choice.stored.seconds(self.choice.machine) + self.verdict.seconds - base

    def point(self) -> FrontPoint:
        return FrontPoint(self.emission.peak, self.emission.peak, self.seconds / forward_seconds(self.choice))


def told(plan: Plan, choice: Choice, emission: Emission, about: About) -> Plan:
    """The plan with what a report needs; the solver is asked again only when somebody reads it."""
    plain = replace(plan, about=about)
    return replace(plain, look=_later(Alternative(choice, emission, plain)))


def _later(found: Alternative, whole: tuple[FrontPoint, ...] | None = None) -> Callable[[], Outlook]:
    """An outlook when it is asked for: of programs for the target of the plan, whatever is in force then."""
    same = for_same_target()

    def look() -> Outlook:
        with same():
            return outlook_of(found, whole)
    return look


def forward_seconds(choice: Choice) -> float:
    """Of one forward sweep that keeps nothing."""
    return max(seconds_of(choice.plain.body, choice.plain.arrays, choice.machine.seconds), 1e-12)


def outlook_of(found: Alternative, whole: tuple[FrontPoint, ...] | None = None) -> Outlook:
    """Everything a report tells about a plan. whole: the front, where it is known; else the points to either side."""
    choice, schedule = found.choice, found.schedule
    began = time.monotonic()
    with config(solver_time_limit=min(PATIENCE, settings().solver_time_limit)):
        floor = _floor(found)
        beside = tuple(_neighbours(found, floor, began + HURRY)) if whole is None else whole
    # Of a program that is not small, the front may hold a smaller one than the floor.
    least = min((floor.emission.peak, *(point.peak_bytes for point in beside)))
    return Outlook(least, forward_seconds(choice), found.seconds,
                   choice.stored.seconds(choice.machine), _extra_seconds(schedule),
                   (*_loop_rows(schedule), *_open_rows(found.emission, schedule)),
                   timeline_of(found.emission), beside, whole is not None)


def _extra_seconds(schedule: SchedulePlan) -> dict[str, float]:
    """Of making each item again, in one call."""
    found: dict[str, float] = {}
    for rebuild in schedule.rebuilds:
        item = schedule.problem.item[rebuild.item]
        once = item.recipe.seconds if item.recipe else 0.0
        found[item.name] = found.get(item.name, 0.0) + once * schedule.problem.visits(item.loop)
    return found


def front(choice: Choice, points: int) -> list[Alternative]:
    """Executable plans, none of which is both smaller and faster than another, from the fastest to the smallest."""
    schedules = choice.asked().front(Bounds(), max(points - 1, 2)) if choice.question.items else []
    found = [f for s in schedules if (f := _emitted(choice, s)) is not None]
    found += [] if choice.pins else [_as_found(choice, e) for e in (choice.stored, choice.cached) if e is not None]
    found += [_floor(f) for f in found[-1:]]
    return _spread(_useful(_undominated(found)), points)


def _spread(found: list[Alternative], points: int) -> list[Alternative]:
    """So many of them, both ends among them."""
    if len(found) <= points:
        return found
    return [found[round(k * (len(found) - 1) / max(1, points - 1))] for k in range(points)]


def plans_on_front(choice: Choice, about: About, points: int) -> list[Plan]:
    """The front as plans, each with its own outlook, which holds the whole front."""
    if points < 1:
        raise UsageError(f"points={points}: a front has one point at least", code="SG205")
    found = front(choice, points)
    whole = tuple(f.point() for f in found)
    return [replace(f.plan, about=about, look=_later(f, whole)) for f in found]


def _undominated(found: list[Alternative]) -> list[Alternative]:
    kept: list[Alternative] = []
    for one in sorted(found, key=lambda f: (f.seconds, f.emission.peak)):
        if not kept or one.emission.peak < kept[-1].emission.peak:
            kept.append(one)
    return kept


def _useful(found: list[Alternative]) -> list[Alternative]:
    """Without points that are hardly different from their neighbours; the ends stay."""
    kept = found[:1]
    for one in found[1:-1]:
        smaller = one.emission.peak < (1 - USEFUL) * kept[-1].emission.peak
        if smaller and one.seconds < (1 - USEFUL) * found[-1].seconds:
            kept.append(one)
    return kept + found[1:][-1:]


def _as_found(choice: Choice, emission: Emission, schedule: SchedulePlan | None = None) -> Alternative:
    plan = replace(choice.plan(emission, schedule), limit_bytes=emission.peak, policy="a point on the front")
    return Alternative(choice, emission, plan)


def _emitted(choice: Choice, schedule: SchedulePlan | None) -> Alternative | None:
    """The program of a schedule; None when the emission cannot follow it."""
    if schedule is None:
        return None
    try:
        emission = choice.emitted(schedule)
    except PlanNotExecutable:
        return None
    return _as_found(choice, emission, replace(schedule, limit_bytes=emission.peak))


def _floor(found: Alternative) -> Alternative:
    """The smallest program known; this very one when nothing else can be made."""
    choice = found.choice
    try:
        smallest = choice.floor
    except (PlanNotExecutable, UsageError):
        return found
    return _as_found(choice, smallest) if smallest.peak < found.emission.peak else found


def _neighbours(found: Alternative, floor: Alternative, deadline: float) -> Iterator[FrontPoint]:
    """The nearest points of the whole front to either side: faster with more bytes, and with fewer. The ends where the
    next ones are no different."""
    choice, peak = found.choice, found.emission.peak
    if not choice.question.items:
        return
    ahead = () if choice.pins else (_as_found(choice, choice.stored),)
    levels = between(floor.emission.peak, choice.stored.peak, POINTS - 3)
    more = (_fastest_within(choice, level, deadline) for level in levels if level > peak)
    for faster in chain(islice(more, TRIED), ahead):
        if faster is not None and faster.emission.peak > peak and faster.seconds < (1 - USEFUL) * found.seconds:
            yield faster.point()
            break
    less = (_fastest_within(choice, level, deadline) for level in reversed(levels) if level < (1 - USEFUL) * peak)
    for smaller in chain(islice(less, TRIED), (floor,)):
        if smaller is not None and smaller.emission.peak < peak:
            yield smaller.point()
            break


def _fastest_within(choice: Choice, limit: int, deadline: float) -> Alternative | None:
    """None when time is up, too."""
    if time.monotonic() > deadline:
        return None
    return _emitted(choice, choice.asked().fastest(Bounds(peak=limit)))


def _by_hand(question: ScheduleProblem, emission: Emission) -> SchedulePlan:
    """What an emission does, in the words of the solver's problem."""
    stored = frozenset(question.item) - emission.recomputed
    rebuilds = tuple(Rebuild(i.name, b) for i in question.items if i.name not in stored for b in i.needed)
    modes = {p.name: emission.modes.get(p.name, Mode(STORE_ALL)) for p in question.loops}
    return SchedulePlan(question, stored, rebuilds, modes)


def _loop_rows(schedule: SchedulePlan) -> Iterator[LoopRow]:
    for loop in schedule.problem.loops:
        mode = schedule.modes[loop.name]
        extra = price(mode, loop).seconds * schedule.problem.visits(loop.parent)
        held = sum(size for _, size in _held(schedule, loop, 1, 0))
        alone = not loop.state_bytes and mode == each(loop)
        yield LoopRow(loop.name, loop.trips, ALONE if alone else str(mode), held, loop.state_bytes, extra)


def _open_rows(emission: Emission, schedule: SchedulePlan) -> Iterator[LoopRow]:
    """Loops that fill growable tapes and keep snapshots; the solver's model does not know them."""
    for name, loop in open_loops(emission.made).items():
        if name in emission.modes and name not in schedule.modes:
            mode = emission.modes[name]
            yield LoopRow(name, loop.trips or 0, str(mode), mode.count * loop.state, loop.state, None)


def _held(schedule: SchedulePlan, loop: ScheduledLoop, times: int, whole: int) -> Iterator[tuple[str, int]]:
    """What runs of a loop keep from the forward sweep, by array. whole: loops right around it that are wholly recorded.
    """
    mode = schedule.modes[loop.name]
    cost = price(mode, loop)
    if cost.snapshots:
        yield f"snapshots of {loop.name}", times * cost.snapshots * loop.state_bytes
    yield from _records(schedule, loop, times * cost.held_records, whole + 1 if mode.kind == STORE_ALL else 0)


def _records(schedule: SchedulePlan, loop: ScheduledLoop, count: int, whole: int) -> Iterator[tuple[str, int]]:
    for item in schedule.problem.items:
        if item.loop == loop.name and item.name in schedule.stored and count:
            yield item.array, round(count * item.stored_within(whole))
    for inner in schedule.problem.children(loop.name):
        yield from _held(schedule, inner, count, whole)
