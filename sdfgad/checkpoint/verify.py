"""Walk through a plan block by block: is every value there when it is needed, and how much memory is alive?

Shares no code with the solver's model, so that each can be held against the other; works for plans made by hand, too.
"""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import ceil

from sdfgad.checkpoint.modes import STORE_ALL, is_possible, price
from sdfgad.checkpoint.schedule import (
    FORWARD,
    RECOMPUTE,
    REVERSE,
    SNAPSHOT,
    STORE,
    ScheduledBlock,
    ScheduledItem,
    ScheduleProblem,
)
from sdfgad.checkpoint.schedule_plan import Rebuild, SchedulePlan


@dataclass(frozen=True)
class Verdict:
    """complaints: what makes the plan illegal. live: bytes by name, for each block. seconds: extra time.

    held: bytes alive from the forward sweep to the reverse one, per outermost loop.
    """

    complaints: tuple[str, ...]
    live: tuple[Mapping[str, int], ...]
    seconds: float
    held: Mapping[str, int]

    @cached_property
    def timeline(self) -> tuple[int, ...]:
        """Bytes alive in each block."""
        return tuple(sum(names.values()) for names in self.live)

    @property
    def peak_bytes(self) -> int:
        return max(self.timeline, default=0)

    @property
    def peak(self) -> Mapping[str, int]:
        """What is alive where the peak is."""
        return self.live[self.timeline.index(self.peak_bytes)] if self.live else {}


def verify(problem: ScheduleProblem, plan: SchedulePlan) -> Verdict:
    """Check dependencies, availability and pins of any plan, and find its peak and its time."""
    complaints = tuple(_unknown_names(problem, plan))
    if complaints:
        return Verdict(complaints, (), 0.0, {})
    walk = _PlanWalk(problem, plan)
    complaints = (*walk.complaints(), *_broken_pins(problem, plan))
    held = {p.name: walk.held(p.name, 0) for p in problem.children(None)}
    return Verdict(complaints, walk.live(), walk.seconds(), held)


def without_waste(problem: ScheduleProblem, plan: SchedulePlan) -> SchedulePlan:
    """The plan without rebuilds that serve no reader."""
    walk = _PlanWalk(problem, plan)
    serving = tuple(r for r in plan.rebuilds if walk.serves(r))
    return plan if serving == plan.rebuilds else without_waste(problem, replace(plan, rebuilds=serving))


def _unknown_names(problem: ScheduleProblem, plan: SchedulePlan) -> Iterator[str]:
    for name in sorted((plan.stored | {r.item for r in plan.rebuilds}) - set(problem.item)):
        yield f"there is no value {name}"
    for name in sorted(set(plan.modes) ^ set(problem.loop)):
        yield f"there is no loop {name}" if name in plan.modes else f"loop {name} has no mode"
    for name in sorted(set(plan.modes) & set(problem.loop)):
        if not is_possible(plan.modes[name], problem.loop[name]):
            yield f"loop {name} cannot be run as {plan.modes[name]}"


def _broken_pins(problem: ScheduleProblem, plan: SchedulePlan) -> Iterator[str]:
    for name, pin in problem.pins.items():
        kept = {STORE: name in plan.stored, RECOMPUTE: name not in plan.stored,
                SNAPSHOT: name not in plan.modes or plan.modes[name].snapshots}
        if not kept[pin]:
            yield f"the pin {pin}={name!r} is not kept"


