"""Arrays that hold the same along one axis wherever somebody looks: one row of them is enough."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from sdfgad.analysis.elements.access import Access, interval_env, reads_of, sites
from sdfgad.analysis.loops.rows import distance
from sdfgad.ir.expr import Index, loads, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Map, Program, Stmt, Store
from sdfgad.ir.walk import map_accesses, reads, rebuild, statements, writes

T = TypeVar("T")
Span = tuple[int, int]
Axis = tuple[str, int]
"""An array and one of its dimensions."""


def collapse_equal_rows(program: Program) -> Program:
    """map i: p[i, 0] = 0 ; for j: map i: p[i, j] = f(p[i, j - 1]) ; map i, j: y[i, j] = p[i, j]
    ->   p[0] = 0 ; for j: p[j] = f(p[j - 1]) ; map i, j: y[i, j] = p[j]

    For temporaries whose every store gives all the rows that somebody reads the same value.
    """
    barred = program.live_out
    one_each: dict[str, int] = {}
    spans = _spans(program, barred)
    for name, dim in sorted(_equal(program, spans, spans.keys())):
        one_each.setdefault(name, dim)
    axes = dict(_equal(program, spans, one_each.items()))
    if not axes:
        return program
    arrays = {n: replace(a, shape=_without(a.shape, axes[n])) if n in axes else a for n, a in program.arrays.items()}
    body = rebuild(program.body, lambda s: (_collapsed(s, axes),))
    # What is left of an array may be equal along another axis.
    return collapse_equal_rows(program.but(arrays=arrays, body=body))


def _spans(program: Program, seen: frozenset[str]) -> dict[Axis, Span]:
    """The first and the last position that somebody reads along each axis of a temporary, where both are known."""
    others = {n for s in statements(program.body) if not isinstance(s, Map) for n in reads(s) | writes(s)}
    own = {n for n, a in program.arrays.items() if a.role == "transient" and n not in others | seen}
    place = sites(program.body)
    found: dict[Axis, list[Span | None]] = {}
    for stmt in statements(program.body):
        for a in reads_of(stmt, place[id(stmt)]) if isinstance(stmt, Map) else ():
            if a.array in own and not _adds_there(stmt, a):
                for dim, i in enumerate(a.index):
                    found.setdefault((a.array, dim), []).append(_span(a, i))
    known = {axis: [s for s in spans if s is not None] for axis, spans in found.items() if None not in spans}
    return {axis: (min(s[0] for s in spans), max(s[1] for s in spans)) for axis, spans in known.items()}


def _span(access: Access, i: Ix) -> Span | None:
    low, high = i.bounds(interval_env((*access.site.path, *access.domain)))
    return None if low is None or high is None else (low, high)


def _adds_there(stmt: Stmt, access: Access) -> bool:
    """Whether the element is read in order to be added to: that tells nobody what it is."""
    return isinstance(stmt, Map) and any(isinstance(p, Store) and p.op and (p.array, p.index) ==
                                         (access.array, access.index) for p in stmt.body)


def _equal(program: Program, spans: Mapping[Axis, Span], candidates: Iterable[Axis]) -> set[Axis]:
    """Those among some axes along which what is read stays the same, given that it is for the others of them."""
    found = {axis for axis in candidates if axis in spans}
    makers = [s for s in statements(program.body) if isinstance(s, Map) and writes(s) & {n for n, _ in found}]
    made = frozenset[str]().union(*map(writes, makers))
    found = {axis for axis in found if axis[0] in made}
    while True:
        about: dict[str, list[Axis]] = {}
        for axis in found:
            about.setdefault(axis[0], []).append(axis)
        lost = {axis for s in makers for name in writes(s) for axis in about.get(name, ())
                if not _fills_alike(s, axis, spans, found)}
        if not lost:
            return found
        found -= lost


def _fills_alike(stmt: Map, axis: Axis, spans: Mapping[Axis, Span], equal: Collection[Axis]) -> bool:
    """Whether a map gives all positions along the axis that are read the same values, and writes nothing else."""
    var = _row_variable(stmt, axis)
    if var is None or any(var in r.start.symbols | r.stop.symbols for r in stmt.domain):
        return False
    return all(isinstance(p, Store) and _stores_alike(stmt, p, var, spans, equal) for p in stmt.body)


def _row_variable(stmt: Map, axis: Axis) -> str | None:
    """The variable of a map that counts positions along the axis in all its stores to the array."""
    name, dim = axis
    places = [p.index[dim] for p in stmt.body if isinstance(p, Store) and p.array == name]
    return next((r.var for r in stmt.domain if all(distance(i, r.var) is not None for i in places)), None)


def _stores_alike(stmt: Map, store: Store, var: str, spans: Mapping[Axis, Span], equal: Collection[Axis]) -> bool:
    dims = [d for d, i in enumerate(store.index) if var in i.symbols]
    if len(dims) != 1 or (store.array, dims[0]) not in equal or not _varies_nowhere(store, var, equal):
        return False
    r = next(r for r in stmt.domain if r.var == var)
    shift, (first, last) = distance(store.index[dims[0]], var), spans[store.array, dims[0]]
    if shift is None or r.step != 1 or r.start.const is None or r.stop.const is None:
        return False
    return r.start.const + shift <= first and last < r.stop.const + shift


def _varies_nowhere(store: Store, var: str, equal: Collection[Axis]) -> bool:
    """Whether the value depends on a variable through positions only that make no difference."""
    if any(isinstance(n, Index) and var in n.ix.symbols for n in walk(store.expr)):
        return False
    return all((n.array, d) in equal for n in loads(store.expr) for d, i in enumerate(n.index) if var in i.symbols)


def _collapsed(stmt: Stmt, axes: Mapping[str, int]) -> Stmt:
    """The statement for one row in place of many, and reading that one."""
    if not isinstance(stmt, Map):
        return stmt
    gone = {_row_variable(stmt, (n, axes[n])) for n in writes(stmt) & axes.keys()}
    rest = replace(stmt, domain=tuple(r for r in stmt.domain if r.var not in gone))
    return map_accesses(rest, lambda name, index: _without(index, axes[name]) if name in axes else index)


def _without(items: tuple[T, ...], place: int) -> tuple[T, ...]:
    return (*items[:place], *items[place + 1:])
