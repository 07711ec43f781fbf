"""Loops of unknown length with a fixed number of snapshots.

The forward sweep saves the state of every s-th iteration. When the slots are used up it drops every other snapshot and
doubles s, so at any time the snapshots are evenly spread over what has run, and no part is longer than 2 / c of it. The
reverse sweep takes the parts last first: restore, run again with records on the growable tapes, undo. Such online
schedules: Heuveline and Walther (2006); this is the simplest one.
"""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sdfgad.analysis.restart import Restart
from sdfgad.checkpoint.modes import Mode
from sdfgad.ir.expr import Call, Expr, Index
from sdfgad.ir.index import Ix, elem, ix, minimum
from sdfgad.ir.program import Array, Block, If, Loop, Map, Range, Stmt, Store, While
from sdfgad.reverse.bodies import Bodies
from sdfgad.reverse.naming import Names
from sdfgad.reverse.snapshots import State
from sdfgad.transform.expand import Slots

_INTEGER = np.dtype(np.int64)
_BOOL = np.dtype(bool)


@dataclass
class OnlineSchedule:
    """How one while loop runs. around: room and place in the loops around, none of which is of unknown length."""

    loop: While
    mode: Mode
    names: Names
    around: Slots
    role: str = "transient"
    counters: dict[str, Array] = field(default_factory=dict)
    state: State = field(init=False)

    def save_state(self, restart: Restart) -> None:
        """Declare the snapshots and the counters that say how they are spread."""
        outside = tuple(n for n, _ in self.around)
        self.state = State.declare(self.names, restart, self.mode.count, self.around, self.role, self.loop.source)
        for stem in ("used", "stride"):
            self.counters[stem] = self.names.declare(f"{self.loop.trips}_{stem}", outside, _INTEGER)
        self.counters["total"] = self.names.declare(f"{self.loop.trips}_total", (), _INTEGER)

    def plain(self, body: Block) -> Block:
        return (While(self.loop.flag, body, self.loop.trips, self.loop.source, self.loop.label),)

    def forward(self, bodies: Bodies) -> Block:
        used, stride, now = self._at("used"), self._at("stride"), elem(self.loop.trips, ())
        keep = (
            If(_test("eq", used, ix(self.mode.count)), self._thinned(), (), self.loop.source),
            *self.state.save(used),
            self._set("used", used + 1))
        body = (If(_test("eq", now, used * stride), keep, (), self.loop.source), *bodies.plain())
        return (self._set("used", ix(0)), self._set("stride", ix(1)), *self.plain(body))

    def backward(self, bodies: Bodies) -> Block:
        undone = bodies.backward()
        if not undone:
            return ()
        slot, stride, total = f"{self.loop.trips}_slot", self._at("stride"), self._at("total")
        first, last = ix(slot) * stride, minimum(ix(slot) * stride + stride, total)
        again = Loop(Range(f"{self.loop.trips}_again", first, last), bodies.recording(), self.loop.source)
        undo = Loop(Range(f"{self.loop.trips}_back", last - 1, first - 1, -1), undone, self.loop.source)
        parts = Range(slot, self._at("used") - 1, ix(-1), -1)
        return (self._set("total", elem(self.loop.trips, ())),
                Loop(parts, (*self.state.restore(ix(slot)), again, undo), self.loop.source))

    def _thinned(self) -> Block:
        """Every other snapshot moves up, and the stride doubles."""
        half = self.mode.count // 2
        moves = self.state.move(ix("kept"), ix("kept") * 2)
        shift = Loop(Range("kept", ix(1), ix(half)), tuple(moves), self.loop.source)
        stride = self._at("stride")
        return (*((shift,) if moves and half > 1 else ()), self._set("used", ix(half)),
                self._set("stride", stride + stride))

    def _at(self, counter: str) -> Ix:
        array = self.counters[counter]
        return elem(array.name, tuple(i for _, i in self.around) if array.shape else ())

    def _set(self, counter: str, value: Ix) -> Stmt:
        array = self.counters[counter]
        at = tuple(i for _, i in self.around) if array.shape else ()
        return Map((), (Store(array.name, at, Index(value, _INTEGER)),), self.loop.source)


def _test(fn: str, left: Ix, right: Ix) -> Expr:
    return Call(fn, (Index(left, _INTEGER), Index(right, _INTEGER)), _BOOL)
