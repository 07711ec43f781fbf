"""Variables that stand for several axes at once are taken apart, so that one of the axes can be cut."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sdfgad.ir.expr import map_indices
from sdfgad.ir.index import FloorDiv, Ix, Mod, ix
from sdfgad.ir.program import Let, Map, Range
from sdfgad.ir.walk import rename_symbols
from sdfgad.names import variables
from sdfgad.transform.cutting.accesses import read_by


def digits_apart(stmt: Map) -> Map:
    """map m = 0:12: c[floor(m, 4), mod(m, 4)] = a[floor(m, 4)]
    ->   map p = 0:3, q = 0:4: c[p, q] = a[p]
    """
    for r in stmt.domain:
        sizes = {size for index in _indices(stmt) for i in index for size in _cuts(i, r.var)}
        size = max(sizes, default=0)
        if sizes and all(size % other == 0 for other in sizes) and r.start == ix(0) and r.step == 1:
            count = r.trips
            inner = any(r.var in (o.start.symbols | o.stop.symbols) for o in stmt.domain)
            if count and count % size == 0 and not inner:
                return digits_apart(_apart(stmt, r, size, count // size))
    return stmt


def _indices(stmt: Map) -> Iterator[tuple[Ix, ...]]:
    yield from (index for _, index in read_by(stmt))
    yield from (p.index for p in stmt.body if not isinstance(p, Let))


def _cuts(i: Ix, var: str) -> Iterator[int]:
    """By how much a variable alone is divided in an index."""
    for atom in i.atoms:
        if isinstance(atom, (FloorDiv, Mod)) and atom.parts[0] == ix(var) and (size := atom.parts[1].const):
            yield size


def _apart(stmt: Map, r: Range, size: int, count: int) -> Map:
    """The statement with two variables in place of one."""
    taken = {o.var for o in stmt.domain} | {s for index in _indices(stmt) for i in index for s in i.symbols}
    names = variables("p", taken)
    outer, inner = Range(next(names), ix(0), ix(count)), Range(next(names), ix(0), ix(size))
    place = ix(outer.var) * size + inner.var
    bounds = {outer.var: (0, count - 1), inner.var: (0, size - 1)}
    body, = rename_symbols((replace(stmt, domain=()),), {r.var: place})
    assert isinstance(body, Map)
    parts = tuple(replace(p, expr=map_indices(p.expr, lambda i: i.simplify(bounds))) if isinstance(p, Let) else
                  replace(p, index=tuple(i.simplify(bounds) for i in p.index),
                          expr=map_indices(p.expr, lambda i: i.simplify(bounds))) for p in body.body)
    k = stmt.domain.index(r)
    return replace(stmt, domain=(*stmt.domain[:k], outer, inner, *stmt.domain[k + 1:]), body=parts)
