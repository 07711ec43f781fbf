"""What a map reads of an array that it writes elsewhere."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sdfgad.analysis.elements.access import Access, Site, overlap_in
from sdfgad.codegen.cpp import Frame
from sdfgad.ir.expr import Expr, Load, index_elems, loads, rewrite
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Map, Range, Store
from sdfgad.ir.walk import range_elems

_FAR = 2**62


def told_apart(frame: Frame, stmt: Map) -> tuple[Frame, Map]:
    """map d = 0:i: x[i] += a[i, d] * x[d]   ->   map d = 0:i: x[i] += a[i, d] * x'[d], x' another name of x

    Loads that never meet what the map writes get a name of their own: their values stay as they are meanwhile.
    """
    written = {p.array for p in stmt.body if isinstance(p, Store)}
    mine = {n for p in stmt.body for n in loads(p.expr) if n.array in written}
    if not mine or not stmt.domain or _reads_integers_of(stmt, written):
        return frame, stmt
    around = _around(frame, stmt)
    names = {n: f"{n.array}'" for n in mine if not _meets_a_store(n, stmt, around)}
    arrays = {**frame.arrays, **{name: frame.arrays[n.array] for n, name in names.items()}}

    def other(n: Expr) -> Expr | None:
        return Load(names[n], n.index, n.dtype) if isinstance(n, Load) and n in names else None

    body = tuple(replace(p, expr=rewrite(p.expr, other)) for p in stmt.body)
    return replace(frame, arrays=arrays), replace(stmt, body=body)


def _reads_integers_of(stmt: Map, written: set[str]) -> bool:
    """Whether an index or a bound looks at what the map writes."""
    elems = [*(e for r in stmt.domain for e in range_elems(r)), *(e for p in stmt.body for e in index_elems(p.expr)),
             *(e for p in stmt.body if isinstance(p, Store) for i in p.index for e in i.elems)]
    return any(e.array in written for e in elems)


def _around(frame: Frame, stmt: Map) -> tuple[Range, ...]:
    """The symbols of the loops around a map, each with its interval."""
    indices: list[Ix] = [i for r in stmt.domain for i in (r.start, r.stop)]
    indices += [i for p in stmt.body for n in loads(p.expr) for i in n.index]
    indices += [i for p in stmt.body if isinstance(p, Store) for i in p.index]
    return tuple(_interval(frame, s) for s in _names(indices) if s not in {r.var for r in stmt.domain})


def _names(indices: Iterable[Ix]) -> list[str]:
    return sorted({s for i in indices for s in i.symbols})


def _interval(frame: Frame, name: str) -> Range:
    low, high = frame.bounds.get(name, (None, None))
    return Range(name, ix(-_FAR if low is None else low), ix(_FAR if high is None else high + 1))


def _meets_a_store(load: Load, stmt: Map, around: tuple[Range, ...]) -> bool:
    """Whether a load may look at an element that a point of the map writes."""
    site = Site(around, 0, 0)
    read = Access(load.array, load.index, stmt.domain, site, 0)
    return any(overlap_in(read, Access(p.array, p.index, stmt.domain, site, 0), len(around))
               for p in stmt.body if isinstance(p, Store) and p.array == load.array)
