"""Index expressions without divisions: a map over a flattened dimension becomes one over its factors."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from sdfgad.frontend.state.bounds import KnownBounds
from sdfgad.ir.expr import Expr, Index, Load, map_indices, walk
from sdfgad.ir.index import FloorDiv, Ix, Mod, ix
from sdfgad.ir.program import Range
from sdfgad.names import variables

MAP_VARIABLES = tuple(islice(variables("d"), 16))
_ROUNDS = 6

Parts = tuple[Sequence[Range], Sequence[Ix], Expr]


def without_divisions(scope: KnownBounds, domain: Sequence[Range], index: Sequence[Ix], e: Expr) -> Parts:
    """`y[d] = x[floor(d, 4), mod(d, 4)]` over d -> `y[4 d0 + d1] = x[d0, d1]` over d0, d1."""
    for _ in range(_ROUNDS):
        index, e = _simplified(scope, domain, index, e)
        found = next(_splittable(domain, index, e), None)
        if found is None or len(domain) >= len(MAP_VARIABLES) - 1:
            break
        domain, index, e = _split(domain, index, e, *found)
    return domain, index, e


def _simplified(scope: KnownBounds, domain: Sequence[Range], index: Sequence[Ix], e: Expr) -> tuple[Sequence[Ix], Expr]:
    env = scope.env(domain)
    return tuple(i.simplify(env) for i in index), map_indices(e, lambda i: i.simplify(env))


def _splittable(domain: Sequence[Range], index: Sequence[Ix], e: Expr) -> Iterator[tuple[Range, int]]:
    """Map variables that are divided by a factor of their extent."""
    ranges = {ix(r.var): r for r in domain if r.start.const == 0 and r.step == 1 and r.stop.const is not None}
    for atom in _divisions(index, e):
        dividend, divisor = atom.parts
        r, factor = ranges.get(dividend), divisor.const
        if r is not None and factor is not None and 1 < factor < r.stop.const and r.stop.const % factor == 0:  # type: ignore[operator]
            yield r, factor


def _divisions(index: Sequence[Ix], e: Expr) -> Iterator[FloorDiv | Mod]:
    stack = list(index)
    for node in walk(e):
        stack.extend(node.index if isinstance(node, Load) else (node.ix,) if isinstance(node, Index) else ())
    while stack:
        for atom in stack.pop().atoms:
            if not isinstance(atom, str):
                stack.extend(atom.parts)
                if isinstance(atom, (FloorDiv, Mod)):
                    yield atom


def _split(domain: Sequence[Range], index: Sequence[Ix], e: Expr, r: Range, factor: int) -> Parts:
    used = {other.var for other in domain}
    outer, inner = [v for v in MAP_VARIABLES if v not in used][:2]
    change = {r.var: ix(outer) * factor + ix(inner)}
    parts = (Range(outer, ix(0), ix(r.stop.const // factor)), Range(inner, ix(0), ix(factor)))  # type: ignore[operator]
    wider = tuple(p for other in domain for p in (parts if other is r else (other,)))
    return wider, tuple(i.subs(change) for i in index), map_indices(e, lambda i: i.subs(change))


__all__ = ("MAP_VARIABLES", "without_divisions")
