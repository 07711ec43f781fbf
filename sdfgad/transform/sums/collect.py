"""Sums into shifted elements turned round: each element collects its own terms."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.ir.expr import loads, map_indices
from sdfgad.ir.index import Ix, ix, maximum, minimum
from sdfgad.ir.program import Let, Map, Program, Range, Store
from sdfgad.ir.walk import rebuild
from sdfgad.thresholds import thresholds


def collect_sums(program: Program) -> Program:
    """map i = 0:n, k = 0:3: t[i + k] += f(i, k)
    ->   map i = 0:n + 2, k = max(0, i - n + 1):min(3, i + 1): t[i] += f(i - k, k)

    Different i now write different elements: they can run in parallel and keep the sum in a register.
    """
    return program.but(body=rebuild(program.body, lambda s: (_collected(s) if isinstance(s, Map) else s,)))


def _collected(stmt: Map) -> Map:
    """The map with every dimension of its target turned round that two variables share."""
    stores = [p for p in stmt.body if isinstance(p, Store)]
    if len(stores) != 1 or stores[0].op is None:
        return stmt
    target = stores[0]
    for dimension in range(len(target.index)):
        pair = _pair(stmt, target, dimension)
        if pair is not None and not _askew(stmt, *pair):
            stmt = _turned(stmt, *pair)
            target = next(p for p in stmt.body if isinstance(p, Store))
    return stmt


def _pair(stmt: Map, target: Store, dimension: int) -> tuple[Range, Range] | None:
    """The variable that becomes the cell, the one with more values, and the one it is summed over.

    Both count upwards by one between numbers and appear in this dimension alone, with factor one.
    """
    ranges = {r.var: r for r in stmt.domain}
    here = [ranges[v] for v in ranges if v in target.index[dimension].symbols]
    elsewhere = {s for k, i in enumerate(target.index) if k != dimension for s in i.symbols}
    bounds = {s for r in stmt.domain for s in r.start.symbols | r.stop.symbols}
    if len(here) != 2 or target.index[dimension].elems:
        return None
    for r in here:
        fixed = r.step == 1 and r.start.const is not None and r.stop.const is not None and (r.trips or 0) > 1
        if not fixed or target.index[dimension].coefficient(r.var) != 1 or r.var in elsewhere | bounds:
            return None
    first, second = here
    return (first, second) if (first.trips or 0) >= (second.trips or 0) else (second, first)


def _askew(stmt: Map, cell: Range, term: Range) -> bool:
    """Whether the map goes through a matrix in long rows, which it would cross diagonally when turned round."""
    found = [n.index for p in stmt.body for n in loads(p.expr)]
    return (term.trips or 0) >= thresholds().triangle_row and any(
        ix(cell.var) in index and any(term.var in i.symbols for i in index if i != ix(cell.var)) for index in found)


def _turned(stmt: Map, cell: Range, term: Range) -> Map:
    """The map over cells: `cell.var` now stands for the sum of both variables."""
    place, back = ix(cell.var), {cell.var: ix(cell.var) - term.var}
    outer = Range(cell.var, cell.start + term.start, cell.stop + term.stop - 1)
    inner = Range(term.var, maximum(term.start, place - cell.stop + 1), minimum(term.stop, place - cell.start + 1))
    rest = [r for r in stmt.domain if r not in (cell, term)]

    def moved(i: Ix) -> Ix:
        return i.subs(back)

    body = tuple(Let(p.name, map_indices(p.expr, moved)) if isinstance(p, Let) else
                 replace(p, index=tuple(moved(i) for i in p.index), expr=map_indices(p.expr, moved))
                 for p in stmt.body)
    return replace(stmt, domain=(outer, *rest, inner), body=body)
