"""Snapshots of the state of a loop, in numbered slots."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sdfgad.analysis.restart import Restart
from sdfgad.errors import SourceLine
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Map, Range, Stmt, Store, View, axis
from sdfgad.reverse.naming import Names
from sdfgad.transform.expand import Slots


@dataclass(frozen=True)
class State:
    """saved: for each array of the state its snapshots, one to a slot. around: room and place in the loops around.

    Of an array with a version per iteration of loops around, the state is the current version.
    """

    names: Names
    saved: Mapping[str, Array]
    around: Slots
    source: SourceLine | None = None

    @classmethod
    def declare(cls, names: Names, restart: Restart, count: int, around: Slots, role: str,
                source: SourceLine | None = None) -> State:
        """Room for `count` snapshots in each iteration of the loops around. role: of the arrays that hold them."""
        saved = {}
        for name in restart.state:
            a = names.arrays[name]
            shape = (*(n for n, _ in around), count, *a.shape[names.versions.get(name, 0):])
            saved[name] = names.declare(f"saved_{name}", shape, a.dtype, role)
        return cls(names, saved, around, source)

    def save(self, slot: Ix) -> list[Stmt]:
        """state   ->   slot"""
        return [self._copy(self._slot(name, slot), self._current(name)) for name in self.saved]

    def restore(self, slot: Ix) -> list[Stmt]:
        """slot   ->   state"""
        return [self._copy(self._current(name), self._slot(name, slot)) for name in self.saved]

    def move(self, to: Ix, source: Ix) -> list[Stmt]:
        """slot `source`   ->   slot `to`"""
        return [self._copy(self._slot(name, to), self._slot(name, source)) for name in self.saved]

    def _current(self, name: str) -> View:
        versions = self.names.versions.get(name, 0)
        return _part(self.names.arrays[name], tuple(i for _, i in self.around[:versions]))

    def _slot(self, name: str, slot: Ix) -> View:
        return _part(self.saved[name], (*(i for _, i in self.around), slot))

    def _copy(self, target: View, origin: View) -> Map:
        domain = tuple(Range(f"w{k}", ix(0), n) for k, n in enumerate(target.shape))
        own = tuple(ix(r.var) for r in domain)
        store = Store(target.array, target.at(own), Load(origin.array, origin.at(own), origin.dtype))
        return Map(domain, (store,), self.source)


def _part(array: Array, at: tuple[Ix, ...]) -> View:
    """`array[at, ...]`"""
    rest = array.shape[len(at):]
    return View(array.name, tuple(map(ix, rest)), (*at, *(ix(axis(k)) for k in range(len(rest)))), array.dtype)
