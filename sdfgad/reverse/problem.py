"""The planner's problem, read off a gradient program."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod

from sdfgad.analysis.cost import Work, seconds_of
from sdfgad.analysis.elements.access import Site, run_range, sites
from sdfgad.analysis.lifetimes import Held
from sdfgad.analysis.reversal.growth import NO_GROWTH, growth, total
from sdfgad.analysis.reversal.restart import restarts
from sdfgad.caches import CACHE_BYTES, NEAR_BYTES
from sdfgad.checkpoint.problem import Item, Problem
from sdfgad.checkpoint.roofline import Machine
from sdfgad.checkpoint.schedule import (
    FORWARD,
    REVERSE,
    Recomputation,
    ScheduledBlock,
    ScheduledItem,
    ScheduledLoop,
    ScheduleProblem,
)
from sdfgad.checkpoint.schedule import STORE as PIN_STORE
from sdfgad.ir.messages import communicates, messages
from sdfgad.ir.program import Array, Block, If, Loop, Program, Range, While
from sdfgad.ir.walk import children, statements
from sdfgad.reverse.loop_modes import ROW_BYTES, loop_names, most_trips
from sdfgad.reverse.made import Gradient, Kept
from sdfgad.reverse.snapshots import SEAL
from sdfgad.reverse.windows import Bases
from sdfgad.transform.normal.expand import is_open

BYTES_PER_ELEMENT = 8
"""Of most arrays."""
OPERATIONS_PER_ELEMENT = 8
"""Of a value that is computed again, as far as nobody counted."""


def problem_of(primal: Program, whole: Program, made: Gradient, held: Held, code: str) -> Problem:
    """Items: what was recorded and survived dead code, or is computed again. Base: what else is held at the peak."""
    around = _Loops(made.swept)
    items, peak, grown = [], held.at_peak(), growth(whole)
    for k in made.kept:
        if k.tape not in whole.arrays and not (k.again or k.undone):
            continue
        array = whole.arrays.get(k.array) or made.program.arrays[k.array]
        stored = k.bytes is not None and not (k.again or k.undone)
        size = whole.arrays[k.tape].bytes if stored else k.bytes
        tape = grown.get(k.tape, NO_GROWTH)
        items.append(Item(k.name, array.label or k.array, size, k.source.file if k.source else "",
                          k.source.line if k.source else 0, k.because, k.recomputable, k.cost, k.light,
                          around.innermost(k.path) or "", (k.bytes or 0) // max(1, around.visits(k.path)),
                          at_peak=k.again or k.undone or k.bytes is None or k.tape in peak, undoes=k.how,
                          entry_bytes=tape.entry, most_bytes=tape.most))
    tapes = {k.tape for k in made.kept if not k.again}
    base = {n if n in whole.arrays or n not in held.own else f"{n} (of the code)": size
            for n, size in peak.items() if n not in tapes}
    growing = total(grown)
    return Problem(primal.name, tuple(items), base, tuple(around.names.values()), code, growing.entry, growing.most)


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
            path = place[id(stmt)].path
            # Ranks that ran different loops again would wait for each other's messages for ever: they agree before.
            again = not is_open(path) and all(m.attrs.get("closed") for m in messages((stmt,)))
            most = most_trips(stmt, path) if isinstance(stmt, Loop) and again else None
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
    wanted: frozenset[str]
    blocks: list[ScheduledBlock] = field(default_factory=list)
    block_of: dict[int, int] = field(default_factory=dict)
    outermost: dict[str, str] = field(default_factory=dict)
    """Of each loop with blocks of its own."""
    open: bool = False

    def visit(self, block: Block, around: str | None) -> None:
        for stmt in block:
            name = self.loops.names.get(stmt.range.var) if isinstance(stmt, Loop) else None
            if name in self.wanted:
                self.outermost[name] = self.outermost.get(around or "", name)
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
            self.blocks.append(ScheduledBlock(f"forward {len(self.blocks)}", FORWARD, {}, around))
            self.open = True
        return len(self.blocks) - 1


def schedule_of(problem: Problem, made: Gradient, arrays: Mapping[str, Array], plain: Program, machine: Machine,
                pins: Mapping[str, str], held: Held, spill: bool = False) -> ScheduleProblem:
    """The question for the solver: the items of a problem that stores whatever is neither light nor undone, in blocks
    and loops.

    arrays: of the final program. plain: what a forward sweep that records nothing comes to in the end, which says how
    long iterations take. held: by the program that the problem is about. Of snapshots that lie on disk (spill) only
    the seals take memory.
    """
    loops = _Loops(made.swept)
    kept = {k.name: k for k in made.kept}
    items = [i for i in problem.items if i.bytes and not (kept[i.name].again or kept[i.name].undone)]
    chains = {i.name: loops.chain(kept[i.name].path) for i in items}
    wanted = frozenset(name for chain in chains.values() for name in chain)
    time = _Timeline(loops, wanted)
    time.visit(made.swept.body, None)
    if not time.blocks:
        time.blocks.append(ScheduledBlock("forward 0", FORWARD, {}))
    blocks = [*time.blocks,
              *(replace(b, name=f"reverse of {b.name}", phase=REVERSE) for b in reversed(time.blocks))]
    bases = Bases(held, [time.outermost.get(b.loop or "") for b in time.blocks], _tapes(items, chains, kept))
    blocks = [replace(b, base=base) for b, base in zip(blocks, bases, strict=True)]
    scheduled = tuple(_scheduled_loops(made, plain, loops, wanted, machine, spill))
    found = tuple(_scheduled_item(i, kept[i.name], time, len(time.blocks), machine, arrays[kept[i.name].tape])
                  for i in items)
    # A growable tape, which the solver does not see, is stored whatever it says.
    seen = {n: pin for n, pin in pins.items() if pin != PIN_STORE or any(n == i.name for i in items)}
    return ScheduleProblem(problem.target, tuple(blocks), found, scheduled, seen)


def _tapes(items: Sequence[Item], chains: Mapping[str, Sequence[str]],
           kept: Mapping[str, Kept]) -> dict[str | None, frozenset[str]]:
    """The tapes of the items by outermost loop."""
    found: dict[str | None, frozenset[str]] = {None: frozenset()}
    for i in items:
        loop = next(iter(chains[i.name]), None)
        found[loop] = found.get(loop, frozenset()) | {kept[i.name].tape}
    return found


def _scheduled_item(item: Item, kept: Kept, time: _Timeline, forward: int, machine: Machine,
                    tape: Array) -> ScheduledItem:
    region = time.loops.innermost(kept.path)
    born = time.block_of.get(kept.order)
    if born is None or time.blocks[born].loop != region:
        born = next((k for k, b in enumerate(time.blocks) if b.loop == region), 0)
    size, packed = _version_bytes(kept, tape, time.loops)
    again = Work(shared=item.cost * OPERATIONS_PER_ELEMENT) + _copied(size, size)
    recipe = Recomputation(machine.seconds(again), scratch=size) if item.recomputable else None
    seconds = machine.seconds(_copied(packed[-1] if packed else size, item.bytes or 0).times(2))
    return ScheduledItem(item.name, item.array, size, "", 0, born, (2 * forward - 1 - born,), region, recipe,
                         store_only=recipe is None, store_seconds=seconds, file=item.file, line=item.line,
                         because=item.because, packed=packed)


def _version_bytes(kept: Kept, tape: Array, loops: _Loops) -> tuple[int, tuple[float, ...]]:
    """Bytes of a stored version; and on average when the 1, 2, ... innermost loops are wholly recorded, if fewer."""
    visits = max(1, loops.visits(kept.path))
    if tape.packing is None:
        return tape.bytes // visits, ()
    # The tape counts the loops first, from outside in.
    parted = [k for k, r in enumerate(kept.path) if r.var in loops.names]
    sizes = [tape.packing.loosened(parted[:count], tape.shape) * tape.dtype.itemsize / visits
             for count in reversed(range(len(parted) + 1))]
    return ceil(sizes[0]), tuple(sizes[1:])


def _scheduled_loops(made: Gradient, plain: Program, loops: _Loops, wanted: frozenset[str], machine: Machine,
                     spill: bool) -> Iterator[ScheduledLoop]:
    chosen = {name: loop for name, loop in loops.loops.items() if name in wanted}
    found = restarts(made.swept, chosen.values(), loops.place, made.reads, made.local)
    arrays, place = made.swept.arrays, sites(plain.body)
    final = {s.range.var: s for s in statements(plain.body) if isinstance(s, Loop)}
    for name, loop in chosen.items():
        path = loops.place[id(loop)].path
        state = made.bytes_of(found[id(loop)].state)
        last = final.get(loop.range.var)
        once = seconds_of(loop.body, arrays, machine.seconds, (*path, loop.range)) if last is None else \
            seconds_of(last.body, plain.arrays, machine.seconds, (*place[id(last)].path, last.range))
        around = loops.innermost(path)
        # The table is there once, however often an inner loop runs.
        copying = machine.seconds(_copied(state, state)) + (state / machine.spilled_per_second if spill else 0)
        held = SEAL.itemsize * len(found[id(loop)].state) if spill else state
        yield ScheduledLoop(name, loops.trips[name], held, once, around, copying,
                            bool(loop.range.trips), 0 if around else ROW_BYTES)


def _copied(size: float, room: int) -> Work:
    """To copy so many bytes from or to an array that takes `room` in all."""
    moved = Work(shared=2 * size / BYTES_PER_ELEMENT, statements=1, forks=float(size > NEAR_BYTES), sectors=2 * size)
    return moved + (Work(moved=2 * size) if room > CACHE_BYTES else Work(near=2 * size * (room > NEAR_BYTES)))


@dataclass(frozen=True)
class OpenLoop:
    """A loop that fills growable tapes. state: bytes of one snapshot. trips: at most; None when that shows as it runs.

    uniform: always so many. around: names of the loops around it that fill tapes, too. inside: whether nobody knows how
    often those run.
    """

    name: str
    state: int
    trips: int | None
    uniform: bool
    around: tuple[str, ...]
    inside: bool


def open_loops(made: Gradient) -> dict[str, OpenLoop]:
    """The loops that fill growable tapes, by name."""
    place, named = sites(made.swept.body), loop_names(made.swept)
    filled = {r.var for k in made.kept if k.bytes is None and not (k.again or k.undone) for r in k.path}
    chosen = [s for s in statements(made.swept.body) if isinstance(s, (Loop, While)) and run_range(s).var in filled
              and not communicates(s.body)]
    names = {run_range(s).var: named[id(s)] for s in chosen}
    found = restarts(made.swept, chosen, place, made.reads, made.local)
    opened = {}
    for stmt in chosen:
        path = place[id(stmt)].path
        state = made.bytes_of(found[id(stmt)].state)
        most = most_trips(stmt, path) if isinstance(stmt, Loop) else None
        opened[named[id(stmt)]] = OpenLoop(named[id(stmt)], state, most, bool(run_range(stmt).trips),
                                           tuple(names[r.var] for r in path), is_open(path))
    return opened

