"""Arrays of which only part is ever touched take room for that part."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from sdfgad.analysis.elements.access import Access, Site, reads_of, run_range, writes_of
from sdfgad.analysis.elements.polyhedron import Row, System, shadow
from sdfgad.analysis.elements.touched import touched
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.layout import Packing, axis
from sdfgad.ir.program import Array, Lib, Loop, Program, Stmt
from sdfgad.ir.walk import statements, with_loops
from sdfgad.thresholds import thresholds

Bounds = tuple[tuple[Ix, Ix], ...]


def pack(program: Program) -> Program:
    """tape: float64[9, 9]   ->   tape: float64[9, 9] packed 1:9, 0:_0

    For transient arrays whose elements outside a nest of ranges nobody touches. Nothing else of the program changes:
    statements go on naming positions in the box.
    """
    fixed = {*program.live_out, *(n for s in statements(program.body) for n in _fixed(s))}
    large = {n for n, a in program.arrays.items() if a.role == "transient" and n not in fixed and not a.packing
             and len(a.shape) > 1 and a.bytes >= thresholds().packed_bytes}
    found = {n: packing for n, accesses in _accesses(program, large).items()
             if (packing := _packing(program.arrays[n], accesses))}
    arrays = {n: replace(a, packing=found.get(n, a.packing)) for n, a in program.arrays.items()}
    return program.but(arrays=arrays) if found else program


def _fixed(stmt: Stmt) -> Iterator[str]:
    """Arrays that are handed over by their strides, or live on the stack of a thread."""
    if isinstance(stmt, Lib):
        yield from (v.array for v in (*stmt.ins, *stmt.outs))
    elif isinstance(stmt, Loop):
        yield from stmt.private


def _accesses(program: Program, large: set[str]) -> dict[str, list[Access]]:
    """Every access to some arrays, each kind of access once."""
    found: dict[str, dict[Access, None]] = {}
    for stmt, around in with_loops(program.body):
        here = Site(tuple(map(run_range, around)), 0, 0)
        for a in (*writes_of(stmt, here), *reads_of(stmt, here)):
            if a.array in large:
                found.setdefault(a.array, {})[replace(a, moment=0)] = None
    return {n: list(accesses) for n, accesses in found.items()}


def _packing(array: Array, accesses: Sequence[Access]) -> Packing | None:
    """The nest of ranges that holds every access, when it is worth it."""
    if any(i.elems for a in accesses for i in a.index) or not _promising(array, accesses):
        return None
    regions = [touched(a) for a in accesses]
    known = [r for r in regions if r is not None]
    if len(known) < len(regions):
        return None
    bounds: Bounds = ()
    for k in range(len(array.shape)):
        bounds = (*bounds, _tightest(array, known, bounds, k))
    packing = Packing(bounds)
    saved = array.size - packing.size
    least = thresholds()
    worth = saved >= least.packed_share * array.size and saved * array.dtype.itemsize >= least.packed_bytes
    return packing if worth and packing.size > 0 else None


def _promising(array: Array, accesses: Sequence[Access]) -> bool:
    """Whether positions along one dimension depend on those along another, and no access is to all of a large box."""
    return any(map(_coupled, accesses)) and max(map(_box, accesses)) <= (1 - thresholds().packed_share) * array.size


def _coupled(a: Access) -> bool:
    """Whether two dimensions have a variable in common, be it by the bounds of others."""
    known: dict[str, frozenset[str]] = {}
    for r in (*a.site.path, *a.domain):
        bounds = r.start.symbols | r.stop.symbols
        known[r.var] = frozenset({r.var}).union(*(known.get(s, frozenset()) for s in bounds))
    seen: set[str] = set()
    for i in a.index:
        own = frozenset[str]().union(*(known.get(s, frozenset()) for s in i.symbols))
        if own & seen:
            return True
        seen |= own
    return False


def _box(a: Access) -> int:
    """Elements of an access that counts each dimension by a loop of its own; 0 for any other."""
    trips = {r.var: r.trips or 0 for r in (*a.site.path, *a.domain) if not r.start.symbols | r.stop.symbols}
    used = [v for i in a.index for v in i.symbols]
    single = all(abs(i.coefficient(v) or 0) == 1 for i in a.index for v in i.symbols)
    return prod(trips.get(v, 0) for v in used) if single and len(set(used)) == len(used) else 0


def _tightest(array: Array, regions: Sequence[tuple[Row, ...]], outer: Bounds, k: int) -> tuple[Ix, Ix]:
    """The range of positions along dimension k, given those before it, with the fewest points over all."""
    before = [axis(d) for d in range(k)]
    shadows = [shadow(r, [*before, axis(k)]) or () for r in regions]
    rows = {_key(row): row for found in shadows for row in found if abs(row[0].get(axis(k), 0)) == 1}
    sure = [row for row in rows.values() if all(_implied(row, found) for found in shadows)]
    lows = [ix(0), *(-_rest(row, k) for row in sure if row[0][axis(k)] == 1)]
    highs = [ix(array.shape[k]), *(_rest(row, k) + 1 for row in sure if row[0][axis(k)] == -1)]
    choices = [(low, high) for low in lows for high in highs if _never_negative(outer, low, high)]
    return min(choices, key=lambda c: (Packing((*outer, c)).size, str(c)))


def _key(row: Row) -> tuple[tuple[tuple[str, int], ...], int]:
    return tuple(sorted(row[0].items())), row[1]


def _rest(row: Row, k: int) -> Ix:
    """What a row says besides the position along dimension k."""
    return sum((ix(v) * c for v, c in row[0].items() if v != axis(k)), ix(row[1]))


def _implied(row: Row, rows: Sequence[Row]) -> bool:
    opposite = ({v: -c for v, c in row[0].items()}, -row[1] - 1)
    return not System([], [*rows, opposite]).feasible()


def _never_negative(outer: Bounds, low: Ix, high: Ix) -> bool:
    """Whether a range has no negative length anywhere in the nest of ranges around it."""
    rows = [_row(i) for k, (first, end) in enumerate(outer) for i in (ix(axis(k)) - first, end - 1 - axis(k))]
    return not System([], [*rows, _row(low - high - 1)]).feasible()


def _row(i: Ix) -> Row:
    coefficients, constant = i.affine or ({}, 0)
    return coefficients, constant
