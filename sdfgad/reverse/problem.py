"""The planner's problem, read off a gradient program."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from sdfgad.analysis.access import Site, run_range, sites
from sdfgad.analysis.cost import CACHE_BYTES, NEAR_BYTES, Work, seconds_of
from sdfgad.analysis.restart import restarts
from sdfgad.checkpoint.problem import Item, Problem
from sdfgad.checkpoint.roofline import Machine
from sdfgad.checkpoint.schedule import STORE as PIN_STORE
from sdfgad.checkpoint.schedule import (
    FORWARD,
    REVERSE,
    Recipe,
    ScheduledBlock,
    ScheduledItem,
    ScheduledLoop,
    ScheduleProblem,
)
from sdfgad.ir.program import Block, If, Loop, Program, Range, While
from sdfgad.ir.walk import children, statements
from sdfgad.reverse.loop_modes import ROW_BYTES, loop_names, most_trips
from sdfgad.reverse.storage import Kept
from sdfgad.reverse.sweeps import Gradient
from sdfgad.transform.expand import iteration_slots

DISK_BYTES_PER_SECOND = 5e8
"""Of an ordinary solid-state disk."""
BYTES_PER_ELEMENT = 8
"""Of most arrays."""
OPERATIONS_PER_ELEMENT = 8
"""Of a value that is computed again, as far as nobody counted."""


def problem_of(primal: Program, whole: Program, made: Gradient, copied: frozenset[str], code: str) -> Problem:
    """Items: what was recorded and survived dead code, or is computed again. Base: every other array, and copies of
    arguments."""
    around = _Loops(made.swept)
    items = []
    for k in made.kept:
        if k.bytes is not None and k.tape not in whole.arrays and not (k.again or k.undone):
            continue
        array = whole.arrays.get(k.array) or made.program.arrays[k.array]
        size = whole.arrays[k.tape].bytes if k.tape in whole.arrays and not k.again else k.bytes
        items.append(Item(k.name, array.label or k.array, size, k.source.file if k.source else "",
                          k.source.line if k.source else 0, k.because, k.recomputable, k.cost, k.light,
                          around.innermost(k.path) or "", (k.bytes or 0) // max(1, around.visits(k.path)), k.how))
    tapes = {k.tape for k in made.kept if not k.again}
    base = {n: a.bytes for n, a in whole.arrays.items() if n not in tapes and a.role != "disk"}
    base.update({f"{n} (copy)": whole.arrays[n].bytes for n in sorted(copied)})
    return Problem(primal.name, tuple(items), base, tuple(around.names.values()), code)


class _Loops:
    """The loops of a program that may start again from snapshots."""

    def __init__(self, program: Program) -> None:
        place = sites(program.body)
        named = loop_names(program)
        self.loops: dict[str, Loop] = {}
        self.trips: dict[str, int] = {}
        self.names: dict[str, str] = {}
        """Of a loop, by its variable."""
        for stmt in statements(program.body):
            most = most_trips(stmt, place[id(stmt)].path) if isinstance(stmt, Loop) else None
            if isinstance(stmt, Loop) and most is not None and most > 1:
                name = named[id(stmt)]
                self.loops[name], self.trips[name], self.names[stmt.range.var] = stmt, most, name
        self.place: Mapping[int, Site] = place

    def chain(self, path: Sequence[Range]) -> list[str]:
        return [self.names[r.var] for r in path if r.var in self.names]

    def innermost(self, path: Sequence[Range]) -> str | None:
        chain = self.chain(path)
        return chain[-1] if chain else None

    def visits(self, path: Sequence[Range]) -> int:
        return prod(self.trips[name] for name in self.chain(path))


@dataclass
class _Timeline:
    """Blocks of the schedule in program order, and the block of each statement (by its order in the program)."""

    loops: _Loops
    base: Mapping[str, int]
    wanted: frozenset[str]
    blocks: list[ScheduledBlock] = field(default_factory=list)
    block_of: dict[int, int] = field(default_factory=dict)
    open: bool = False

    def visit(self, block: Block, around: str | None) -> None:
        for stmt in block:
            name = self.loops.names.get(stmt.range.var) if isinstance(stmt, Loop) else None
            if name in self.wanted:
                self.open = False
                self.visit(children(stmt)[0], name)
                self._here(name)
                self.open = False
            elif isinstance(stmt, (If, Loop, While)):
                for inner in children(stmt):
                    self.visit(inner, around)
            else:
                self.block_of[self.loops.place[id(stmt)].order] = self._here(around)

    def _here(self, around: str | None) -> int:
        """The block that is being written, of this very region."""
        if not (self.open and self.blocks and self.blocks[-1].loop == around):
            self.blocks.append(ScheduledBlock(f"forward {len(self.blocks)}", FORWARD, self.base, around))
            self.open = True
        return len(self.blocks) - 1


def schedule_of(problem: Problem, made: Gradient, plain: Program, machine: Machine, pins: Mapping[str, str],
                spill: bool = False) -> ScheduleProblem:
    """The question for the solver: the items of a problem that stores whatever is neither light nor undone, in blocks
    and loops.

    plain: what a forward sweep that records nothing comes to in the end, which says how long iterations take.

    Every array of the base lives throughout, as the code generator has it. Snapshots that lie on disk (spill) take no
    memory but time.
    """
    loops = _Loops(made.swept)
    kept = {k.name: k for k in made.kept}
    items = [i for i in problem.items if i.bytes and not (kept[i.name].again or kept[i.name].undone)]
    wanted = frozenset(name for i in items for name in loops.chain(kept[i.name].path))
    time = _Timeline(loops, problem.base, wanted)
    time.visit(made.swept.body, None)
    if not time.blocks:
        time.blocks.append(ScheduledBlock("forward 0", FORWARD, problem.base))
    forward = list(time.blocks)
    backward = [ScheduledBlock(f"reverse of {b.name}", REVERSE, b.base, b.loop) for b in reversed(forward)]
    scheduled = tuple(_scheduled_loops(made, plain, loops, wanted, machine, spill))
    found = tuple(_scheduled_item(i, kept[i.name], time, len(forward), machine, loops) for i in items)
    # A growable tape, which the solver does not see, is stored whatever it says.
    seen = {n: pin for n, pin in pins.items() if pin != PIN_STORE or any(n == i.name for i in items)}
    return ScheduleProblem(problem.target, (*forward, *backward), found, scheduled, seen)


def _scheduled_item(item: Item, kept: Kept, time: _Timeline, forward: int, machine: Machine,
                    loops: _Loops) -> ScheduledItem:
    region = loops.innermost(kept.path)
    born = time.block_of.get(kept.order)
    if born is None or time.blocks[born].loop != region:
        born = next((k for k, b in enumerate(time.blocks) if b.loop == region), 0)
    size = (item.bytes or 0) // max(1, loops.visits(kept.path))
    again = Work(shared=item.cost * OPERATIONS_PER_ELEMENT) + _copied(size, size)
    recipe = Recipe(machine.seconds(again), scratch=size) if item.recomputable else None
    copies = _copied(size, item.bytes or 0).times(2)
    return ScheduledItem(item.name, item.array, size, "", 0, born, (2 * forward - 1 - born,), region, recipe,
                         store_only=recipe is None, store_seconds=machine.seconds(copies), file=item.file,
                         line=item.line, because=item.because)


def _scheduled_loops(made: Gradient, plain: Program, loops: _Loops, wanted: frozenset[str], machine: Machine,
                     spill: bool) -> Iterator[ScheduledLoop]:
    chosen = {name: loop for name, loop in loops.loops.items() if name in wanted}
    found = restarts(made.swept, chosen.values(), loops.place, made.reads, made.local)
    arrays, place = made.swept.arrays, sites(plain.body)
    final = {s.range.var: s for s in statements(plain.body) if isinstance(s, Loop)}
    for name, loop in chosen.items():
        path = loops.place[id(loop)].path
        state = sum(arrays[n].bytes for n in found[id(loop)].state)
        last = final.get(loop.range.var)
        once = seconds_of(loop.body, arrays, machine.seconds, (*path, loop.range)) if last is None else \
            seconds_of(last.body, plain.arrays, machine.seconds, (*place[id(last)].path, last.range))
        around = loops.innermost(path)
        # The table is there once, however often an inner loop runs.
        copying = machine.seconds(_copied(state, state)) + (state / DISK_BYTES_PER_SECOND if spill else 0)
        yield ScheduledLoop(name, loops.trips[name], 0 if spill else state, once, around, copying,
                            bool(loop.range.trips), 0 if around else ROW_BYTES)


def _copied(size: int, room: int) -> Work:
    """To copy so many bytes from or to an array that takes `room` in all."""
    moved = Work(shared=2 * size / BYTES_PER_ELEMENT, statements=1, forks=float(size > NEAR_BYTES))
    return moved + (Work(moved=2 * size) if room > CACHE_BYTES else Work(near=2 * size * (room > NEAR_BYTES)))


def open_loops(made: Gradient) -> dict[str, int]:
    """The loops of unknown length that fill growable tapes, by name, and the bytes of one snapshot of each."""
    place, named = sites(made.swept.body), loop_names(made.swept)
    filled = {r for k in made.kept if k.bytes is None and not k.undone for r in k.path}
    chosen = [s for s in statements(made.swept.body) if isinstance(s, While) and run_range(s) in filled
              and iteration_slots(place[id(s)].path) is not None]
    found = restarts(made.swept, chosen, place, made.reads, made.local)
    return {named[id(s)]: sum(made.swept.arrays[n].bytes for n in found[id(s)].state) for s in chosen}

