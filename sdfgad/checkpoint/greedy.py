"""A plan without a solver: from storing everything, give up what saves most per second until the limit holds."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from sdfgad.checkpoint.modes import BINOMIAL, SEGMENTS, STORE_ALL, Mode, offered_modes, price
from sdfgad.checkpoint.schedule import RECOMPUTE, SNAPSHOT, ScheduledItem, ScheduledLoop, ScheduleProblem
from sdfgad.checkpoint.schedule_plan import Rebuild, SchedulePlan, store_everything
from sdfgad.checkpoint.verify import Verdict, verify

Change = Callable[[SchedulePlan], SchedulePlan | None]
ROUNDS = 3


def greedy(problem: ScheduleProblem, limit: int | None) -> SchedulePlan | None:
    """A legal plan within the limit, or None when this way finds none. No bound on how good it is."""
    plan = _pinned(problem)
    verdict = verify(problem, plan)
    for _ in range(ROUNDS):
        for change in _ranked(problem, plan, verdict, limit):
            if not _excess(verdict, limit):
                break
            plan, verdict = _tried(problem, plan, verdict, change, limit)
    if verdict.complaints or _excess(verdict, limit):
        return None
    return replace(plan, limit_bytes=limit, peak_bytes=verdict.peak_bytes, seconds=verdict.seconds)


def _excess(verdict: Verdict, limit: int | None) -> int:
    """Bytes above the limit, summed over the blocks: unlike the peak, it sees progress in one block of several."""
    return 0 if limit is None else sum(max(0, size - limit) for size in verdict.timeline)


def _tried(problem: ScheduleProblem, plan: SchedulePlan, now: Verdict, change: Change,
           limit: int | None) -> tuple[SchedulePlan, Verdict]:
    """The plan with the change, when that is legal and brings it nearer to the limit."""
    changed = change(plan)
    if changed is None:
        return plan, now
    verdict = verify(problem, changed)
    nearer = _excess(verdict, limit) < _excess(now, limit)
    return (changed, verdict) if nearer and not verdict.complaints else (plan, now)


def _ranked(problem: ScheduleProblem, plan: SchedulePlan, now: Verdict, limit: int | None) -> list[Change]:
    """The changes that help on their own, by how much they save per second."""
    rated: list[tuple[float, int, Change]] = []
    if not _excess(now, limit):
        return []
    for k, change in enumerate(_changes(problem)):
        changed, verdict = _tried(problem, plan, now, change, limit)
        if changed is not plan:
            saved = _excess(now, limit) - _excess(verdict, limit)
            rated.append((-saved / max(verdict.seconds - now.seconds, 1e-12), k, change))
    return [change for _, _, change in sorted(rated, key=lambda r: r[:2])]


def _changes(problem: ScheduleProblem) -> Iterator[Change]:
    for item in problem.items:
        if item.rebuildable and item.name not in problem.pins:
            yield partial(_given_up, problem, item)
    for loop in problem.loops:
        for mode in offered_modes(loop, problem.pins.get(loop.name)):
            if _worth_trying(mode):
                yield partial(_run_as, loop.name, mode)


def _run_as(loop: str, mode: Mode, plan: SchedulePlan) -> SchedulePlan:
    return replace(plan, modes={**plan.modes, loop: mode})


def _worth_trying(mode: Mode) -> bool:
    """All kinds, with counts in powers of two: this is a start, not the answer."""
    return mode.kind != STORE_ALL and (mode.kind not in (BINOMIAL, SEGMENTS) or mode.count & (mode.count - 1) == 0)


def _pinned(problem: ScheduleProblem) -> SchedulePlan:
    """Everything stored but what the pins say."""
    plan = store_everything(problem)
    for name, pin in problem.pins.items():
        if pin == RECOMPUTE:
            plan = _given_up(problem, problem.item[name], plan) or plan
        elif pin == SNAPSHOT:
            plan = _run_as(name, _fastest(problem.loop[name]), plan)
    return plan


def _fastest(loop: ScheduledLoop) -> Mode:
    return min(offered_modes(loop, SNAPSHOT), key=lambda m: price(m, loop).seconds)


def _given_up(problem: ScheduleProblem, item: ScheduledItem, plan: SchedulePlan) -> SchedulePlan | None:
    """The item made again at every block that uses it, or before the inner loop that does; None when that cannot be."""
    if item.name not in plan.stored:
        return None
    derived = {r.block for r in plan.rebuilds for recipe in (problem.item[r.item].recipe,)
               if recipe and item.name in recipe.items}
    places = problem.rebuild_blocks(item)
    made = set()
    for use in sorted(derived | set(item.needed)):
        place = max((b for b in places if b <= use), default=None)
        if place is None:
            return None
        made.add(Rebuild(item.name, place))
    return replace(plan, stored=plan.stored - {item.name}, rebuilds=tuple(sorted({*plan.rebuilds, *made})))
