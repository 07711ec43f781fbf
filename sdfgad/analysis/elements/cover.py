"""Which elements of an array a store reaches."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from types import MappingProxyType

import numpy as np

from sdfgad.errors import unsupported
from sdfgad.ir.index import Ix
from sdfgad.ir.program import LASTING, Array, Block, If, Lib, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import children, reads


def is_pointwise(domain: Sequence[Range], index: tuple[Ix, ...]) -> bool:
    """Whether different points of the domain hit different elements: the index is affine and of full rank."""
    rows = (tuple(i.coefficient(r.var) for r in domain) for i in index)
    return _rank(frozenset(row for row in rows if None not in row and any(row))) == len(domain)


@cache
def _rank(rows: frozenset[tuple[int | None, ...]]) -> int:
    """Of a matrix of whole numbers; few different ones are asked for again and again."""
    return int(np.linalg.matrix_rank(np.array(list(rows), dtype=float))) if rows else 0


def covers(stmt: Map, store: Store, array: Array) -> bool:
    """Whether a plain store replaces every element of the array."""
    return store.op is None and fills(stmt, store, array)


def fills(stmt: Map, store: Store, array: Array) -> bool:
    """Whether a store reaches every element exactly once: as many points as elements, and no element twice.

    The latter is shown by places in memory: sorted by stride, each variable steps over all that the ones before reach.
    Ranges may start anywhere, as long as the places do not move with them: x[j - 8*s] for j = 8*s:8*s + 8.
    """
    return _fills(stmt.domain, store.index, array.shape)


@lru_cache(maxsize=1 << 13)
def _fills(domain: tuple[Range, ...], index: tuple[Ix, ...], shape: tuple[int, ...]) -> bool:
    """The same; every pass asks it again of the statements that are as they were."""
    trips = {r.var: r.trips for r in domain}
    if any(not trips.keys().isdisjoint(r.start.symbols | r.stop.symbols) for r in domain):
        return False  # ranges that move with each other: strides say nothing
    if None in trips.values() or math.prod(n or 0 for n in trips.values()) != math.prod(shape):
        return False
    place = Ix(())
    for i, n in zip(index, shape, strict=True):
        place = place * n + i
    place = place.subs({r.var: r.start + r.var for r in domain})
    if place.affine is None or not place.affine[0].keys() <= trips.keys():
        return False
    reach = 0
    for stride, count in sorted((abs(place.affine[0].get(r.var, 0) * r.step), trips[r.var] or 0) for r in domain):
        if stride <= reach and count > 1:
            return False
        reach += stride * (count - 1)
    return True


def replaced(stmt: Stmt, arrays: Mapping[str, Array]) -> frozenset[str]:
    """Those of the arrays of which a computation replaces every element."""
    if isinstance(stmt, Map):
        return frozenset(p.array for p in stmt.body
                         if isinstance(p, Store) and p.array in arrays and covers(stmt, p, arrays[p.array]))
    if isinstance(stmt, Lib) and not stmt.attrs.get("accumulate"):
        return frozenset(v.array for v in stmt.outs if v.array in arrays and v == arrays[v.array].whole)
    return frozenset()


def exposed(block: Block, arrays: Mapping[str, Array]) -> frozenset[str]:
    """Arrays that one run of a block may look at before it has filled them."""
    found: set[str] = set()
    _visit(block, frozenset(), arrays, found)
    return frozenset(found)


def _visit(block: Block, filled: frozenset[str], arrays: Mapping[str, Array], found: set[str]) -> frozenset[str]:
    """Adds to `found`; gives the arrays filled at the end."""
    for stmt in block:
        found |= reads(stmt) - filled
        ends = [_visit(inner, filled, arrays, found) for inner in children(stmt)]
        if isinstance(stmt, If):
            filled = ends[0] & ends[1]
        elif isinstance(stmt, Loop) and stmt.until is None and stmt.range.trips:
            filled = ends[0]
        else:
            filled |= replaced(stmt, arrays)
    return filled


def of_one_call(program: Program) -> Program:
    """The program with arrays that live from call to call as its own, as each call fills them before it looks at them;
    UnsupportedError where it may not."""
    lasting = {n: a for n, a in program.arrays.items() if a.role == LASTING}
    if not lasting:
        return program
    for name in sorted(exposed(program.body, program.arrays) & lasting.keys()):
        raise unsupported(lasting[name].source, f"{lasting[name].label!r}, which lives from call to call, and may be "
                          "looked at before a call has filled it", "fill it first, or use another lifetime", "SG110")
    own = {n: replace(a, role="transient") for n, a in lasting.items()}
    return program.but(arrays=MappingProxyType({**program.arrays, **own}))
