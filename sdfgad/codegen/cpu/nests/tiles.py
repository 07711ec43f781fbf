"""Register tiles: which sums stay in vector registers while the loops over their terms run.

A tile is a few target elements: some lanes along one variable with unit stride, times a few values of other target
variables. What a term loads is shared by several sums, and enough sums are under way to hide the
latency of an addition. Where all sums go through the same terms, these are taken a strip at a time for all of them.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.codegen.compiling.toolchain import vector_bytes, vector_registers
from sdfgad.codegen.cpp import Frame, flat, least_trips
from sdfgad.codegen.cpu.nests.apart import told_apart
from sdfgad.codegen.cpu.nests.injective import injective_variables
from sdfgad.codegen.cpu.nests.nest_order import order_loops
from sdfgad.codegen.cpu.nests.term_loops import trip_tests
from sdfgad.codegen.cpu.nests.tile_terms import is_term, loads_ahead, operations
from sdfgad.ir.expr import Expr, Load, loads, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Map, Range, Store
from sdfgad.thresholds import thresholds

LATENCY, PER_CYCLE = 4, 2
"""Cycles until a sum can be added to again; additions, and loads, begun per cycle."""
_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
_CHUNKS = (1, 2, 4)
_MOST_UNROLLED_VARIABLES = 4
_LEAST_UNKNOWN = 64
"""Values that a vector's range surely has where their number is not known: what is left over does not count."""
_STRIP_BYTES = 1 << 16
"""Of terms that stay in the cache while all sums take them."""


@dataclass(frozen=True)
class Tile:
    """Loops over `outer`, then blocks of the unrolled variables (`steps`), then `sums`.

    vector: the variable whose values are the lanes; lanes: values per vector; chunks: vectors side by side, 1 when
    `vector` is summed over. strip: terms along `vector` that all sums take before the next ones are loaded; 0 for all.
    """

    vector: Range
    lanes: int
    chunks: int
    steps: tuple[tuple[Range, int], ...]
    outer: tuple[Range, ...]
    sums: tuple[Range, ...]
    summed_lanes: bool
    strip: int = 0

    @property
    def inner(self) -> frozenset[str]:
        """Variables that have to stay together in one thread."""
        return frozenset({self.vector.var, *(r.var for r, _ in self.steps), *(r.var for r in self.sums)})

    @property
    def terms(self) -> tuple[Range, ...]:
        """The loops before which the sums are loaded, and after which they are stored."""
        return (*self.sums, self.vector) if self.summed_lanes else self.sums


@dataclass(frozen=True)
class _TileSum:
    """What the choice of a tile looks at: upward loops, the target, distinct loads, variables of the target."""

    stmt: Map
    store: Store
    order: tuple[Range, ...]
    target: tuple[Range, ...]
    fixed: tuple[Range, ...]
    """Target variables with a known number of values and on which no other range depends: they may be unrolled."""
    trips: Mapping[str, int]
    """How many values a variable has; the most where that varies between many, 0 where it may be few."""


def plan_tile(frame: Frame, stmt: Map) -> Tile | None:
    """The cheapest tile for a map that is one sum of products; None when there is none or none pays."""
    frame, stmt = told_apart(frame, replace(stmt, domain=tuple(r.upwards for r in stmt.domain)))
    found = _sum_of(frame, stmt)
    if found is None or _reuse(frame, found) < thresholds().tile_reuse:
        return None
    choices = [(cost, k, tile) for k, (cost, tile) in enumerate(_choices(frame, found))]
    return min(choices, default=(0.0, 0, None), key=lambda c: c[:2])[2]


