"""Snapshots of the state of a loop, in numbered slots. Those on disk are sealed, and verified when they come back."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from sdfgad.analysis.reversal.restart import Restart
from sdfgad.errors import SourceLine
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import Array, Block, Lib, Map, Stmt, Store, View, axis
from sdfgad.reverse.naming import Names
from sdfgad.reverse.tape import Entry, entry_of
from sdfgad.transform.normal.expand import Slots

SEAL = np.dtype(np.uint64)
"""Of a snapshot on disk: its checksum, which stays in memory."""


@dataclass(frozen=True)
class Bodies:
    """The three ways to run the body of a loop: `plain`, `recording` for the reverse, and the reverse itself."""

    plain: Callable[[], Block]
    recording: Callable[[], Block]
    backward: Callable[[], Block]


@dataclass
class Room:
    """Where every run of a loop has its own. around: room and place in the loops around; None when nobody knows how
    often those run: then each run has an entry of a tape."""

    names: Names
    around: Slots | None
    entries: list[Entry] = field(default_factory=list)

    def declare(self, stem: str, shape: tuple[int, ...], dtype: np.dtype, role: str = "transient") -> Array:
        if self.around is not None:
            return self.names.declare(stem, (*(n for n, _ in self.around), *shape), dtype, role)
        made = self.names.declare(stem, shape, dtype, "tape")
        self.entries.append(entry_of(made))
        return made

    def at(self, *index: Ix) -> tuple[Ix, ...]:
        """Where this run has an element."""
        return (*(i for _, i in self.around or ()), *index)

    def number(self, array: Array) -> Ix:
        """The value of an integer."""
        return elem(array.name, self.at())


@dataclass(frozen=True)
class State:
    """saved: for each array of the state its snapshots, one to a slot.

    Of an array with a version per iteration of loops around, the state is the current version. seals: of the slots of
    each array whose snapshots lie on disk.
    """

    names: Names
    saved: Mapping[str, Array]
    seals: Mapping[str, Array]
    room: Room
    source: SourceLine | None = None

    @classmethod
    def declare(cls, names: Names, restart: Restart, count: int, room: Room, role: str,
                source: SourceLine | None = None) -> State:
        """Room for `count` snapshots in each run of the loop. role: of the arrays that hold them."""
        saved, seals = {}, {}
        for name in restart.state:
            shape = (count, *names.one_version(name))
            saved[name] = room.declare(f"saved_{name}", shape, names.arrays[name].dtype, role)
            if saved[name].role == "disk":
                seals[name] = room.declare(f"seal_{name}", (count,), SEAL)
        return cls(names, saved, seals, room, source)

    def begin(self) -> Block:
        """Before a run that is going to be undone."""
        return tuple(e.push for e in self.room.entries)

    def end(self) -> Block:
        """Before that is undone."""
        return tuple(e.pop for e in self.room.entries)

    def save(self, slot: Ix) -> list[Stmt]:
        """state   ->   slot"""
        return [self._sealed(n, slot) if n in self.seals else self._copy(self._slot(n, slot), self._current(n))
                for n in self.saved]

    def restore(self, slot: Ix) -> list[Stmt]:
        """slot   ->   state"""
        return [self._verified(n, slot) if n in self.seals else self._copy(self._current(n), self._slot(n, slot))
                for n in self.saved]

    def move(self, to: Ix, source: Ix) -> list[Stmt]:
        """slot `source`   ->   slot `to`"""
        found = [self._copy(self._slot(n, to), self._slot(n, source)) for n in self.saved]
        # A seal goes with its snapshot: damage shows when that is restored.
        return [*found, *(self._copy(self._seal(n, to), self._seal(n, source)) for n in self.seals)]

    def _current(self, name: str) -> View:
        rest = self.saved[name].shape[len(self.room.at()) + 1:]
        at = self.names.versions.get(name, ())
        return View(name, tuple(map(ix, rest)), (*at, *_axes(rest)), self.saved[name].dtype)

    def _slot(self, name: str, slot: Ix) -> View:
        return _part(self.saved[name], self.room.at(slot))

    def _seal(self, name: str, slot: Ix) -> View:
        return _part(self.seals[name], self.room.at(slot))

    def _sealed(self, name: str, slot: Ix) -> Lib:
        outs = self._slot(name, slot), self._seal(name, slot)
        return Lib("seal", outs, (self._current(name),), source=self.source)

    def _verified(self, name: str, slot: Ix) -> Lib:
        ins = self._slot(name, slot), self._seal(name, slot)
        attrs = {"what": self.names.arrays[name].label or name}
        return Lib("unseal", (self._current(name),), ins, MappingProxyType(attrs), self.source)

    def _copy(self, target: View, origin: View) -> Map:
        domain, own = target.points("w")
        store = Store(target.array, target.at(own), origin.load(own))
        return Map(domain, (store,), self.source)


def _part(array: Array, at: tuple[Ix, ...]) -> View:
    """`array[at, ...]`"""
    rest = array.shape[len(at):]
    return View(array.name, tuple(map(ix, rest)), (*at, *_axes(rest)), array.dtype)


def _axes(shape: tuple[int, ...]) -> tuple[Ix, ...]:
    return tuple(ix(axis(k)) for k in range(len(shape)))
