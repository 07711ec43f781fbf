"""What all directions of a statement need alike is computed once, where that is dearer than to write and read it."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from sdfgad.analysis.cost import HANDED_ON, operations_of
from sdfgad.analysis.elements.access import always_inside, extents_of, interval_env, position
from sdfgad.ir.expr import Call, Expr, Load, Local, certain, operands, put, symbols_of, walk
from sdfgad.ir.intervals import Bounds
from sdfgad.ir.program import Array, Map, Range, Store
from sdfgad.ir.walk import expr_reads, map_exprs, range_elems
from sdfgad.names import fresh


def kept_apart(stmt: Map, many: frozenset[str], extent: int, path: tuple[Range, ...],
               arrays: dict[str, Array]) -> tuple[tuple[Map, ...], Map]:
    """map i, j: g[i, j] += exp(x[i]) * seed[i, j]
    ->   map i: kept[i] = exp(x[i]) ; map i, j: g[i, j] += kept[i] * seed[i, j]

    For a statement that is to be done for `extent` directions, on which the arrays `many` depend. `path`: the ranges of
    the loops around it.
    """
    alike = _Alike(stmt, many, extent, interval_env((*path, *stmt.domain)), arrays)
    before: list[Map] = []
    places: dict[Expr, Load] = {}
    for e in dict.fromkeys(e for part in stmt.body for e in alike.parts(part.expr)):
        made = replace(stmt, domain=alike.domain(e))
        extents = extents_of(made, path)
        if extents is not None:
            name, at = fresh("kept", arrays), position(made)
            arrays[name] = Array(name, extents, e.dtype)
            places[e] = Load(name, at, e.dtype)
            before.append(replace(made, body=(Store(name, at, e),)))
    return tuple(before), cast(Map, map_exprs(stmt, lambda e: put(e, places))) if places else stmt


@dataclass(frozen=True)
class _Alike:
    """What is the same for all directions. env: what the variables may be."""

    stmt: Map
    many: frozenset[str]
    extent: int
    env: Mapping[str, Bounds]
    arrays: Mapping[str, Array]

    def parts(self, e: Expr, surely: bool = True) -> Iterator[Expr]:
        """The largest parts that are alike, differ from point to point, and are dear enough. surely: whether the
        statement evaluates the expression at every point."""
        if not isinstance(e, Call):
            return
        nodes = list(walk(e))
        if any(isinstance(n, Local) for n in nodes) or not expr_reads(e).isdisjoint(self.many):
            for part in operands(e):
                yield from self.parts(part, surely and part in certain(e))
            return
        domain = self.domain(e)
        if domain and (self.extent - 1) * operations_of((e,)) > HANDED_ON * (self.extent + 1) and not any(
                end.array in self.many for r in domain for end in range_elems(r)) and (
                surely and domain == self.stmt.domain or all(self.inside(n) for n in nodes if isinstance(n, Load))):
            yield e

    def domain(self, e: Expr) -> tuple[Range, ...]:
        """The dimensions along which an expression differs, with those that say how far these go."""
        names, found = symbols_of(e), list[Range]()
        for r in reversed(self.stmt.domain):
            if r.var in names:
                found.append(r)
                names = names | r.start.symbols | r.stop.symbols
        return tuple(reversed(found))

    def inside(self, load: Load) -> bool:
        return always_inside(load.index, self.arrays[load.array].shape, self.env)