class _PlanWalk:
    """One plan on its way through the blocks."""

    def __init__(self, problem: ScheduleProblem, plan: SchedulePlan) -> None:
        self.problem, self.plan = problem, plan
        self.made: dict[str, list[int]] = {name: [] for name in problem.item}
        for rebuild in sorted(plan.rebuilds, key=lambda r: r.block):
            self.made[rebuild.item].append(rebuild.block)
        self.spans = {item.name: self._copies(item) for item in problem.items}
        # All blocks ask for the same.
        self.held = cache(self._held)
        self.record = cache(self._record)

    def uses(self, item: ScheduledItem) -> list[int]:
        """Reverse blocks that read the item, or make another one from it. A block of a loop inside the item's region
        runs once per iteration, so the item has to be there from the loop's first block to its last."""
        derived = {r.block for r in self.plan.rebuilds if item.name in self._sources(r)}
        return sorted({b for use in derived | set(item.needed) for b in self._again_until(item, use, REVERSE)})

    def _again_until(self, item: ScheduledItem, block: int, phase: str) -> tuple[int, ...]:
        """The block, or all blocks of the loop inside the item's region that repeats it."""
        loops = self.problem.chain(self.problem.blocks[block].loop)[len(self.problem.chain(item.loop)):]
        return self.problem.span(loops[0], phase) if loops else (block,)

    def _sources(self, rebuild: Rebuild) -> tuple[str, ...]:
        recipe = self.problem.item[rebuild.item].recipe
        return () if recipe is None else recipe.items

    def _copies(self, item: ScheduledItem) -> list[tuple[int, int]]:
        """(first, last) block of each copy: one made again, or the stored one of the top, which starts at its birth."""
        last = {start: self._again_until(item, start, REVERSE)[-1] for start in self.made[item.name]}
        if item.name in self.plan.stored and item.loop is None:
            last[self._again_until(item, item.born, FORWARD)[0]] = self.problem.first_reverse - 1
        for use in self.uses(item):
            start = self._served_from(item, use)
            if start is not None:
                last[start] = use
        return sorted(last.items())

    def _served_from(self, item: ScheduledItem, use: int) -> int | None:
        """Where the copy that serves a use was made: None for the record of an iteration, or when there is no copy."""
        starts = self.made[item.name]
        k = bisect_right(starts, use)
        if k:
            return starts[k - 1]
        if item.name in self.plan.stored and item.loop is None:
            return self._again_until(item, item.born, FORWARD)[0]
        return None

    def serves(self, rebuild: Rebuild) -> bool:
        """Whether some block reads this very copy."""
        item = self.problem.item[rebuild.item]
        return any(self._served_from(item, use) == rebuild.block for use in self.uses(item))

    def complaints(self) -> Iterator[str]:
        """Values missing where they are used, and rebuilds that cannot be."""
        for item in self.problem.items:
            if item.store_only and item.name not in self.plan.stored:
                yield f"{item.name} has to be stored"
            if item.name not in self.plan.stored:
                yield from (f"{item.name} is not there for block {use}" for use in self.uses(item)
                            if self._served_from(item, use) is None)
        for rebuild in self.plan.rebuilds:
            yield from self._rebuild_complaints(rebuild)

    def _rebuild_complaints(self, rebuild: Rebuild) -> Iterator[str]:
        item = self.problem.item[rebuild.item]
        if item.recipe is None or item.store_only:
            yield f"{item.name} cannot be made again"
            return
        if not self._may_run_at(item, rebuild.block):
            yield f"block {rebuild.block} is no place to make {item.name} again"
        for array, blocks in item.recipe.intact.items():
            if rebuild.block not in blocks:
                yield f"{item.name} cannot be made again in block {rebuild.block}: {array} has been overwritten"

    def _may_run_at(self, item: ScheduledItem, block: int) -> bool:
        """In the item's own region, once per run of it: not inside an inner loop, but right before one."""
        inside = self.problem.span(item.loop, REVERSE)
        if block not in inside:
            return False
        inner = self.problem.blocks[block].loop
        own = len(self.problem.chain(item.loop))
        nested = self.problem.chain(inner)[own:]
        return not nested or block == self.problem.span(nested[0], REVERSE)[0]

    def live(self) -> tuple[Mapping[str, int], ...]:
        """Name and bytes of everything alive in each block."""
        found = [dict(block.base) for block in self.problem.blocks]
        for name, size, first, last in (*self._values(), *self._kept()):
            for names in found[first:last + 1]:
                names[name] = size
        for names, block in zip(found, self.problem.blocks, strict=True):
            names.update(self._running(block) if block.phase == REVERSE else ())
        return tuple(found)

    def _values(self) -> Iterator[tuple[str, int, int, int]]:
        """Copies of values, and what making them takes: name, bytes, first and last block."""
        for item in self.problem.items:
            made, recipe = self.made[item.name], item.recipe
            for first, last in self.spans[item.name]:
                yield f"value {item.name}", item.bytes if first in made else item.stored_bytes, first, last
            if recipe is not None and recipe.scratch:
                yield from ((f"scratch of {item.name}", recipe.scratch, block, block) for block in made)

    def _kept(self) -> Iterator[tuple[str, int, int, int]]:
        for top in self.problem.children(None):
            first, last = self.problem.span(top.name, FORWARD)[0], self.problem.span(top.name, REVERSE)[-1]
            yield f"kept of loop {top.name}", self.held(top.name, 0), first, last

    def _running(self, block: ScheduledBlock) -> Iterator[tuple[str, int]]:
        for name in self.problem.chain(block.loop):
            records = price(self.plan.modes[name], self.problem.loop[name]).working_records
            yield f"running segment of loop {name}", ceil(records * self.record(name, 0))

    def _held(self, loop: str, whole: int) -> int:
        """Bytes one run of a loop keeps from its forward sweep for its reverse. whole: so many loops right around it
        are wholly recorded."""
        mode = self.plan.modes[loop]
        cost = price(mode, self.problem.loop[loop])
        snapshots = cost.snapshots * self.problem.loop[loop].state_bytes
        records = cost.held_records * self.record(loop, whole + 1 if mode.kind == STORE_ALL else 0)
        return snapshots + ceil(records) + cost.table

    def _record(self, loop: str, whole: int) -> float:
        """Bytes one recorded iteration keeps. whole: so many loops are wholly recorded, from this one outwards."""
        own = sum(i.stored_within(whole) for i in self.problem.items if i.loop == loop and i.name in self.plan.stored)
        return own + sum(self.held(inner.name, whole) for inner in self.problem.children(loop))

    def seconds(self) -> float:
        """Extra time of rebuilds, of storing, and of running iterations again."""
        p, total = self.problem, 0.0
        for rebuild in self.plan.rebuilds:
            recipe = p.item[rebuild.item].recipe
            total += (recipe.seconds if recipe else 0.0) * p.visits(p.item[rebuild.item].loop)
        total += sum(p.item[n].store_seconds * p.visits(p.item[n].loop) for n in sorted(self.plan.stored))
        return total + sum(price(m, p.loop[n]).seconds * p.visits(p.loop[n].parent) for n, m in self.plan.modes.items())
