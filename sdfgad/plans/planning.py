"""From a limit in bytes to the gradient program that keeps it: ask the solver, emit its plan, weigh what was emitted.

The solver works on a model of the memory; the emitted program says exactly what it needs. Where the two differ, the
solver is asked again for as much less.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from sdfgad.analysis.cost import seconds_of
from sdfgad.checkpoint.decided import INVERSE, RECOMPUTE, STORE
from sdfgad.checkpoint.modes import STORE_ALL, Mode
from sdfgad.checkpoint.roofline import Machine
from sdfgad.checkpoint.schedule import SNAPSHOT, ScheduleProblem
from sdfgad.checkpoint.schedule import STORE as PIN_STORE
from sdfgad.checkpoint.schedule_plan import SchedulePlan, store_everything
from sdfgad.codegen.targets import this_machine
from sdfgad.errors import MemoryLimitError, PlanNotExecutable, UsageError
from sdfgad.ir.program import Program
from sdfgad.ir.walk import statements
from sdfgad.later import later
from sdfgad.names import loop_name
from sdfgad.plans.emission import Emission
from sdfgad.plans.pins import too_small
from sdfgad.plans.plan import Plan
from sdfgad.reverse.made import Gradient
from sdfgad.thresholds import thresholds

if TYPE_CHECKING:
    from sdfgad.checkpoint.inner import Point
    from sdfgad.checkpoint.solve import Bounds, Planner
    from sdfgad.checkpoint.streaming import cached_modes, may_stream
    from sdfgad.checkpoint.verify import verify
    from sdfgad.plans.fallback import smaller_modes
    from sdfgad.reverse.problem import open_loops, schedule_of
else:
    Bounds = later("sdfgad.checkpoint.solve", "Bounds")
    Planner = later("sdfgad.checkpoint.solve", "Planner")
    cached_modes = later("sdfgad.checkpoint.streaming", "cached_modes")
    may_stream = later("sdfgad.checkpoint.streaming", "may_stream")
    verify = later("sdfgad.checkpoint.verify", "verify")
    smaller_modes = later("sdfgad.plans.fallback", "smaller_modes")
    open_loops = later("sdfgad.reverse.problem", "open_loops")
    schedule_of = later("sdfgad.reverse.problem", "schedule_of")

ATTEMPTS = 6
"""Plans tried for one limit before the smallest one is taken."""
MORE_ATTEMPTS = 2
NEAR_SMALLEST = 0.05
"""What is so little above the smallest program, of that, is not tried before it."""
NEAR_LEANEST = 0.005, 0.02, 0.05
"""Parts of the least bytes by the model: plans with so many more are looked at, as one may be the smallest."""
WORTHWHILE = 0.02
"""Of the limit: so much more than the model has to see too much before a plan above its bound is tried."""
HOPEFUL = 0.8
"""Of the smallest program: a limit that is not further below it is not refused before the front has been seen."""
POINTS = 12
"""Of a whole front, at peaks spread evenly in ratio."""
CACHED_GAIN = 1.1
"""A loop goes in segments unasked where that is so many times faster, as the estimates have it."""
SURE = 1.1
"""A loop whose iterations are independent keeps the records of one of them unless storing all is that much faster."""
NO_MODES: Mapping[str, Mode] = MappingProxyType({})
NOBODY: frozenset[str] = frozenset()


Emit = Callable[[frozenset[str], Mapping[str, Mode], frozenset[str]], Emission]
"""Of what is computed again, how loops run, and what is undone."""
Undoable = Callable[[frozenset[str], bool], frozenset[str]]
"""What is better undone than stored, apart from what goes by one of some names; and whether that is so only if all that
can be computed where it is read is."""


@dataclass
class Choice:
    """The search for one gradient. pins: array -> "store" or "recompute", loop variable -> "snapshot".

    forward: makes the program that runs forward only and keeps nothing.
    """

    emit: Emit
    forward: Callable[[], Program] = field(repr=False)
    undoable: Undoable
    limit: int | None
    pins: Mapping[str, str] = field(default_factory=dict)
    spill: bool = False
    """Whether snapshots lie on disk."""
    light: bool = True
    """Whether values that cost nothing to compute where they are read are left to that."""
    _emitted: dict[tuple[frozenset[str], frozenset[tuple[str, Mode]]], Emission] = field(
        default_factory=dict, init=False, repr=False)
    """Programs by what is computed again and how loops run."""
    _offered: Mapping[str, tuple[Point, ...]] | None = field(default=None, init=False, repr=False)
    """What inner loops offer to those around them, once it is known."""

    @cached_property
    def stored(self) -> Emission:
        """Everything stored but what an update leaves behind that can be undone, and what costs nothing to compute
        where it is read."""
        usual = self._with(self.undoable(self._barred, False))
        bold = self.undoable(self._barred, True)
        return usual if bold <= usual.undone else min((usual, self._with(bold)), key=_kept)

    def _with(self, undone: frozenset[str]) -> Emission:
        """With some updates undone, and what costs nothing to compute again then."""
        plain = self.emit(NOBODY, NO_MODES, undone)
        light = self._light(plain)
        return self.emit(light, NO_MODES, undone) if light else plain

    @property
    def _barred(self) -> frozenset[str]:
        """What is not undone, because a pin says that it is stored."""
        return frozenset(n for n, pin in self.pins.items() if pin == PIN_STORE)

    def _light(self, plain: Emission) -> frozenset[str]:
        light = frozenset(k.name for k in plain.made.kept if k.light and self.light)
        return light - self._pinned(plain.made, PIN_STORE)

    @cached_property
    def machine(self) -> Machine:
        return this_machine()

    @cached_property
    def question(self) -> ScheduleProblem:
        """What the solver is asked. Of what lies on growable tapes it knows nothing."""
        stored = self.stored.finished
        pins = {name: pin for name, pin in self._pinned_names.items() if name not in self._on_tapes}
        return schedule_of(stored.problem, self.stored.made, self.stored.whole.arrays, self.plain, self.machine, pins,
                           stored.held, self.spill)

    def asked(self) -> Planner:
        """The question, with the time for an answer before it; what inner loops offer is found once."""
        planner = Planner(self.question, inner=self._offered)
        self._offered = planner.model.points if planner.whole else None
        return planner

    @cached_property
    def _on_tapes(self) -> frozenset[str]:
        return frozenset(i.name for i in self.stored.problem.items if i.bytes is None)

    @cached_property
    def plain(self) -> Program:
        """The forward sweep that keeps nothing."""
        return self.forward()

    @cached_property
    def _blind(self) -> int:
        """Bytes that the solver's model counts for storing everything beyond what that really takes: arrays that share
        memory in a way that blocks of a schedule do not show."""
        return verify(self.question, store_everything(self.question)).peak_bytes - self.stored.peak

    @cached_property
    def cached(self) -> Emission | None:
        """Everything stored, but loops whose records would stream through memory in segments; None unless that is
        faster, by a margin for what the estimates do not know. Without snapshots it may not be slower, by as much."""
        modes = cached_modes(self.question) if may_stream(self.stored.problem) and not self.spill else None
        if not modes:
            return None
        try:
            found = self.emit(self.stored.recomputed, modes, self.stored.undone)
        except PlanNotExecutable:
            return None
        gain = CACHED_GAIN if any(self.question.loop[name].state_bytes for name in modes) else 1 / SURE
        faster = self._promising(found, gain) and gain * found.seconds(self.machine) < self.stored.seconds(self.machine)
        return found if faster else None

    def _promising(self, found: Emission, gain: float) -> bool:
        """Whether the passes of a large program may be worth their time: it is estimated to be faster before them."""
        raw, stored, time = found.made.program, self.stored.made.program, self.machine.seconds
        return sum(1 for _ in statements(raw.body)) < thresholds().large_program or \
            gain * seconds_of(raw.body, raw.arrays, time) < seconds_of(stored.body, stored.arrays, time)

    @cached_property
    def floor(self) -> Emission:
        """The smallest gradient program the planner knows of.

        To compute values where they are read may keep others alive, so without that it may be smaller; where the model
        of the solver sees that it is not, no program is made for it. Of a program that is not small others are not
        made to find one that takes a few bytes less: that would take longer than the rest of the planning.
        """
        own = self._smallest()
        if self.light and self.stored.recomputed:
            other = replace(self, light=False)
            own = own if other._foreseen >= own.peak else min((own, other._smallest()), key=lambda e: e.peak)
        small = sum(1 for _ in statements(self.stored.whole.body)) < thresholds().small_program
        return self._lower(own) if small and self._leanest is not None else own

    def _lower(self, own: Emission) -> Emission:
        """What is smaller than the smallest program by the model, which knows nothing of places in memory: programs of
        plans that it takes for little larger, and of lower limits until none is kept."""
        lowest = self._leanest.peak_bytes if self._leanest else 0
        for part in NEAR_LEANEST:
            schedule = self.asked().fastest(Bounds(peak=int(lowest * (1 + part))))
            own = own if schedule is None else min((own, self._emitted_or(own, schedule)), key=lambda e: e.peak)
        while (smaller := self._fitting(own.peak - 1)) is not None:
            own = smaller
        return own

    def _emitted_or(self, other: Emission, schedule: SchedulePlan) -> Emission:
        """The program of a schedule; another one where it cannot be made."""
        try:
            return self.emitted(schedule)
        except PlanNotExecutable:
            return other

    def _fitting(self, limit: int) -> Emission | None:
        """A program within a limit, the smallest plan aside: what the model takes for larger may come out smaller."""
        if not self.question.items:
            return None
        if not self.pins and self.cached is not None and self.cached.peak <= limit:
            return self.cached
        found = self._within(limit, limit + max(0, self._blind), ATTEMPTS)
        return None if found is None else found[0]

    def _smallest(self) -> Emission:
        smallest = self._leanest
        if self.pins:
            if smallest is None:
                named = ", ".join(f"{pin}={name!r}" for name, pin in self.pins.items())
                raise UsageError(f"the pins {named} contradict each other", code="SG205")
            return self.emitted(smallest)
        return self.stored if smallest is None else min((self.emitted(smallest), self.stored), key=lambda e: e.peak)

    @cached_property
    def _leanest(self) -> SchedulePlan | None:
        """The schedule of the lowest peak."""
        return self.asked().smallest()

    @property
    def _foreseen(self) -> int:
        """Bytes of the smallest program, as far as the model of the solver tells before there is one."""
        known = self.stored.peak
        return known if self._leanest is None else min(known, self._leanest.peak_bytes - max(0, self._blind))

    def best(self) -> tuple[Emission, Plan]:
        """The fastest program within the limit, and its plan; MemoryLimitError when there is none."""
        if not self.pins and self.cached is not None and (self.limit is None or self.cached.peak <= self.limit):
            return self.cached, self.plan(self.cached, None, "records in the cache where that is faster")
        if not self.pins and (self.limit is None or self.stored.peak <= self.limit):
            return self.stored, self.plan(self.stored, None)
        first = None if self.limit is None else self.limit + max(0, self._blind)
        found = self._within(self.limit, first, ATTEMPTS)
        if found is not None and first is not None and self.limit is not None:
            # Where the model sees more than is there, a faster plan may be within the limit, too.
            more = self.limit + found[1].peak_bytes - found[0].peak
            other = self._within(self.limit, more, MORE_ATTEMPTS) if more > first + WORTHWHILE * self.limit else None
            found = found if other is None else min(found, other, key=lambda pair: pair[1].seconds)
        if found is not None:
            return found[0], self.plan(*found)
        if self._last.peak <= (self.limit or 0):
            return self._last, self.plan(self._last, None, "the smallest there is")
        raise self._too_small()

    @cached_property
    def _last(self) -> Emission:
        """The smallest program. Where the limit is not far below it, programs on the front count, too: `pareto` names
        their peaks."""
        limit, floor = self.limit or 0, self.floor
        if self.pins or not self.question.items or not HOPEFUL * floor.peak <= limit < floor.peak:
            return floor
        found = (self._emitted_or(floor, s) for s in self.asked().front(Bounds(), POINTS - 1))
        return min((floor, *found), key=lambda e: e.peak)

    def _within(self, limit: int | None, bound: int | None,
                attempts: int) -> tuple[Emission, SchedulePlan] | None:
        """The program of the fastest plan that the model has within a bound, if it is within the limit itself; else of
        plans below that."""
        bounds = [bound]
        for _ in range(attempts):
            schedule = next(filter(None, (self.asked().fastest(Bounds(peak=b)) for b in bounds)), None)
            if schedule is None:
                return None
            schedule = replace(schedule, limit_bytes=limit)
            try:
                found = self.emitted(schedule)
            except PlanNotExecutable:  # values that can be computed again one by one, but not together
                return None
            if limit is None or found.peak <= limit:
                return found, schedule
            # The model misses as much of a plan nearby, or, if that leaves none, the same part; each has to be another.
            foreseen = schedule.peak_bytes
            bounds = [min(b, foreseen - 1) for b in (limit + foreseen - found.peak, limit * foreseen // found.peak)]
        return None

    def emitted(self, schedule: SchedulePlan) -> Emission:
        """The program a schedule asks for; PlanNotExecutable when it cannot be made."""
        again = frozenset(i.name for i in self.question.items) - schedule.stored
        again |= {name for name in self._on_tapes if self._pinned_names.get(name) == RECOMPUTE}
        modes = {name: mode for name, mode in schedule.modes.items() if mode.kind != STORE_ALL}
        key = (again, frozenset(modes.items()))
        if key not in self._emitted:
            self._emitted[key] = self.emit(self.stored.recomputed | again, modes, self.stored.undone)
        return self._emitted[key]

    def roomier(self, found: Emission) -> Iterator[tuple[Emission, Plan]]:
        """Programs that leave more and more of the limit to growable tapes, for when those of a program outgrow it:
        snapshots of the loops that fill them; when none are left, a program that holds less beside them, and again."""
        start: Emission | None = found
        while start is not None:
            if start is not found:
                yield start, self.plan(start, None, "less stored, as the tape of a loop of unknown length outgrew the "
                                       "limit")
            now = self._with_snapshots(start)
            while now is not None:
                yield now, self.plan(now, None, "snapshots, as the tape of a loop of unknown length outgrew the limit")
                now = self._with_snapshots(now)
            start = self._leaner(start)

    def _with_snapshots(self, found: Emission) -> Emission | None:
        """The same program where more of the loops that fill tapes keep snapshots; None when that does not fit."""
        free = (self.limit or 0) - found.peak
        modes = smaller_modes(open_loops(found.made), found.modes, free, self.spill) if free > 0 else None
        taken = None if modes is None else self.emit(found.recomputed, modes, found.undone)
        return None if taken is None or taken.peak > (self.limit or 0) else taken

    def _leaner(self, found: Emission) -> Emission | None:
        """A fast program of half of what a program holds beyond the smallest one; the smallest one, when there is none
        or not much is left; None when it is that."""
        try:
            smallest = self.floor
        except (PlanNotExecutable, UsageError):
            return None
        if found.peak <= smallest.peak:
            return None
        half = (found.peak + smallest.peak) // 2
        made = None if half - smallest.peak < NEAR_SMALLEST * smallest.peak else self._fitting(half)
        return smallest if made is None else made

    def plan(self, found: Emission, schedule: SchedulePlan | None, policy: str = "") -> Plan:
        """What a program keeps, as a plan."""
        decisions = {i.name: STORE if i.name in found.stored else INVERSE if i.name in found.undone else RECOMPUTE
                     for i in found.problem.items}
        if schedule is not None:
            policy = "the fastest within the limit" if self.limit is not None else "as pinned"
        return Plan(found.problem, decisions, self.limit, policy or "store, but for what is as cheap to recompute",
                    dict(found.modes), schedule, self.stored.peak)

    def _too_small(self) -> MemoryLimitError:
        return too_small(self._last.problem, self._last.stored, self._last.peak, self.limit or 0, self._blamed())

    @cached_property
    def _pinned_names(self) -> dict[str, str]:
        """The pins by name of item and loop."""
        found: dict[str, str] = {}
        problem = self.stored.problem
        for name, pin in self.pins.items():
            if pin == SNAPSHOT:
                hits = [n for n in problem.loops if name in (n, n.split("@")[0], loop_name(n.split("@")[0]))]
            else:
                hits = [i.name for i in problem.items if name in (i.name, i.array)
                        and i.name not in self.stored.recomputed]
            if not hits and not self._already(name, pin):
                loops = (loop_name(n.split("@")[0]) for n in problem.loops)
                known = sorted(set(loops)) if pin == SNAPSHOT else sorted({i.array for i in problem.items})
                raise UsageError(f"{pin}={name!r}: nothing of this name is kept", code="SG205",
                                 help=f"known: {', '.join(known) or 'none'}")
            fixed = [i.name for i in problem.items if i.name in hits and not i.recomputable]
            if pin == RECOMPUTE and fixed:
                raise UsageError(f"{pin}={name!r}: what {', '.join(fixed)} held cannot be made again", code="SG205")
            found |= dict.fromkeys(hits, pin)
        return found

    def _blamed(self) -> list[str]:
        """The pins without which the limit can be kept: each alone if one is enough, else all."""
        def fits(pins: Mapping[str, str]) -> bool:
            return replace(self, pins=pins).floor.peak <= (self.limit or 0)
        if not self.pins or not fits({}):
            return []
        guilty = [n for n in self.pins if fits({k: v for k, v in self.pins.items() if k != n})]
        return [f"{self.pins[n]}={n!r}" for n in guilty or self.pins]

    def _already(self, name: str, pin: str) -> bool:
        """Whether what the pin asks for is so without it, or another form of the values is kept that takes less."""
        if pin == PIN_STORE:
            others = self._barred - {name}
            return self.undoable(others, False) != self.undoable(self._barred, False)
        return pin == RECOMPUTE and any(name in (i.name, i.array) for i in self.stored.problem.items)

    def _pinned(self, made: Gradient, pin: str) -> frozenset[str]:
        """Kept values that a pin names, by their own name or the user's."""
        arrays = made.program.arrays
        return frozenset(k.name for k in made.kept for n, p in self.pins.items()
                         if p == pin and n in (k.name, arrays[k.array].label or k.array))


def _kept(found: Emission) -> tuple[int, int]:
    """Growable tapes, and bytes of the others."""
    sizes = [k.bytes for k in found.made.kept if not (k.again or k.undone)]
    return sizes.count(None), sum(size or 0 for size in sizes)
