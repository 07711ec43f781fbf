"""Neighbouring maps over the same points that one thread runs: one pass over their data in place of several."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.emit import unit_strides, vectorises
from sdfgad.codegen.cpu.nests.nest_order import accesses, order_loops
from sdfgad.codegen.cpu.nests.tiles import plan_tile
from sdfgad.ir.expr import Expr, Load, index_elems, loads, rewrite
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Block, Let, Map, Stmt, Store
from sdfgad.ir.walk import conflicts, expr_reads, in_terms_of, range_elems, reads, writes

FAR = 6
"""So many statements back a partner is looked for."""
MOST_PARTS = 8
"""Of a map: what more of them need does not fit into the registers."""
Index = tuple[Ix, ...]


def join_maps(frame: Frame, block: Block) -> Block:
    """map i, j: s[i] += x[i, j] * a[j] ; map i, j: t[j] += x[i, j] * b[i]
    ->   map i, j: { s[i] += x[i, j] * a[j] ; t[j] += x[i, j] * b[i] }

    For maps that run through the same data in the same order, and of which the second uses nothing that the first makes
    at another point. What stands between them has to be independent of the first.
    """
    done: list[Stmt] = []
    for stmt in block:
        found = _partner(frame, done, stmt) if isinstance(stmt, Map) else None
        if found is not None:
            place, stmt = found
            del done[place]
        done.append(stmt)
    return tuple(done)


def _partner(frame: Frame, done: Sequence[Stmt], stmt: Map) -> tuple[int, Map] | None:
    """The place of a map that can run with this one, and both as one map."""
    for k in range(len(done) - 1, max(-1, len(done) - 1 - FAR), -1):
        first = done[k]
        if not isinstance(first, Map):
            return None
        made = _joined(frame, first, stmt)
        if made is not None and not any(conflicts(first, s) for s in done[k + 1:]):
            return k, made
    return None


def _joined(frame: Frame, first: Map, second: Map) -> Map | None:
    """Both maps as one; None when that is not the same, or no better."""
    here = in_terms_of(first.domain, second) if _alike(first, second) else None
    if here is None or not _point_by_point(first, here) or _passes_on(frame, first, here) \
            or not _share(frame, first, here):
        return None
    made = replace(first, body=(*first.body, *_handed_on(first, here)))
    return made if _as_fast(frame, first, here, made) else None


def _alike(first: Map, second: Map) -> bool:
    """Whether it is worth a closer look: as many points each way, and data in common."""
    plain = not any(isinstance(p, Let) for p in first.body) and not any(range_elems(r) for r in first.domain)
    return plain and bool(first.domain) and len(first.body) + len(second.body) <= MOST_PARTS \
        and [(r.trips, r.step) for r in first.domain] == [(r.trips, r.step) for r in second.domain] \
        and not (reads(first) | writes(first)).isdisjoint(reads(second) | writes(second))


def _share(frame: Frame, first: Map, second: Map) -> bool:
    """Whether both touch elements that change along the innermost loop."""
    inner = order_loops(frame, first)[-1].var
    one, other = ({(name, index) for name, index, _ in accesses(m) if any(inner in i.symbols for i in index)}
                  for m in (first, second))
    return not one.isdisjoint(other)


def _point_by_point(first: Map, second: Map) -> bool:
    """Whether what one map writes and the other one touches is, element by element, touched at the same point."""
    variables = {r.var for r in first.domain}
    for name in (writes(first) & (reads(second) | writes(second))) | (reads(first) & writes(second)):
        places = _places(first, name) | _places(second, name)
        if len(places) != 1 or not _determined(next(iter(places)), variables):
            return False
    return True


def _passes_on(frame: Frame, first: Map, second: Map) -> bool:
    """Whether the second map reads a temporary that the first one fills: apart, a chain of them shares memory.

    To add to it is no such reading.
    """
    filled = {p.array for p in first.body if isinstance(p, Store) and p.op is None}
    read = {n for p in second.body for n in expr_reads(p.expr)}
    return any(frame.arrays[n].role == "transient" and frame.arrays[n].shape for n in filled & read)


def _places(stmt: Map, name: str) -> set[Index | None]:
    """Where a map touches an array; None stands for an element that another index looks at."""
    found: set[Index | None] = {n.index for p in stmt.body for n in loads(p.expr) if n.array == name}
    found |= {p.index for p in stmt.body if isinstance(p, Store) and p.array == name}
    elems = [e for p in stmt.body for e in index_elems(p.expr)]
    elems += [e for p in stmt.body if isinstance(p, Store) for i in p.index for e in i.elems]
    return found | ({None} if any(e.array == name for e in elems) else set())


def _determined(place: Index | None, variables: set[str]) -> bool:
    """Whether each point has an element of its own."""
    if place is None or any(i.elems for i in place):
        return False
    alone = {next(iter(own)) for i in place if len(own := i.symbols & variables) == 1
             and abs(i.coefficient(next(iter(own))) or 0) == 1}
    return alone == variables


def _handed_on(first: Map, second: Map) -> tuple[Let | Store, ...]:
    """What the second map does, with the values that the first one stores in place of loads."""
    changed = writes(first) | writes(second)
    stores = [p for p in first.body if isinstance(p, Store)]
    known: dict[Expr, Expr] = {}
    for p in stores:
        alone = [s.array for s in stores].count(p.array) == 1 and p.array not in writes(second)
        if alone and p.op is None and expr_reads(p.expr).isdisjoint(changed):
            # Loads are of the array's type: this is none of a value that is rounded when it is stored.
            known[Load(p.array, p.index, p.expr.dtype)] = p.expr
    return tuple(replace(p, expr=rewrite(p.expr, known.get)) for p in second.body)


def _as_fast(frame: Frame, first: Map, second: Map, made: Map) -> bool:
    """Whether the nest of both runs through them like their own nests, and element after element.

    Where neighbours lie apart each array takes many lines of the cache, which are too many when arrays are.
    """
    order = order_loops(frame, made)
    if any(order_loops(frame, m) != order for m in (first, second)) or not unit_strides(frame, made, order[-1].var):
        return False
    if not vectorises(frame, made) and (vectorises(frame, first) or vectorises(frame, second)):
        return False
    return all(plan_tile(frame, m) is None for m in (first, second))
