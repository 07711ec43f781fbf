"""Flat arrays that are seen with rows elsewhere get these rows: delinearisation (Maslov 1992)."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from sdfgad.analysis.elements.access import Access, Site, reads_of, writes_of
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Map, Program, Range, Stmt, all_of
from sdfgad.ir.walk import map_accesses, map_stmt_indices, reads, rebuild, statements, writes
from sdfgad.thresholds import thresholds

_HERE = Site((), 0, 0)
_NUMBER = 8
"""Bytes of an element, for what counts rows."""
Rows = dict[str, tuple[int, ...]]


def give_rows(program: Program) -> Program:
    """map i = 0:n, j = 0:m: y[m*i + j] = f(x[i, j]) ; map k = 0:n*m: z[k] = g(y[k])
    ->   map i = 0:n, j = 0:m: y[i, j] = f(x[i, j]) ; map i = 0:n, j = 0:m: z[i, j] = g(y[i, j])

    For temporaries that maps alone touch, all of it in one range, or in the rows of others. They lie in memory as
    before. `reshape` sees arrays in two ways; what sees them in one is computed together.
    """
    maps = [s for s in statements(program.body) if isinstance(s, Map)]
    rows = _rows(maps, _candidates(program))
    if not rows:
        return program
    arrays = {n: replace(a, shape=rows[n]) if n in rows else a for n, a in program.arrays.items()}
    return program.but(body=rebuild(program.body, lambda s: (_in_rows(s, rows),)), arrays=arrays)


def _candidates(program: Program) -> set[str]:
    """Temporaries of one dimension that nothing but maps touches, and nobody looks at afterwards."""
    flat = {n for n, a in program.arrays.items() if a.role == "transient" and len(a.shape) == 1}
    own = flat - program.live_out - program.constants.keys()
    return own.difference(*(reads(s) | writes(s) for s in statements(program.body) if not isinstance(s, Map)))


def _rows(maps: Sequence[Map], own: set[str]) -> Rows:
    """The rows that arrays get. One that maps see with several, or in another way, stays flat."""
    while True:
        found, wrong = _told(maps, own)
        wrong |= {a.array for s in maps for a in _accesses(s) if a.array in found and not _fits(s, a, found)}
        if not wrong:
            return found
        own = own - wrong


def _told(maps: Sequence[Map], own: set[str]) -> tuple[Rows, set[str]]:
    """What maps over rows tell of arrays, and by these maps over one range of others; and arrays told two things."""
    found: Rows = {}
    wrong: set[str] = set()
    changed = True
    while changed:
        changed = False
        for stmt in maps:
            seen = _seen_whole(stmt, own)
            told = {_extents(stmt.domain)} if len(stmt.domain) > 1 else {found[n] for n in seen if n in found}
            for name, rows in ((n, r) for n in seen for r in told):
                wrong |= {name} if found.get(name, rows) != rows else set()
                changed |= name not in found
                found.setdefault(name, rows)
    return found, wrong


def _seen_whole(stmt: Map, own: set[str]) -> set[str]:
    """Those of the arrays that a map goes through as they lie in memory, all of each."""
    sizes = _extents(stmt.domain)
    whole = all(r.start.const == 0 and r.step == 1 for r in stmt.domain) and 0 not in sizes
    if not whole or not sizes or len(sizes) > 1 and sizes[-1] * _NUMBER < thresholds().rows.narrow:
        return set()
    place = _place(stmt.domain)
    return {a.array for a in _accesses(stmt) if a.array in own and a.index == (place,)}


def _fits(stmt: Map, access: Access, rows: Rows) -> bool:
    """Whether an access can be written with rows."""
    own = rows[access.array]
    if len(stmt.domain) == 1 and _extents(stmt.domain) == (prod(own),):
        return access.index == (_place(stmt.domain),)
    return _split(access.index[0], stmt.domain, own) is not None


def _in_rows(stmt: Stmt, rows: Rows) -> Stmt:
    """A statement on the arrays with rows."""
    if not isinstance(stmt, Map) or rows.keys().isdisjoint(reads(stmt) | writes(stmt)):
        return stmt
    own = next(rows[n] for n in sorted(rows) if n in reads(stmt) | writes(stmt))
    if len(stmt.domain) == 1 and _extents(stmt.domain) == (prod(own),):
        domain = all_of(own, "d")
        names = {stmt.domain[0].var: _place(domain)}
        flat = map_stmt_indices(replace(stmt, domain=()), lambda i: i.subs(names))
        stmt = replace(flat, domain=domain) if isinstance(flat, Map) else stmt

    def change(name: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        return _split(index[0], stmt.domain, rows[name]) or index if name in rows else index

    return map_accesses(stmt, change)


def _split(place: Ix, domain: Sequence[Range], rows: tuple[int, ...]) -> tuple[Ix, ...] | None:
    """The position in rows of a place in memory; None where the domain does not tell."""
    out: list[Ix] = []
    for k in range(1, len(rows)):
        width = prod(rows[k:])
        if place.affine is None:
            return None
        terms, constant = place.affine
        first = sum((ix(v) * (c // width) for v, c in terms.items() if c % width == 0), ix(constant // width))
        place = place - first * width
        if not _between(place, domain, width):
            return None
        out.append(first)
    return (*out, place)


def _between(place: Ix, domain: Sequence[Range], end: int) -> bool:
    """Whether an index is at least 0 and less than an end, for all points of a domain."""
    if place.affine is None:
        return False
    low = high = place.affine[1]
    ranges = {r.var: r for r in domain}
    for name, factor in place.affine[0].items():
        r = ranges.get(name)
        if r is None or r.step != 1 or r.start.const is None or r.stop.const is None:
            return False
        ends = sorted((factor * r.start.const, factor * (r.stop.const - 1)))
        low, high = low + ends[0], high + ends[1]
    return low >= 0 and high < end


def _accesses(stmt: Map) -> Iterator[Access]:
    yield from reads_of(stmt, _HERE)
    yield from writes_of(stmt, _HERE)


def _place(domain: Sequence[Range]) -> Ix:
    """Where the points of a domain lie one after the other."""
    sizes = _extents(domain)
    return sum((ix(r.var) * prod(sizes[k + 1:]) for k, r in enumerate(domain)), ix(0))


def _extents(domain: Sequence[Range]) -> tuple[int, ...]:
    return tuple(r.stop.const or 0 for r in domain)
