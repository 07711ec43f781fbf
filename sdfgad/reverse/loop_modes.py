"""Loops whose iterations are not all recorded: they start again from snapshots of their state.

In *segments* mode the forward sweep saves the state before every L-th iteration and records nothing; the reverse sweep
takes the segments last first, restores the state, runs the segment again with its records, and undoes it. In *binomial*
mode (`checkpoint/revolve`) a few iterations are recorded at a time and a table says when to save, restore, advance and
turn. Tapes and versions then need room for those instead of the whole loop.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdfgad.analysis.elements.access import Site, extent_bound, interval_env
from sdfgad.analysis.reversal.restart import Restart
from sdfgad.checkpoint.modes import (
    BINOMIAL,
    RESTART,
    SEGMENTS,
    STORE_ALL,
    Mode,
    is_possible_online,
    segment_length,
)
from sdfgad.checkpoint.revolve import ADVANCE, RESTORE, SNAPSHOT, TURN, actions
from sdfgad.errors import PlanNotExecutable
from sdfgad.ir.expr import Call, Const, Expr, Load
from sdfgad.ir.index import Ix, elem, floordiv, ix, maximum, minimum
from sdfgad.ir.program import Block, If, Loop, Program, Range, Stmt, While
from sdfgad.ir.walk import statements
from sdfgad.names import fresh, variable_of
from sdfgad.reverse.naming import Names
from sdfgad.reverse.snapshots import Bodies, Room, State
from sdfgad.reverse.while_modes import OnlineSchedule
from sdfgad.transform.normal.expand import Slots, is_open, iteration_slots

COLUMNS = ("load", "save", "start", "stop", "turn", "redo")
ROW_BYTES = 8 * len(COLUMNS)
_INTEGER = np.dtype(np.int64)
_BOOL = np.dtype(bool)


@dataclass
class Schedule:
    """How one loop runs. room: iterations whose records are kept at a time; at: the place of the current one there.

    keeping: where its snapshots have room. role: of these, which may lie on disk. state: what they hold.
    """

    loop: Loop
    mode: Mode
    names: Names
    constants: dict[str, np.ndarray]
    trips: int
    keeping: Room
    role: str = "transient"
    state: State = field(init=False)

    @property
    def room(self) -> int:
        return segment_length(self.trips, self.mode.count) if self.mode.kind == SEGMENTS else self.mode.length

    @property
    def parts(self) -> int:
        return segment_length(self.trips, self.room)

    @property
    def at(self) -> Ix:
        return self._iteration - ix(self._counter) * self.room if self.room > 1 else ix(0)

    @property
    def _counter(self) -> str:
        return variable_of("part", self.loop.range.var)

    @property
    def _iteration(self) -> Ix:
        r = self.loop.range
        return ((ix(r.var) - r.start) * (1 if r.step > 0 else -1)) // abs(r.step)

    def save_state(self, restart: Restart) -> None:
        """Declare the snapshots: one slot for every segment, or as many as the mode says."""
        count = {SEGMENTS: self.parts, BINOMIAL: self.mode.count, RESTART: 1}[self.mode.kind]
        self.state = State.declare(self.names, restart, count, self.keeping, self.role, self.loop.source)

    def forward(self, bodies: Bodies) -> Block:
        run = self._forward_segments(bodies) if self.mode.kind == SEGMENTS else self._forward_table(bodies)
        return (*self.state.begin(), *run)

    def backward(self, bodies: Bodies) -> Block:
        undone = bodies.backward()
        if not undone:
            return ()
        run = self._backward_segments if self.mode.kind == SEGMENTS else self._backward_table
        return (*self.state.end(), *run(bodies, undone))

    def plain(self, body: Block) -> Block:
        """The loop as it is."""
        return (replace(self.loop, body=body),)

    # Segments.

    def _forward_segments(self, bodies: Bodies) -> Block:
        if not self.state.saved:
            return self.plain(bodies.plain())
        if self.room == 1:
            return self.plain((*self.state.save(self._iteration), *bodies.plain()))
        inner = replace(self.loop, range=self._segment(), body=bodies.plain())
        return (Loop(self._parts(), (*self.state.save(ix(self._counter)), inner), self.loop.source),)

    def _backward_segments(self, bodies: Bodies, undone: Block) -> Block:
        if self.room == 1:
            again = (*self.state.restore(self._iteration), *bodies.recording())
            return (replace(self.loop, range=backwards(self.loop.range), body=(*again, *undone)),)
        segment = replace(self.loop, range=self._segment(), body=bodies.recording())
        undo = replace(self.loop, range=backwards(self._segment()), body=undone)
        restored = self.state.restore(ix(self._counter))
        return (Loop(backwards(self._parts()), (*restored, segment, undo), self.loop.source),)

    def _parts(self) -> Range:
        r = self.loop.range
        gap, stride = (r.stop - r.start) * (1 if r.step > 0 else -1), abs(r.step) * self.room
        return Range(self._counter, ix(0), floordiv(gap + stride - 1, stride))

    def _segment(self) -> Range:
        """The iterations of one part."""
        r, stride = self.loop.range, self.room * self.loop.range.step
        first = r.start + ix(self._counter) * stride
        clip = minimum if r.step > 0 else maximum
        exact = r.trips is not None and r.trips % self.room == 0
        return Range(r.var, first, first + stride if exact else clip(first + stride, r.stop), r.step)

    def _over(self, parts: Range, body: Block, undo: bool = False) -> Block:
        """The body for all iterations of some parts; each part last first to undo it."""
        segment = backwards(self._segment()) if undo else self._segment()
        return (Loop(parts, (replace(self.loop, range=segment, body=body),), self.loop.source),)

    # Binomial and restart: a row of the table is one round, and counts parts.

    def _forward_table(self, bodies: Bodies) -> Block:
        first, _ = self._rows()
        table = _Table(self, "forward", first)
        step = Loop(table.rows, (
            *table.when("save", self.state.save(table["save"])),
            *self._over(self._between(table["start"], table["stop"]), bodies.plain())), self.loop.source)
        if self.mode.kind == RESTART:
            return (step,)
        return (step, *self._over(self._between(ix(self.parts - 1), ix(self.parts)), bodies.recording()))

    def _backward_table(self, bodies: Bodies, undone: Block) -> Block:
        _, rows = self._rows()
        table = _Table(self, "backward", rows)
        turned = self._between(table["turn"], table["turn"] + 1)
        return (Loop(table.rows, (
            *table.when("load", self.state.restore(table["load"])),
            *table.when("save", self.state.save(table["save"])),
            *self._over(self._between(table["start"], table["stop"]), bodies.plain()),
            *table.when("redo", self._over(turned, bodies.recording())),
            *table.when("turn", self._over(turned, undone, undo=True))), self.loop.source),)

    def _between(self, start: Ix, stop: Ix) -> Range:
        """The parts number `start` to `stop`, said in a way that shows that there are no others."""
        return Range(self._counter, minimum(maximum(start, 0), self.parts), minimum(maximum(stop, 0), self.parts))

    def _rows(self) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
        """The rounds of the forward sweep, which end before the last part, and those of the reverse."""
        if self.mode.kind == RESTART:
            back = [_row(load=0, stop=t, turn=t, redo=0) for t in reversed(range(self.parts))]
            return [_row(save=0, stop=self.parts)], back
        rounds = list(_rounds(self.parts, self.mode.count))
        turned = next(k for k, row in enumerate(rounds) if row["turn"] >= 0)
        first = [{**row, "turn": -1, "redo": -1} for row in rounds[:turned + 1]]
        return first, [_row(turn=self.parts - 1), *rounds[turned + 1:]]


def _row(**columns: int) -> dict[str, int]:
    return {"load": -1, "save": -1, "start": 0, "stop": 0, "turn": -1, "redo": -1, **columns}


def _rounds(steps: int, snapshots: int) -> Sequence[dict[str, int]]:
    """The actions of the schedule, a restore, a snapshot, an advance and a turn at most to a row."""
    rows = [_row()]
    order = ("load", "save", "stop", "turn")
    done = -1
    for action in actions(steps, snapshots):
        column = {RESTORE: "load", SNAPSHOT: "save", ADVANCE: "stop", TURN: "turn"}[action.kind]
        if order.index(column) <= done:
            rows.append(_row())
        done = order.index(column)
        if action.kind == ADVANCE:
            rows[-1].update(start=action.step, stop=action.until)
        elif action.kind == TURN:
            rows[-1].update(turn=action.step, redo=0)
        else:
            rows[-1][column] = action.slot
    return rows


class _Table:
    """Constant columns, read at the current round."""

    def __init__(self, schedule: Schedule, phase: str, rows: Sequence[Mapping[str, int]]) -> None:
        self.counter = variable_of("round", schedule.loop.range.var)
        self.rows = Range(self.counter, ix(0), ix(len(rows)))
        self.columns: dict[str, str] = {}
        for column in COLUMNS:
            array = schedule.names.declare(f"{schedule.loop.range.var}_{column}_{phase}", (len(rows),), _INTEGER)
            schedule.constants[array.name] = np.array([row[column] for row in rows], _INTEGER)
            self.columns[column] = array.name

    def __getitem__(self, column: str) -> Ix:
        return elem(self.columns[column], (self.counter,))

    def when(self, column: str, block: Sequence[Stmt]) -> Block:
        """The block, in rounds where the column says so."""
        entry: Expr = Load(self.columns[column], (ix(self.counter),), _INTEGER)
        condition = Call("ge", (entry, Const(0, _INTEGER)), _BOOL)
        return (If(condition, tuple(block), ()),) if block else ()


def backwards(r: Range) -> Range:
    """The same iterations, last first."""
    if abs(r.step) == 1:
        return Range(r.var, r.stop - r.step, r.start - r.step, -r.step)
    trips = r.trips if r.trips is not None else \
        (r.stop - r.start + (r.step - (1 if r.step > 0 else -1))) // r.step
    return Range(r.var, r.start + (ix(trips) - 1) * r.step, r.start - (1 if r.step > 0 else -1), -r.step)


def scheduled_slots(path: Sequence[Range], modes: Mapping[str, Schedule]) -> Slots | None:
    """As `iteration_slots`, where loops that are not wholly recorded take the room of a segment.

    Loops that may end early have room for as long as they could run.
    """
    slots = iteration_slots(tuple(path))
    if slots is None:
        return None
    return tuple((modes[r.var].room, modes[r.var].at) if r.var in modes else slot
                 for r, slot in zip(path, slots, strict=True))


def loop_names(program: Program) -> dict[int, str]:
    """A name for each loop (`id`): its variable, or "while", and the line it stands on."""
    found: dict[int, str] = {}
    for stmt in statements(program.body):
        if isinstance(stmt, (Loop, While)):
            var = stmt.range.var if isinstance(stmt, Loop) else "while"
            stem = f"{var}@{stmt.source.line}" if stmt.source else var
            found[id(stmt)] = fresh(stem, set(found.values()))
    return found


def most_trips(loop: Loop, path: tuple[Range, ...]) -> int | None:
    """The largest number of iterations of a loop that runs all of them; None when nobody knows it."""
    return extent_bound(loop.range, interval_env(path)) if loop.until is None else None


def schedules_of(program: Program, place: Mapping[int, Site], modes: Mapping[str, Mode], names: Names,
                 constants: dict[str, np.ndarray], role: str = "transient") -> dict[int, Schedule | OnlineSchedule]:
    """The loops that are not wholly recorded, by `id`. `constants` receives the tables. role: of the snapshots."""
    if not modes:
        return {}
    named = loop_names(program)
    unknown = set(modes) - set(named.values())
    if unknown:
        raise PlanNotExecutable(f"there is no loop {', '.join(sorted(unknown))}")
    found: dict[int, Schedule | OnlineSchedule] = {}
    variables = Counter(s.range.var for s in statements(program.body) if isinstance(s, Loop))
    for loop in statements(program.body):
        mode = modes.get(named.get(id(loop), ""), Mode(STORE_ALL))
        path = place[id(loop)].path
        if mode.kind == STORE_ALL:
            continue
        rooms = {s.loop.range.var: s for s in found.values() if isinstance(s, Schedule)}
        # Outer loops come first, so their rooms are known.
        keeping = Room(names, None if is_open(path) else scheduled_slots(path, rooms))
        if isinstance(loop, (Loop, While)) and may_end_early(loop) and loop.trips and is_possible_online(mode):
            found[id(loop)] = OnlineSchedule(loop, loop.trips, mode, names, keeping, role)
        elif isinstance(loop, Loop) and not may_end_early(loop) and variables[loop.range.var] == 1:
            made = _schedule(loop, mode, most_trips(loop, path), constants, keeping, named[id(loop)])
            found[id(loop)] = replace(made, role=role)
        else:
            raise PlanNotExecutable(f"loop {named[id(loop)]} cannot be run as {mode}")
    return found


def may_end_early(loop: Loop | While) -> bool:
    """Whether the number of iterations shows only when the loop has run."""
    return isinstance(loop, While) or loop.until is not None


def _schedule(loop: Loop, mode: Mode, trips: int | None, constants: dict[str, np.ndarray], keeping: Room,
              name: str) -> Schedule:
    counts = range(1, segment_length(trips or 0, max(1, mode.length)) + 1)
    if trips is None or mode.kind not in (SEGMENTS, BINOMIAL, RESTART) or \
            mode.kind != RESTART and mode.count not in counts or mode.length < 1:
        raise PlanNotExecutable(f"loop {name} cannot be run as {mode}")
    if mode.kind != SEGMENTS and (loop.range.trips or 0) < 1:
        raise PlanNotExecutable(f"loop {name} cannot be run as {mode}: its number of iterations varies")
    return Schedule(loop, mode, keeping.names, constants, trips, keeping)
