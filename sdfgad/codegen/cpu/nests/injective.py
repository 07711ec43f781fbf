"""Which variables of a map keep its iterations apart: different values, different elements written."""
from __future__ import annotations

from collections import defaultdict

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.codegen.cpp import Frame
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Map, Store


def injective_variables(stmt: Map, frame: Frame, skip: frozenset[int] = frozenset()) -> set[str]:
    """Variables whose iterations never write a common element, by any accumulating store except those in `skip`.

    Plain stores never collide in a map; they count only where an array is accumulated into as well.
    """
    stores: dict[str, list[Store]] = defaultdict(list)
    for k, part in enumerate(stmt.body):
        if isinstance(part, Store) and k not in skip:
            stores[part.array].append(part)
    variables = {r.var for r in stmt.domain}
    spans = _spans(stmt, frame)
    for parts in stores.values():
        if any(p.op for p in parts):
            variables &= _separated(parts, spans)
    return variables


def _spans(stmt: Map, frame: Frame) -> dict[str, int | None]:
    """For each variable the distance between its first and last value."""
    env = frame.inside(stmt.domain).bounds
    trips = {r.var: extent_bound(r, env) for r in stmt.domain}
    return {r.var: None if (n := trips[r.var]) is None else max(0, n - 1) * abs(r.step) for r in stmt.domain}


def _separated(parts: list[Store], spans: dict[str, int | None]) -> set[str]:
    first = parts[0].index
    found: set[str] = set()
    for d in range(len(first)):
        if all(p.index[d] == first[d] for p in parts):
            found |= _determined(first[d], spans)
    return found


def _determined(index: Ix, spans: dict[str, int | None]) -> set[str]:
    """Variables whose value follows from the value of the index."""
    widths = {v: index.coefficient(v) for v in spans}
    if any(c is None for c in widths.values()):
        return set()
    terms = {v: c for v, c in widths.items() if c}
    return {v for v, c in terms.items()
            if all(spans[w] is not None for w in terms if w != v)
            and sum(abs(terms[w]) * (spans[w] or 0) for w in terms if w != v) < abs(c or 0)}
