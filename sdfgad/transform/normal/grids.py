"""Tables of places with several dimensions: which of their variables, or what of them, each part holds."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from sdfgad.ir.expr import Index
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import Array, Map, Program, Store
from sdfgad.ir.walk import statements, writes

Key = tuple[int | None, ...]
"""Where a part of a table lies: numbers for dimensions of which it has one place, None for those it has as a whole."""


@dataclass(frozen=True)
class Grid:
    """What the parts of a table hold, by where they lie: `mgrid[0:n, 0:m]` has `i` in part 0 and `j` in part 1."""

    parts: dict[Key, Ix] = field(default_factory=dict)  # of the places "0", "1", .. in the table
    ends: dict[Key, tuple[int, int]] = field(default_factory=dict)

    def at(self, place: Sequence[Ix]) -> Ix | None:
        """The element at a place, where it is known which part that lies in."""
        key = self._part(place)
        return None if key is None else self.parts[key].subs({str(k): p for k, p in enumerate(place)})

    def between(self, place: Sequence[Ix]) -> tuple[int, int]:
        """The least and the largest number there may be at a place."""
        key = self._part(place)
        ends = [self.ends[key]] if key is not None else self.ends.values()
        return min(low for low, _ in ends), max(high for _, high in ends)

    def _part(self, place: Sequence[Ix]) -> Key | None:
        return next((key for key in self.parts if all(
            k is None or k == p.const for k, p in zip(key, place, strict=True))), None)


def grids(program: Program, seen: Collection[str]) -> dict[str, Grid]:
    """Temporaries of several dimensions that maps outside all loops fill, each of them a part, with places."""
    found: dict[str, Grid] = {}
    maps = [s for s in program.body if isinstance(s, Map)]
    outside = {id(s) for s in maps}
    others = {n for s in statements(program.body) if id(s) not in outside for n in writes(s)} | {*seen}
    for stmt in maps:
        for name in writes(stmt):
            array = program.arrays[name]
            if name in others or array.role != "transient" or array.dtype.kind != "i" or len(array.shape) < 2:
                continue
            part = _part(stmt, array)
            grid = found.setdefault(name, Grid())
            if part is None or any(_meet(part[0], key) for key in grid.parts):
                others.add(name)
                continue
            grid.parts[part[0]] = part[1]
            grid.ends[part[0]] = part[2]
    return {n: g for n, g in found.items() if n not in others}


def _meet(a: Key, b: Key) -> bool:
    return all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def _part(stmt: Map, array: Array) -> tuple[Key, Ix, tuple[int, int]] | None:
    """Where a map stores, what it stores there by the places in the table, and between which numbers that lies."""
    store = stmt.body[0]
    if len(stmt.body) > 1 or not isinstance(store, Store) or store.op is not None or not isinstance(store.expr, Index):
        return None
    number, variables = store.expr.ix, {r.var: r for r in stmt.domain}
    key: list[int | None] = []
    names: dict[str, Ix] = {}
    env: dict[str, Bounds] = {}
    for k, (place, extent) in enumerate(zip(store.index, array.shape, strict=True)):
        r = variables.pop(next(iter(place.symbols), ""), None) if place.const is None else None
        whole = r is not None and place == ix(r.var) and (r.start.const, r.stop.const, r.step, r.early) == (
            0, extent, 1, False)
        if r is None and place.const is None or r is not None and not whole:
            return None
        key.append(place.const)
        if r is not None:
            names[r.var], env[r.var] = ix(str(k)), (0, extent - 1)
    low, high = number.bounds(env)
    if variables or number.elems or not number.symbols <= names.keys() or low is None or high is None:
        return None
    return tuple(key), number.subs(names), (low, high)


__all__ = ("Grid", "grids")