def _sum_of(frame: Frame, stmt: Map) -> _TileSum | None:
    part = stmt.body[0]
    if len(stmt.body) != 1 or not isinstance(part, Store) or part.op != "+" or not _vectorises(frame, part):
        return None
    used = {s for i in part.index for s in i.symbols}
    order = order_loops(frame, stmt)
    target = tuple(r for r in order if r.var in used)
    terms = tuple(r for r in order if r.var not in used)
    summed = {r.var for r in terms}
    bounds = {s for r in order for s in r.start.symbols | r.stop.symbols}
    if not {r.var for r in target} <= injective_variables(stmt, frame) or not summed:
        return None
    if any((r.start.symbols | r.stop.symbols) & summed for r in target):
        return None
    inner = frame.inside(order)
    # Both branches of a choice are computed.
    if not loads_ahead(inner, part.expr):
        return None
    tests = trip_tests(inner.bounds, terms)
    # What runs once or not at all is a test, and adds up nothing.
    if tests is None or all(r in tests and extent_bound(r, inner.bounds) == 1 for r in terms):
        return None
    fixed = tuple(r for r in target if r.step == 1 and r.trips and r.var not in bounds)
    return _TileSum(stmt, part, order, target, fixed, {r.var: _trips(inner, r) for r in order})


def _trips(frame: Frame, r: Range) -> int:
    many = least_trips(r, frame.bounds) >= _LEAST_UNKNOWN
    return r.trips if r.trips is not None else (many and extent_bound(r, frame.bounds)) or 0


def _vectorises(frame: Frame, part: Store) -> bool:
    """Whether the term is plain arithmetic on real elements that the sum does not change."""
    if not (is_term(part.expr) and part.expr.dtype == frame.arrays[part.array].dtype):
        return False
    return all(n.array != part.array for n in loads(part.expr)) and not any(i.elems for i in part.index)


def _reuse(frame: Frame, found: _TileSum) -> float:
    """Uses per element touched. Loops around the map count as its own: they may have been taken out of it."""
    env = frame.inside(found.order).bounds
    trips = {r.var: float(extent_bound(r, env) or 16) for r in found.order}
    indices = dict(_accesses(found))
    around = {s for index in indices.values() for i in index for s in i.symbols} - trips.keys()
    trips |= {s: float(high - low + 1) for s in around for low, high in [env.get(s, (None, None))]
              if low is not None and high is not None}
    points = math.prod(trips.values())
    touched = sum(min(math.prod(trips[s] for s in {s for i in index for s in i.symbols} & trips.keys()),
                      frame.arrays[name].size) for name, index in indices.items())
    return points / max(touched, 1.0)


def _accesses(found: _TileSum) -> list[tuple[str, tuple[Ix, ...]]]:
    return [(found.store.array, found.store.index), *((n.array, n.index) for n in loads(found.store.expr))]


def _choices(frame: Frame, found: _TileSum) -> Iterator[tuple[float, Tile]]:
    for vector in found.order:
        if not _lanes_along(frame, found, vector):
            continue
        summed = vector not in found.target
        others = [r for r in found.fixed if r is not vector][-_MOST_UNROLLED_VARIABLES:]
        for lanes in _lane_counts(frame, found, vector):
            for chunks in (1,) if summed else tuple(c for c in _CHUNKS if c * lanes <= found.trips[vector.var]):
                for steps in _steps(others):
                    cost = _cost(frame, found, vector, lanes, chunks, steps)
                    if cost is not None:
                        yield cost, _tile(found, vector, lanes, chunks, steps)


def _tile(found: _TileSum, vector: Range, lanes: int, chunks: int, steps: tuple[tuple[Range, int], ...]) -> Tile:
    unrolled, summed = {r.var for r, _ in steps}, vector not in found.target
    outer = tuple(r for r in found.target if r is not vector and r.var not in unrolled)
    sums = tuple(r for r in found.order if r not in found.target and r is not vector)
    strip = _strip(found, vector) if summed and not sums and (outer or steps) else 0
    return Tile(vector, lanes, chunks, steps, outer, sums, summed, strip)


