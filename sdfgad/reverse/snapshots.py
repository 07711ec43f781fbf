"""Snapshots of the state of a loop, in numbered slots. Those on disk are sealed, and verified when they come back."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sdfgad.analysis.restart import Restart
from sdfgad.errors import SourceLine
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Lib, Map, Range, Stmt, Store, View, axis
from sdfgad.reverse.naming import Names
from sdfgad.transform.expand import Slots

SEAL = np.dtype(np.uint64)
"""Of a snapshot on disk: its checksum, which stays in memory."""


@dataclass(frozen=True)
class State:
    """saved: for each array of the state its snapshots, one to a slot. around: room and place in the loops around.

    Of an array with a version per iteration of loops around, the state is the current version. seals: of the slots of
    each array whose snapshots lie on disk.
    """

    names: Names
    saved: Mapping[str, Array]
    seals: Mapping[str, Array]
    around: Slots
    source: SourceLine | None = None

    @classmethod
    def declare(cls, names: Names, restart: Restart, count: int, around: Slots, role: str,
                source: SourceLine | None = None) -> State:
        """Room for `count` snapshots in each iteration of the loops around. role: of the arrays that hold them."""
        saved, seals = {}, {}
        slots = (*(n for n, _ in around), count)
        for name in restart.state:
            a = names.arrays[name]
            shape = a.shape[names.versions.get(name, 0):]
            saved[name] = names.declare(f"saved_{name}", (*slots, *shape), a.dtype, role)
            if role == "disk":
                seals[name] = names.declare(f"seal_{name}", slots, SEAL)
        return cls(names, saved, seals, around, source)

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
        versions = self.names.versions.get(name, 0)
        return _part(self.names.arrays[name], tuple(i for _, i in self.around[:versions]))

    def _slot(self, name: str, slot: Ix) -> View:
        return _part(self.saved[name], (*(i for _, i in self.around), slot))

    def _seal(self, name: str, slot: Ix) -> View:
        return _part(self.seals[name], (*(i for _, i in self.around), slot))

    def _sealed(self, name: str, slot: Ix) -> Lib:
        outs = self._slot(name, slot), self._seal(name, slot)
        return Lib("seal", outs, (self._current(name),), source=self.source)

    def _verified(self, name: str, slot: Ix) -> Lib:
        ins = self._slot(name, slot), self._seal(name, slot)
        attrs = {"what": self.names.arrays[name].label or name}
        return Lib("unseal", (self._current(name),), ins, MappingProxyType(attrs), self.source)

    def _copy(self, target: View, origin: View) -> Map:
        domain = tuple(Range(f"w{k}", ix(0), n) for k, n in enumerate(target.shape))
        own = tuple(ix(r.var) for r in domain)
        store = Store(target.array, target.at(own), Load(origin.array, origin.at(own), origin.dtype))
        return Map(domain, (store,), self.source)


def _part(array: Array, at: tuple[Ix, ...]) -> View:
    """`array[at, ...]`"""
    rest = array.shape[len(at):]
    return View(array.name, tuple(map(ix, rest)), (*at, *(ix(axis(k)) for k in range(len(rest)))), array.dtype)
