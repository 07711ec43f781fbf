"""How the iterations of one map are shared among threads, without races and the same at every thread count."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.caches import LINE
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.cost import domain_points
from sdfgad.codegen.cpu.nests.injective import injective_variables
from sdfgad.codegen.cpu.nests.nest_order import order_loops
from sdfgad.codegen.cpu.nests.tiles import Tile, plan_tile
from sdfgad.ir.algebra import cast
from sdfgad.ir.expr import Call, Const, Expr, Load
from sdfgad.ir.index import Ix, ix, maximum, minimum
from sdfgad.ir.program import Array, Let, Map, Range, Store, all_of
from sdfgad.ir.walk import expr_reads, rename_symbols

ENOUGH_TRIPS = 64
"""So many iterations of the shared loops keep any usual number of threads busy."""
MOST_BLOCKS = 64
MOST_COUNTED = 1 << 9
"""Rows of a triangle whose points are counted one by one."""
FEWEST_BLOCKS = 8
"""So many keep a few threads busy."""
ROWS_AT_ONCE = 4
"""Neighbouring rows share what is loaded for all of them."""
SMALLEST_CHUNK = 128
SHORTEST_RUN = 32
"""Terms of one sum that fill a few vectors, whose lanes are added up once."""
LARGEST_PARTIAL = 1 << 15
WIDE_BLOCK = 256
"""So many neighbouring elements are worth a block of their own: they fill vectors."""
APART = 512
"""Bytes between the copies of different blocks: a processor that goes through one fetches what lies behind it ahead."""
WORTH_COPIES = 2
"""So many terms per element of all copies pay for making and adding the copies."""


@dataclass(frozen=True)
class SharedMap:
    """A map taken apart: `body` runs for every point of `ranges` in any order; `before` and `after` run alone."""

    ranges: tuple[Range, ...]
    body: tuple[Map, ...]
    before: tuple[Map, ...] = ()
    after: tuple[Map, ...] = ()
    added: tuple[Array, ...] = ()


def share(stmt: Map, frame: Frame, fresh: Callable[[str], str]) -> SharedMap | None:
    """Parallel loops for a map, or None when its accumulations collide everywhere."""
    tile = plan_tile(frame, stmt)
    if tile is not None:
        return _tiled(stmt, frame, tile, fresh)
    loops = order_loops(frame, stmt)
    free = injective_variables(stmt, frame)
    apart = [r for r in loops if r.var in free and _closed(r, stmt)]
    outer = _outer(loops, apart)
    if outer:
        return SharedMap(outer, (_without(stmt, outer),))
    rows = max((r for r in apart if r is not loops[-1]), key=lambda r: r.trips or 0, default=None)
    if rows is not None and (rows.trips or 0) >= FEWEST_BLOCKS * ROWS_AT_ONCE:
        return _chunked(stmt, rows, fresh, ROWS_AT_ONCE)
    wide = max(apart, key=lambda r: r.trips or 0, default=None)
    if wide is not None and (wide.trips or 0) >= 2 * SMALLEST_CHUNK:
        return _chunked(stmt, wide, fresh)
    return _partial(stmt, frame, loops, fresh, long=(loops[-1], SMALLEST_CHUNK if len(loops) > 1 else SHORTEST_RUN))


def _tiled(stmt: Map, frame: Frame, tile: Tile, fresh: Callable[[str], str]) -> SharedMap | None:
    """The loops around the tiles, or blocks of the lanes or of the terms where these loops are few; tiles themselves
    stay whole."""
    ranges = {r.var: r for r in stmt.domain}
    vector = ranges[tile.vector.var]
    loops = tuple(ranges[r.var] for r in tile.outer)
    apart = [r for r in loops if _closed(r, stmt)]
    outer = _outer((*loops, vector), apart)
    if math.prod(r.trips or ENOUGH_TRIPS for r in outer) < ENOUGH_TRIPS:
        if not tile.summed_lanes and (vector.trips or 0) >= MOST_BLOCKS * WIDE_BLOCK:
            return _chunked(stmt, vector, fresh, vector=True)
        wide = tile.summed_lanes and (vector.trips or 0) >= MOST_BLOCKS * WIDE_BLOCK
        parted = _partial(stmt, frame, (*loops, *(ranges[r.var] for r in tile.sums)), fresh, vector if wide else None)
        if parted is not None:
            return parted
    return SharedMap(outer, (_without(stmt, outer),)) if outer else None


def _closed(r: Range, stmt: Map) -> bool:
    """Whether the range does not depend on other variables of the same map."""
    return (r.start.symbols | r.stop.symbols).isdisjoint(o.var for o in stmt.domain)


def _outer(loops: tuple[Range, ...], apart: list[Range]) -> tuple[Range, ...]:
    """The outermost loops that may be shared, as few as give enough iterations; never the innermost one."""
    chosen: list[Range] = []
    for r in loops[:-1]:
        if r not in apart or (chosen and math.prod(c.trips or ENOUGH_TRIPS for c in chosen) >= ENOUGH_TRIPS):
            break
        chosen.append(r)
    many = math.prod(c.trips or ENOUGH_TRIPS for c in chosen) if chosen else 0
    return tuple(chosen) if many >= min(ENOUGH_TRIPS, 8) else ()


def _without(stmt: Map, shared: tuple[Range, ...]) -> Map:
    return replace(stmt, domain=tuple(r for r in stmt.domain if r not in shared))


def _in_block(stmt: Map, r: Range, count: int, var: str, vector: bool = False) -> Map:
    """The part of a map that belongs to block `var` of `count` of one of its ranges, which has a fixed extent.

    The values of a vector's range are counted from the block's first: that shows that there are many of them.
    """
    trips, ends = r.trips or 0, {s for o in stmt.domain for s in o.start.symbols | o.stop.symbols}
    size = -(-trips // count)
    start = r.start + ix(var) * (size * r.step)
    if not vector or r.step != 1 or r.var in ends:
        half = _half(stmt, r) if count == 2 and r.var in ends else None
        stop = start + size * r.step
        if trips % size:
            stop = (minimum if r.step > 0 else maximum)(r.stop, stop)
        here = Range(r.var, start, stop, r.step) if half is None else \
            Range(r.var, r.start + ix(var) * half, r.start + half + ix(var) * (trips - half))
        return replace(stmt, domain=tuple(here if o is r else o for o in stmt.domain))
    here = Range(r.var, ix(0), ix(size) if trips == count * size else minimum(ix(size), trips - ix(var) * size))
    domain = tuple(here if o is r else o for o in stmt.domain)
    shifted = rename_symbols((replace(stmt, domain=()),), {r.var: start + r.var})
    return Map(domain, tuple(p for m in shifted if isinstance(m, Map) for p in m.body), stmt.source)


def _half(stmt: Map, r: Range) -> int | None:
    """About the number of rows of a triangle that hold half of its points; None where rows cannot be counted."""
    others = [o for o in stmt.domain if o is not r]
    if r.step != 1 or r.start.const is None or any(o.step != 1 for o in others):
        return None
    rows, step = [], -(-(r.trips or 1) // MOST_COUNTED)
    for k in range(0, r.trips or 0, step):
        here = {r.var: r.start + k}
        counts = [(o.stop - o.start).subs(here).const for o in others]
        if None in counts:
            return None
        rows.append(math.prod(max(0, n or 0) for n in counts))
    sums = list(itertools.accumulate(rows))
    return step * (1 + min(range(len(rows) - 1), key=lambda k: abs(2 * sums[k] - sums[-1]))) if len(rows) > 1 else None


def _chunked(stmt: Map, wide: Range, fresh: Callable[[str], str], least: int = SMALLEST_CHUNK,
             vector: bool = False) -> SharedMap:
    """Blocks of at least so many iterations of one loop; no two write the same elements."""
    count = min(MOST_BLOCKS, -(-(wide.trips or 0) // least))
    block = Range(fresh("block"), ix(0), ix(_blocks(wide.trips or 0, count)))
    return SharedMap((block,), (_in_block(stmt, wide, count, block.var, vector),))


def _blocks(trips: int, count: int) -> int:
    """How many of `count` equal blocks are not empty."""
    return -(-trips // -(-trips // count)) if trips else 0


def _partial(stmt: Map, frame: Frame, loops: tuple[Range, ...], fresh: Callable[[str], str],
             vector: Range | None = None, long: tuple[Range, int] | None = None) -> SharedMap | None:
    """Fixed blocks of one loop, each with its own copy of the targets that collide, combined in order at the end.

    long: the innermost loop, whose blocks have to fill vectors, and so many iterations of it; then the outermost loop
    is cut that has enough blocks, or the one with the most. Without one, of a tile, the longest loop is; vector: one
    more, whose values are the lanes.
    """
    stores = [p for p in stmt.body if isinstance(p, Store)]
    names = [p.array for p in stores if p.op]
    if any(sum(p.array == n for p in stores) > 1 for n in names):
        return None
    reads = {n for p in stmt.body for n in _reads(p)}
    kept = {p.array: injective_variables(replace(stmt, body=(p,)), frame) for p in stores}
    cells = {p.array: _targets(p, stmt, frame) for p in stores if p.op and p.array not in reads}
    found = [(r, copied) for r in (*loops, *([vector] if vector else [])) if _closed(r, stmt) and
             (r.trips or 0) >= FEWEST_BLOCKS and (copied := _copied(stores, r, kept, cells)) is not None]
    tiled, (innermost, run) = long is None, long or (None, 0)

    def least(r: Range) -> int:
        return run if r is innermost else ROWS_AT_ONCE

    def blocks(pair: tuple[Range, Sequence[object]]) -> int:
        trips, needed = pair[0].trips or 0, bool(pair[1])
        return trips if tiled else min(FEWEST_BLOCKS, trips // least(pair[0])) if needed else -1

    split, targets = max(found, key=blocks, default=(None, []))
    if split is None or not targets:
        return None
    fewest = max(least(split), _fewest(stmt, frame, split, targets))
    return _blocked(stmt, frame, split, targets, fresh, fewest, split is vector)


def _copied(stores: list[Store], split: Range, kept: Mapping[str, set[str]],
            cells: Mapping[str, tuple[Range, ...] | None]) -> list[tuple[Store, tuple[Range, ...]]] | None:
    """The stores that need copies when blocks of `split` run at once, with their ranges; None where they cannot have
    them."""
    copied = []
    for part in stores:
        if part.op is None or split.var in kept[part.array]:
            continue
        ranges = cells.get(part.array)
        if ranges is None or split in ranges:
            return None
        copied.append((part, ranges))
    return copied


def _reads(part: Let | Store) -> set[str]:
    places = part.index if isinstance(part, Store) else ()
    return expr_reads(part.expr) | {e.array for i in places for e in i.elems}


def _targets(part: Store, stmt: Map, frame: Frame) -> tuple[Range, ...] | None:
    """The ranges over a copy of what a store accumulates into, none for a single element; None if copies do not pay."""
    cells = _cells(part, stmt, frame)
    return _scattered(part, stmt, frame) if cells is None else cells


def _cells(part: Store, stmt: Map, frame: Frame) -> tuple[Range, ...] | None:
    """The loops that number the elements a store accumulates into; None if that is not a small box."""
    ranges = {r.var: r for r in stmt.domain}
    used = tuple(r for r in stmt.domain if any(r.var in i.symbols for i in part.index))
    found = tuple(_hull(r, part, stmt, frame) for r in used)
    plain = all(len(i.symbols & ranges.keys()) <= 1 and all(i.coefficient(v) for v in i.symbols & ranges.keys())
                for i in part.index)
    once = all(sum(r.var in i.symbols for i in part.index) == 1 for r in found)
    boxed = all(r.trips is not None and _closed(r, stmt) for r in found)
    small = boxed and math.prod(r.trips or 0 for r in found) * MOST_BLOCKS <= LARGEST_PARTIAL * 8
    return found if plain and once and boxed and small else None


def _hull(r: Range, part: Store, stmt: Map, frame: Frame) -> Range:
    """All values that a range takes in a map, where they number elements of the array; else the range itself."""
    array = frame.arrays[part.array]
    if _closed(r, stmt) or r.step != 1 or array.packing is not None:
        return r
    inside = frame.inside([o for o in stmt.domain if o is not r])
    low, high = r.start.bounds(inside.bounds)[0], r.stop.bounds(inside.bounds)[1]
    if low is None or high is None or low >= high:
        return r
    values = {**inside.bounds, r.var: (low, high - 1)}
    for i, size in zip(part.index, array.shape, strict=True):
        first, last = i.bounds(values) if r.var in i.symbols else (0, 0)
        if first is None or last is None or first < 0 or last >= size:
            return r
    return Range(r.var, ix(low), ix(high))


def _scattered(part: Store, stmt: Map, frame: Frame) -> tuple[Range, ...] | None:
    """Ranges over a whole array, where data or several variables at once decide which of its elements a store adds to;
    None if copies of it would cost more than they save."""
    array = frame.arrays[part.array]
    cells = math.prod(array.shape)
    variables = {r.var for r in stmt.domain}
    shifted = any(len(i.symbols & variables) > 1 for i in part.index)
    if not (shifted or any(i.elems for i in part.index)) or cells * MOST_BLOCKS > LARGEST_PARTIAL * 8:
        return None
    if domain_points(stmt.domain, frame.bounds) < WORTH_COPIES * (4 if shifted else MOST_BLOCKS) * cells:
        return None
    return all_of(array.shape, "cell")


def _alike(count: int) -> int:
    """So many blocks, or a few less, that two threads have as much to do as each other, and four."""
    return count - count % 4 if count > 4 else count - count % 2


def _blocked(stmt: Map, frame: Frame, split: Range, targets: list[tuple[Store, tuple[Range, ...]]],
             fresh: Callable[[str], str], fewest: int, vector: bool) -> SharedMap:
    trips = split.trips or 0
    count = _blocks(trips, _alike(min(MOST_BLOCKS, max(2, trips // fewest))))
    block = Range(fresh("block"), ix(0), ix(count))
    variables = {r.var for r in stmt.domain}
    added, start, end, body = [], [], [], {id(p): p for p in stmt.body}
    for part, cells in targets:
        dtype = frame.arrays[part.array].dtype
        value = _before_narrowing(part)
        wide = value.dtype
        array = Array(fresh("partial"), (count, *_apart(tuple(r.trips or 0 for r in cells), wide)), wide)
        own = all(r.var in variables for r in cells)
        target = replace(part, index=part.index if own else tuple(ix(r.var) for r in cells))
        here = (ix(block.var), *(_number(r) for r in cells))
        added.append(array)
        start.append(Map(cells, (Store(array.name, here, _neutral(target, wide)),)))
        body[id(part)] = Store(array.name, here if own else (ix(block.var), *part.index), value, part.op)
        end.append(Map((block, *cells), (replace(target, expr=cast(Load(array.name, here, wide), dtype)),)))
    stmt = replace(stmt, body=tuple(body.values()))
    core = _in_block(stmt, split, count, block.var, vector)
    return SharedMap((block,), (*start, core), after=tuple(end), added=tuple(added))


def _before_narrowing(part: Store) -> Expr:
    """What is added, in the dtype it is computed in: a copy in double precision is rounded once, one in single
    precision with every term."""
    e = part.expr
    if part.op == "+" and isinstance(e, Call) and e.fn == "cast" and \
            (e.args[0].dtype, e.dtype) == (np.dtype(np.float64), np.dtype(np.float32)):
        return e.args[0]
    return e


def _apart(shape: tuple[int, ...], dtype: np.dtype) -> tuple[int, ...]:
    """The shape of a copy and of so many elements behind it that the next copy begins `APART` bytes on; in a cache line
    of its own, too, unless that would take several long rows."""
    if not shape or 0 in shape:
        return shape
    row = math.prod(shape[1:]) * dtype.itemsize
    step = math.lcm(LINE, row) // row if row < APART else 1
    return -(-(shape[0] + -(-APART // row)) // step) * step, *shape[1:]


def _fewest(stmt: Map, frame: Frame, split: Range, targets: list[tuple[Store, tuple[Range, ...]]]) -> int:
    """The iterations of a block: more where a pass over the copies would take as long as what else a block writes, or
    as its sums where it writes nothing else."""
    stores = [p for p in stmt.body if isinstance(p, Store)]
    alone = all(any(p is t for t, _ in targets) for p in stores)
    inside = math.prod(r.trips or _mean_trips(r, stmt, frame) for r in stmt.domain if r is not split)
    copies = sum(math.prod(r.trips or 1 for r in ranges) for _, ranges in targets)
    return WORTH_COPIES * (1 if alone else 8) * copies // inside


def _mean_trips(r: Range, stmt: Map, frame: Frame) -> int:
    """Half of what the longest row of a triangle has."""
    most = None if _closed(r, stmt) else extent_bound(r, frame.inside(stmt.domain).bounds)
    return max(1, (most or 0) // 2)


def _number(r: Range) -> Ix:
    """The position of the current iteration in a range with a fixed extent."""
    offset = ix(r.var) - r.start
    return offset if r.step == 1 else offset // r.step


def _neutral(part: Store, dtype: np.dtype) -> Const | Load:
    """What a partial result starts from: the target itself for minima and maxima, which may be combined twice."""
    if part.op in ("min", "max"):
        return Load(part.array, part.index, dtype)
    return Const(dtype.type(1 if part.op == "*" else 0).item(), dtype)
