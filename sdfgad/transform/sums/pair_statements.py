"""Statements over pairs, and the matrices that they make for each other."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sdfgad.analysis.loops.exchange import Exchange, Kind
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Map, Program, Store
from sdfgad.ir.walk import reads, statements, writes


@dataclass(frozen=True)
class PairStatement:
    """A map over pairs that does one thing per pair, in its own variables."""

    stmt: Map
    store: Store

    @property
    def first(self) -> str:
        return self.stmt.domain[0].var

    @property
    def second(self) -> str:
        return self.stmt.domain[1].var

    @property
    def here(self) -> tuple[Ix, Ix]:
        return ix(self.first), ix(self.second)

    @cached_property
    def makes(self) -> str | None:
        """The matrix of which it assigns the element of each pair."""
        plain = self.store.op is None and self.store.index == self.here and self.store.array not in reads(self.stmt)
        return self.store.array if plain else None

    def exchange(self, known: Mapping[str, Kind]) -> Exchange:
        """Its variables changing places."""
        return Exchange(self.first, self.second, known)


def store_of(stmt: Map) -> Store:
    """What a map over pairs does."""
    store = stmt.body[0]
    if not isinstance(store, Store):
        raise TypeError(f"{store!r} is no store")
    return store


def matrices_of_its_own(program: Program, kinds: str = "f") -> dict[str, int]:
    """The matrices that one statement makes and nobody looks at after the program, and how many statements read each of
    them. kinds: of their dtypes."""
    readers = Counter(n for s in statements(program.body) for n in reads(s))
    writers = Counter(n for s in statements(program.body) for n in writes(s))
    own = {n for n, a in program.arrays.items() if a.role == "transient" and len(a.shape) == 2
           and a.dtype.kind in kinds and writers[n] == 1}
    return {n: readers[n] for n in own - program.live_out}
