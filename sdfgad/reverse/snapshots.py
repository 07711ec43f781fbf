"""Snapshots of the state of a loop, in numbered slots."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sdfgad.analysis.restart import Restart
from sdfgad.errors import SourceLine
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Map, Range, Stmt, Store
from sdfgad.reverse.naming import Names
from sdfgad.transform.expand import Slots


@dataclass(frozen=True)
class State:
    """saved: for each array of the state its snapshots, one to a slot. around: room and place in the loops around."""

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
            shape = (*(n for n, _ in around), count, *a.shape)
            saved[name] = names.declare(f"saved_{name}", shape, a.dtype, role)
        return cls(names, saved, around, source)

    def save(self, slot: Ix) -> list[Stmt]:
        """state   ->   slot"""
        return [self._copy(self._array(n).shape, saved, self._place(slot), self._array(n), ())
                for n, saved in self.saved.items()]

    def restore(self, slot: Ix) -> list[Stmt]:
        """slot   ->   state"""
        return [self._copy(self._array(n).shape, self._array(n), (), saved, self._place(slot))
                for n, saved in self.saved.items()]

    def move(self, to: Ix, source: Ix) -> list[Stmt]:
        """slot `source`   ->   slot `to`"""
        return [self._copy(saved.shape[len(self.around) + 1:], saved, self._place(to), saved, self._place(source))
                for saved in self.saved.values()]

    def _array(self, name: str) -> Array:
        return self.names.arrays[name]

    def _place(self, slot: Ix) -> tuple[Ix, ...]:
        return (*(i for _, i in self.around), slot)

    def _copy(self, shape: tuple[int, ...], target: Array, to: tuple[Ix, ...], origin: Array,
              at: tuple[Ix, ...]) -> Map:
        """`target[to, ...] = origin[at, ...]`"""
        domain = tuple(Range(f"w{k}", ix(0), ix(n)) for k, n in enumerate(shape))
        own = tuple(ix(r.var) for r in domain)
        store = Store(target.name, (*to, *own), Load(origin.name, (*at, *own), origin.dtype))
        return Map(domain, (store,), self.source)
