"""Nests of two loops whose outer iterations, sweeps, may follow each other at a distance."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product

from sdfgad.analysis.elements.access import Access, Site, reads_of, writes_of
from sdfgad.ir.expr import index_elems
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Block, Loop, Map, Range, Stmt, Store
from sdfgad.ir.walk import all_reads, all_writes, own_ranges, range_elems, statements
from sdfgad.thresholds import thresholds


def ranges(block: Block) -> Iterator[Range]:
    """The ranges of all maps and loops."""
    for s in statements(block):
        yield from own_ranges(s)


def _ordered(stmt: Loop) -> bool:
    return not (stmt.parallel or stmt.private or stmt.until is not None or stmt.range.early)


def counted(stmt: Loop) -> bool:
    """Whether a loop runs through numbers, one after the other."""
    return _ordered(stmt) and stmt.range.start.const is not None and stmt.range.stop.const is not None


def simple(body: Block, moving: frozenset[str]) -> bool:
    """Whether a row is made of maps and loops, few enough, with variables of their own."""
    inside = list(statements(body))
    return len(inside) <= thresholds().swept_statements and \
        all(isinstance(s, Map) or isinstance(s, Loop) and _ordered(s) for s in inside) and \
        moving.isdisjoint(r.var for r in ranges(body))


def recurs(stmt: Stmt, moving: frozenset[str]) -> bool:
    """Whether a statement is a loop over single elements, or such a loop is in it, that is the same in every row."""
    if not isinstance(stmt, Loop) or not _ordered(stmt) or range_elems(stmt.range) or \
            not moving.isdisjoint(stmt.range.start.symbols | stmt.range.stop.symbols):
        return False
    return _innermost(stmt) or any(recurs(s, moving) for s in stmt.body)


def _innermost(stmt: Loop) -> bool:
    enough = stmt.range.trips is None or stmt.range.trips >= thresholds().swept_trips
    return enough and all(isinstance(s, Map) and not s.domain for s in stmt.body)


def segments(body: Block, moving: frozenset[str]) -> Iterator[tuple[bool, list[int]]]:
    """A block as loops that sweeps run together and stretches that they run one after the other."""
    for loops, run in groupby(range(len(body)), key=lambda k: recurs(body[k], moving)):
        places = list(run)
        yield from ((True, [k]) for k in places) if loops else [(False, places)]


def within_segments(body: Block, moving: frozenset[str]) -> frozenset[str]:
    """Arrays that only one stretch of a row touches."""
    users: dict[str, int] = {}
    for stretch in _stretches(body, moving):
        for name in all_reads(stretch) | all_writes(stretch):
            users[name] = users.get(name, 0) + 1
    return frozenset(n for n, count in users.items() if count == 1)


def _stretches(body: Block, moving: frozenset[str]) -> Iterator[Block]:
    for together, places in segments(body, moving):
        stmt = body[places[0]]
        if together and isinstance(stmt, Loop):
            yield from _stretches(stmt.body, moving)
        else:
            yield tuple(body[k] for k in places)


def least_lag(body: Block, rows: Range, private: frozenset[str]) -> int | None:
    """How far sweeps have to be apart so that rows they do at the same time never touch what one of them writes.

    Two rows meet in an element only if they are as far apart as the places that they touch are from their own.
    """
    lag = 1
    touched, written = _indices(body)
    for name, changed in written.items():
        if name in private:
            continue
        found = [_gap(changed, touched[name], dim, rows.var) for dim in range(len(changed[0]))]
        gaps = [g for g in found if g is not None]
        if not gaps:
            return None
        lag = max(lag, min(gaps) // abs(rows.step) + 1)
    return lag


Indices = dict[str, list[tuple[Ix, ...]]]


def _indices(body: Block) -> tuple[Indices, Indices]:
    """The indices at which each array is touched, and at which each is written."""
    touched: Indices = {}
    written: Indices = {}
    here = Site((), 0, 1)
    for stmt in statements(body):
        _add(written, writes_of(stmt, here))
        _add(touched, [*writes_of(stmt, here), *reads_of(stmt, here)])
    return touched, written


def _add(found: Indices, accesses: Iterable[Access]) -> None:
    for a in accesses:
        found.setdefault(a.array, []).append(a.index)


def _gap(written: Sequence[tuple[Ix, ...]], touched: Sequence[tuple[Ix, ...]], dim: int, var: str) -> int | None:
    """The most by which two iterations of `var` differ that meet in an element one of them writes, as far as one
    dimension tells: all accesses move along it alike. None if they do not."""
    places = [[i[dim].affine for i in indices] for indices in (written, touched)]
    known = [a for indices in places for a in indices if a is not None]
    factor = known[0][0].get(var, 0) if known else 0
    if not factor or len(known) < len(written) + len(touched) or any(a[0] != {var: factor} for a in known):
        return None
    own, every = ([a[1] for a in indices if a is not None] for indices in places)
    return max(abs(a - b) for a, b in product((min(own), max(own)), (min(every), max(every)))) // abs(factor)


def stores(stmt: Loop) -> int:
    """How much a recurrence writes in each step, but for scalars, which are in registers."""
    return sum(isinstance(p, Store) and bool(p.index)
               for s in stmt.body if isinstance(s, Map) and not s.domain for p in s.body)


def looked_into(body: Block) -> set[str]:
    """Arrays whose elements are indices or bounds."""
    ends = {e.array for r in ranges(body) for e in range_elems(r)}
    parts = [p for s in statements(body) if isinstance(s, Map) for p in s.body]
    places = {e.array for p in parts if isinstance(p, Store) for i in p.index for e in i.elems}
    return ends | places | {e.array for p in parts for e in index_elems(p.expr)}