def _strip(found: _TileSum, vector: Range) -> int:
    """How many terms to take at a time, 0 for all: what the next sums need as well stays in the cache.

    Not where other sums need other terms.
    """
    terms = [n for n in loads(found.store.expr) if _depends(n, vector.var)]
    if any(n.index[k].symbols - {vector.var} & found.trips.keys() for n in terms for k in range(len(n.index))):
        return 0
    size = _STRIP_BYTES // sum(n.dtype.itemsize for n in terms) // _LEAST_UNKNOWN * _LEAST_UNKNOWN
    return size if found.trips[vector.var] > 2 * size else 0


def _lanes_along(frame: Frame, found: _TileSum, r: Range) -> bool:
    """Whether neighbouring values of the variable are neighbouring elements, or the same one, everywhere."""
    if r.step != 1 or found.trips[r.var] < 2 or any(r.var in o.start.symbols | o.stop.symbols for o in found.order):
        return False
    steps = [flat(frame.arrays[name], index).coefficient(r.var) for name, index in _accesses(found)]
    return all(s in (0, 1) for s in steps) and 1 in steps


def _lane_counts(frame: Frame, found: _TileSum, vector: Range) -> list[int]:
    """The widest vector of the widest type, or what covers a shorter range."""
    widest = max(n.dtype.itemsize for n in (*walk(found.store.expr), frame.arrays[found.store.array]))
    most = max(1, vector_bytes() // widest)
    return [min(most, 1 << (found.trips[vector.var].bit_length() - 1))]


def _steps(others: list[Range]) -> Iterator[tuple[tuple[Range, int], ...]]:
    """Every way to unroll at most two of the variables."""
    yield ()
    sizes = {r.var: [s for s in {*_SIZES, r.trips or 1} if 1 < s <= min(r.trips or 1, _SIZES[-1])] for r in others}
    for r in reversed(others):
        yield from (((r, s),) for s in sizes[r.var])
    for first, second in combinations(others, 2):
        yield from (((first, s), (second, t)) for s, t in product(sizes[first.var], sizes[second.var]))


def _cost(frame: Frame, found: _TileSum, vector: Range, lanes: int, chunks: int,
          steps: tuple[tuple[Range, int], ...]) -> float | None:
    """Cycles per point, from the loads, the operations and the latency of one block; None when registers run out."""
    cells, terms = math.prod(s for _, s in steps), loads(found.store.expr)
    summed = {r.var for r in found.order if r not in found.target}
    kept = [n for n in terms if not any(_depends(n, v) for v in summed)]
    vectors, scalars = _loaded([n for n in terms if n not in kept], vector.var, chunks, steps)
    sums = cells * chunks
    if sums + min(vectors, 4) + 1 + sum(_loaded(kept, vector.var, chunks, steps)) > vector_registers():
        return None
    cycles = max(sums * operations(found.store.expr) / PER_CYCLE, (vectors + scalars) / PER_CYCLE, LATENCY)
    waste = math.prod(-(-(r.trips or 1) // s) * s / (r.trips or 1) for r, s in steps)
    width, trips = lanes * chunks, found.trips[vector.var]
    waste *= -(-trips // width) * width / trips
    # The lanes of a sum that they share are added by halves, once for all terms.
    adding = math.log2(lanes) / math.prod(found.trips[v] or 1 for v in summed) if vector.var in summed else 0.0
    # Between equals, the smaller tile: less code, fewer registers.
    return cycles / (sums * lanes) * waste * (1 + 0.002 * sums) + adding


def _loaded(terms: list[Load], vector: str, chunks: int, steps: tuple[tuple[Range, int], ...]) -> tuple[int, int]:
    """How many vectors, and numbers for all lanes, the loads of one block are."""
    vectors = sum(_copies(n, steps) * chunks for n in terms if _depends(n, vector))
    return vectors, sum(_copies(n, steps) for n in terms if not _depends(n, vector))


def _copies(n: Load, steps: tuple[tuple[Range, int], ...]) -> int:
    return math.prod(s for r, s in steps if _depends(n, r.var))


def _depends(n: Expr, var: str) -> bool:
    return isinstance(n, Load) and any(var in i.symbols for i in n.index)
