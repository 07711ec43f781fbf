"""Hand on values within one point of a map, instead of storing and loading them."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.analysis.loops.rows import other_slice, touches
from sdfgad.ir.expr import Const, Expr, Load, Local, call, loads, rewrite
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Let, Map, Store
from sdfgad.names import fresh

_FUNCTIONS: Mapping[str, str] = MappingProxyType({"+": "add", "*": "mul", "min": "minimum", "max": "maximum"})
Place = tuple[str, tuple[Ix, ...]]


def forward_values(stmt: Map, arrays: Mapping[str, Array]) -> Map:
    """map i: { t[i] = f ; t[i] += g ; y[i] = t[i] }   ->   map i: { v = f ; w = v + g ; t[i] = w ; y[i] = w }

    For elements that no other point touches, where the body touches nothing else of their slice of an array.
    """
    forwarding = _Forwarding(stmt, arrays, _own_places(stmt))
    for k in range(len(stmt.body)):
        forwarding.part(k)
    return replace(stmt, body=tuple(forwarding.body))


def _own_places(stmt: Map) -> set[Place]:
    """Where a map writes elements that only their own points touch."""
    found: dict[str, dict[tuple[Ix, ...], bool]] = {}
    for t in touches(stmt):
        places = found.setdefault(t.array, {})
        places[t.index] = places.get(t.index, False) or t.written
    own = {r.var for r in stmt.domain}
    return {(n, at) for n, places in found.items() for at, written in places.items()
            if written and all(at == b or other_slice(own, at, b) for b in places) and is_pointwise(stmt.domain, at)}


class _Forwarding:
    """values: what elements hold now. stored: where the body so far stores them."""

    def __init__(self, stmt: Map, arrays: Mapping[str, Array], single: set[Place]) -> None:
        self.parts = stmt.body
        self.arrays = arrays
        self.single = single
        self.taken = {p.name for p in stmt.body if isinstance(p, Let)}
        self.values: dict[Place, Expr] = {}
        self.stored: dict[Place, Store] = {}
        self.body: list[Let | Store] = []

    def part(self, k: int) -> None:
        part = self.parts[k]
        e = rewrite(part.expr, lambda n: self.values.get((n.array, n.index)) if isinstance(n, Load) else None)
        if isinstance(part, Let) or _place(part) not in self.single or not self._wanted(k, part):
            self.body.append(replace(part, expr=e))
            return
        place = _place(part)
        if part.op is not None:
            old = self.values.get(place, Load(part.array, part.index, self.arrays[part.array].dtype))
            e = call(_FUNCTIONS[part.op], old, e)
        if place in self.stored:
            self.body.remove(self.stored[place])
        if self._looked_at(k, part):
            self.values[place] = e = self._named(e, part.array)
        self.stored[place] = store = Store(part.array, part.index, e)
        self.body.append(store)

    def _wanted(self, k: int, part: Store) -> bool:
        """Whether the body looks at the element again, or did change it before."""
        again = any(isinstance(p, Store) and _place(p) == _place(part) for p in self.parts[k + 1:])
        return again or self._looked_at(k, part) or _place(part) in self.stored

    def _looked_at(self, k: int, part: Store) -> bool:
        """Whether a later part uses what the element holds then."""
        rest = self.parts[k + 1:]
        return any(_place(n) == _place(part) for p in rest for n in loads(p.expr)) or any(
            isinstance(p, Store) and _place(p) == _place(part) and p.op for p in rest)

    def _named(self, e: Expr, array: str) -> Expr:
        """The value under a name, unless it is as short itself."""
        if isinstance(e, (Const, Local)):
            return e
        name = fresh(f"{array}_here", self.taken)
        self.taken.add(name)
        self.body.append(Let(name, e))
        return Local(name, e.dtype)


def _place(touched: Load | Store) -> Place:
    return touched.array, touched.index


def own_names(first: Map, second: Map) -> Map:
    """The second map with names of its own for values that both name alike."""
    mine, others = ({p.name for p in m.body if isinstance(p, Let)} for m in (second, first))
    taken, names = mine | others, {}  # type: set[str], dict[str, str]
    for name in sorted(mine & others):
        names[name] = fresh(name, taken)
        taken.add(names[name])

    def change(n: Expr) -> Expr | None:
        return Local(names[n.name], n.dtype) if isinstance(n, Local) and n.name in names else None

    def renamed(p: Let | Store) -> Let | Store:
        e = rewrite(p.expr, change)
        return Let(names.get(p.name, p.name), e) if isinstance(p, Let) else replace(p, expr=e)

    body = tuple(renamed(p) for p in second.body)
    return replace(second, body=body)
