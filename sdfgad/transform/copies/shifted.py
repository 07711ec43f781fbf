"""Copies that maps of one block make piece by piece: which elements each piece fills, and where they come from."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

from sdfgad.analysis.elements.boxes import path_of
from sdfgad.ir.expr import Const, Load
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Block, Let, Map, Range, Stmt, Store
from sdfgad.ir.walk import reads, statements, writes

Sides = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class CopyPiece:
    """One store of a copy: what it fills, and from which elements. place: of its map in the block."""

    place: int
    sides: Sides
    domain: tuple[Range, ...]
    index: tuple[Ix, ...]
    source: Load

    def there(self, index: tuple[Ix, ...]) -> Load:
        """What was copied to a place in this piece."""
        names: dict[str, Ix] = {}
        for here, i in zip(self.index, index, strict=True):
            for r in self.domain:
                if r.var in here.symbols:
                    names[r.var] = i - here + r.var
        return replace(self.source, index=tuple(i.subs(names) for i in self.source.index))


def touching(block: Block, deep: bool = True) -> Mapping[str, int]:
    """How many statements of a block touch an array. deep: and of those they hold."""
    found: dict[str, int] = {}
    for stmt in statements(block) if deep else block:
        for name in reads(stmt) | writes(stmt):
            found[name] = found.get(name, 0) + 1
    return found


def dropped(stmt: Stmt, name: str) -> list[Stmt]:
    """A map without its stores to an array."""
    body = tuple(p for p in stmt.body if not isinstance(p, Store) or p.array != name) if isinstance(stmt, Map) else ()
    return [replace(stmt, body=body)] if isinstance(stmt, Map) and body else []


def pieces_of(block: Sequence[Stmt], array: Array) -> list[CopyPiece]:
    """The pieces of a copy that together hold each element once, the largest first; none where it is something else."""
    found: list[CopyPiece] = []
    for place, stmt in enumerate(block):
        if array.name in writes(stmt) and not (_number(stmt, array.name) and not found):
            piece = _piece(place, stmt, array)
            if piece is None:
                return []
            found.append(piece)
    sizes = [prod(b - a for a, b in p.sides) for p in found]
    if sum(sizes) != array.size or any(_meet(p.sides, q.sides) for p, q in combinations(found, 2)):
        return []
    return sorted(found, key=lambda p: -prod(b - a for a, b in p.sides))


def _number(stmt: Stmt, name: str) -> bool:
    """Whether a map stores a number into an array, which the pieces overwrite."""
    return isinstance(stmt, Map) and all(isinstance(p, Store) and (p.array != name or not p.op and isinstance(
        p.expr, Const)) for p in stmt.body)


def _piece(place: int, stmt: Stmt, array: Array) -> CopyPiece | None:
    """A map as a copy, element by element, into a box of an array; it computes nothing and reads nothing it stores."""
    if not isinstance(stmt, Map) or not plain(stmt.domain) or not writes(stmt).isdisjoint(reads(stmt)):
        return None
    stores = [p for p in stmt.body if isinstance(p, Store) and p.array == array.name]
    if len(stores) != 1 or any(isinstance(p, Let) for p in stmt.body):
        return None
    store, source = stores[0], stores[0].expr
    if store.op is not None or not isinstance(source, Load) or source.dtype != array.dtype:
        return None
    path = path_of(array.name, array.shape, store.index, stmt.domain, {})
    if path is None or path.box.sides is None or path.order is None or any(sign != 1 for _, sign in path.order):
        return None
    sides = tuple((a.const, b.const) for a, b in path.box.sides)
    known = tuple((a, b) for a, b in sides if a is not None and b is not None)
    own = {r.var for r in stmt.domain}
    fixed = all(not i.elems and i.symbols <= own for i in source.index)
    inside = all(0 <= a < b <= n for (a, b), n in zip(known, array.shape, strict=False))
    if len(known) != len(sides) or not fixed or not inside:
        return None
    return CopyPiece(place, known, stmt.domain, store.index, source)


def plain(domain: Sequence[Range]) -> bool:
    return all(r.step == 1 and r.start.const is not None and r.stop.const is not None and r.start.const < r.stop.const
               for r in domain)


def _meet(a: Sides, b: Sides) -> bool:
    return all(p[0] < q[1] and q[0] < p[1] for p, q in zip(a, b, strict=True))
