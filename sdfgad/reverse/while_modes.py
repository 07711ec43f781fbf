"""Loops of unknown length with a fixed number of snapshots.

The forward sweep saves the state of every s-th iteration. When the slots are used up it drops every other snapshot and
doubles s, so at any time the snapshots are evenly spread over what has run, and no part is longer than 2 / c of it. The
reverse sweep takes the parts last first: restore, run again with records on the growable tapes, undo. Such online
schedules: Heuveline and Walther (2006); this is the simplest one. By then it is known how long a part is, so one whose
records take too much can itself be cut into pieces, with a snapshot of each.
"""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sdfgad.analysis.reversal.restart import Restart
from sdfgad.checkpoint.modes import Mode
from sdfgad.ir.expr import Call, Expr, Index
from sdfgad.ir.index import Ix, elem, ix, minimum
from sdfgad.ir.program import Array, Block, If, Loop, Map, Range, Stmt, Store, While
from sdfgad.ir.walk import with_children
from sdfgad.names import variable_of
from sdfgad.reverse.naming import Names
from sdfgad.reverse.snapshots import Bodies, Room, State

_INTEGER = np.dtype(np.int64)
_BOOL = np.dtype(bool)


@dataclass
class OnlineSchedule:
    """How a while loop, or one that may end early, runs. keeping: where snapshots and counters have room.

    state: what the snapshots hold; pieces: those of a part that is cut.
    """

    loop: While | Loop
    trips: str
    mode: Mode
    names: Names
    keeping: Room
    role: str = "transient"
    counters: dict[str, Array] = field(default_factory=dict)
    state: State = field(init=False)
    pieces: State = field(init=False)

    def save_state(self, restart: Restart) -> None:
        """Declare the snapshots and the counters that say how they are spread."""
        self.state = State.declare(self.names, restart, self.mode.count, self.keeping, self.role, self.loop.source)
        for stem in ("used", "stride"):
            self.counters[stem] = self.keeping.declare(f"{self.trips}_{stem}", (), _INTEGER)
        self.counters["total"] = self.names.declare(f"{self.trips}_total", (), _INTEGER)
        if self.mode.length > 1:
            own = Room(self.names, ())
            self.pieces = State.declare(self.names, restart, self.mode.length, own, self.role, self.loop.source)

    def plain(self, body: Block) -> Block:
        return (with_children(self.loop, [body]),)

    def forward(self, bodies: Bodies) -> Block:
        used, stride, now = self._number("used"), self._number("stride"), elem(self.trips, ())
        keep = (
            If(_test("eq", used, ix(self.mode.count)), self._thinned(), (), self.loop.source),
            *self.state.save(used),
            self._set("used", used + 1))
        body = (If(_test("eq", now, used * stride), keep, (), self.loop.source), *bodies.plain())
        return (*self.state.begin(), self._set("used", ix(0)), self._set("stride", ix(1)), *self.plain(body))

    def backward(self, bodies: Bodies) -> Block:
        undone = bodies.backward()
        if not undone:
            return ()
        slot, stride = variable_of("slot", self.trips), self._number("stride")
        total = elem(self.counters["total"].name, ())
        first, last = ix(slot) * stride, minimum(ix(slot) * stride + stride, total)
        turned = self._in_pieces(first, last, bodies, undone) if self.mode.length > 1 else \
            self._turned(first, last, bodies, undone)
        parts = Range(slot, self._number("used") - 1, ix(-1), -1)
        # What counts the iterations counts again when they run again.
        kept = Store(self.counters["total"].name, (), Index(elem(self.trips, ()), _INTEGER))
        return (*self.state.end(), Map((), (kept,), self.loop.source),
                Loop(parts, (*self.state.restore(ix(slot)), *turned), self.loop.source))

    def _turned(self, first: Ix, last: Ix, bodies: Bodies, undone: Block) -> Block:
        """Some iterations once more, with records, and then undone."""
        return (Loop(self._iterations(first, last), bodies.recording(), self.loop.source),
                Loop(self._iterations(last - 1, first - 1, -1), undone, self.loop.source))

    def _in_pieces(self, first: Ix, last: Ix, bodies: Bodies, undone: Block) -> Block:
        """The same in pieces, last first; their snapshots come from one more sweep over the part."""
        piece, count = variable_of("piece", self.trips), minimum(ix(self.mode.length), last - first)
        size = (last - first + (self.mode.length - 1)) // self.mode.length
        start = minimum(first + ix(piece) * size, last)
        stop = minimum(first + ix(piece) * size + size, last)
        plain = Loop(self._iterations(start, stop), bodies.plain(), self.loop.source)
        turned = self._turned(start, stop, bodies, undone)
        return (Loop(Range(piece, ix(0), count), (*self.pieces.save(ix(piece)), plain), self.loop.source),
                Loop(Range(piece, count - 1, ix(-1), -1), (*self.pieces.restore(ix(piece)), *turned),
                     self.loop.source))

    def _iterations(self, first: Ix, last: Ix, direction: int = 1) -> Range:
        """Iterations by their numbers, `last` not among them."""
        r = self.loop.range if isinstance(self.loop, Loop) else Range(variable_of("again", self.trips), ix(0), ix(0))
        return Range(r.var, r.start + first * r.step, r.start + last * r.step, r.step * direction)

    def _thinned(self) -> Block:
        """Every other snapshot moves up, and the stride doubles."""
        half, kept = self.mode.count // 2, variable_of("kept", self.trips)
        moves = self.state.move(ix(kept), ix(kept) * 2)
        shift = Loop(Range(kept, ix(1), ix(half)), tuple(moves), self.loop.source)
        stride = self._number("stride")
        return (*((shift,) if moves and half > 1 else ()), self._set("used", ix(half)),
                self._set("stride", stride + stride))

    def _number(self, counter: str) -> Ix:
        return self.keeping.number(self.counters[counter])

    def _set(self, counter: str, value: Ix) -> Stmt:
        store = Store(self.counters[counter].name, self.keeping.at(), Index(value, _INTEGER))
        return Map((), (store,), self.loop.source)


def _test(fn: str, left: Ix, right: Ix) -> Expr:
    return Call(fn, (Index(left, _INTEGER), Index(right, _INTEGER)), _BOOL)
