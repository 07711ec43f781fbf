"""Recurrences four iterations at a time: what does not take part in the recurrence is done for all of them at once."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sdfgad.analysis.elements.access import extent_bound, interval_env
from sdfgad.analysis.elements.dependence import edges
from sdfgad.analysis.elements.region import region_of
from sdfgad.analysis.loops.iteration_blocks import ITERATIONS, Blocks, blocks_of, place, split
from sdfgad.codegen.cpu.schedule.recurrences.at_once import at_once, uses
from sdfgad.codegen.cpu.schedule.recurrences.exchange_loops import exchange_loops
from sdfgad.ir import algebra
from sdfgad.ir.expr import map_indices
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store, While
from sdfgad.ir.walk import all_variables, children, range_elems, rename_symbols, with_children
from sdfgad.names import variable
from sdfgad.thresholds import thresholds
from sdfgad.transform.spelling import only_store

Arrays = Mapping[str, Array]
Path = tuple[Range, ...]


def unroll_and_jam(program: Program) -> Program:
    """for j = 0:n: { x[j] = x[j] / p[j] ; map d = j + 1:n: x[d] += a[j, d] * x[j] }
    ->   for J = 0:n - 3 by 4: {
             x[J] = x[J] / p[J] ; x[J + 1] += a[J, J + 1] * x[J] ; ... ; x[J + 3] = x[J + 3] / p[J + 3]
             map d = J + 4:n: x[d] += a[J, d] * x[J] + a[J + 1, d] * x[J + 1] + ... + a[J + 3, d] * x[J + 3] }
         for j = (n // 4) * 4:n: { ... as before }

    For loops in order, of maps and loops, in which a sum either goes to the same elements in all four iterations or
    takes the same factors in all four, for points that all four have, and may be added before or after them: no
    other statement depends on when.
    """
    taken = all_variables(program.body)
    work = _Blocking(program.arrays, taken)
    body = work.block(program.body, ())
    return program.but(body=body) if work.changed else program


class _Blocking:
    def __init__(self, arrays: Arrays, taken: set[str]) -> None:
        self.arrays, self.taken, self.changed = arrays, taken, False

    def block(self, block: Block, path: Path) -> Block:
        return tuple(made for stmt in block for made in self.statement(stmt, path))

    def statement(self, stmt: Stmt, path: Path) -> Block:
        if isinstance(stmt, While) or not children(stmt):
            return (stmt,)
        if not isinstance(stmt, Loop):
            return (with_children(stmt, [self.block(b, path) for b in children(stmt)]),)
        made = self.blocked(stmt, path)
        if made is None:
            return (replace(stmt, body=self.block(stmt.body, (*path, stmt.range))),)
        self.changed = True
        return made

    def blocked(self, loop: Loop, path: Path) -> Block | None:
        """A loop over blocks, and one over the iterations left over; None when nothing is done at once."""
        r = loop.range
        fewest = thresholds().blocked_iterations
        few = (extent_bound(r, interval_env(path)) or fewest) < fewest
        if few or abs(r.step) != 1 or loop.parallel or loop.until is not None or range_elems(r) or \
                len(loop.body) > thresholds().blocked_statements:
            return None
        blocks = blocks_of(r, variable("block", self.taken), path)
        body, late = _put_off(self.arrays, loop, path)
        parts = _parts(self.arrays, body, blocks, path)
        if late and (parts is None or not late <= parts.moved):
            parts = _parts(self.arrays, loop.body, blocks, path)
        if parts is None or _few(r, path):
            return None
        self.taken.add(blocks.first.var)
        inside = (*path, blocks.first, blocks.inside)
        shared = exchange_loops(self.arrays, parts.inside, blocks, path)
        before, after = (self.block(b, inside[:-1]) for b in (shared.before, shared.after))
        turns = _iterations(loop, blocks, self.block(shared.inside, inside))
        whole = Loop(blocks.first, (*parts.before, *before, *turns, *after, *parts.after), loop.source)
        if blocks.left.trips == 0:
            return (whole,)
        left = replace(loop, range=blocks.left)
        return whole, replace(left, body=self.block(rename_symbols(loop.body, {}), (*path, left.range)))


def _few(r: Range, path: Path) -> bool:
    """Whether a range has fewer values in every iteration of the loops around it, which move its ends."""
    region, rest = region_of((), path), (thresholds().blocked_iterations - 1 - (r.stop - r.start) * r.step).affine
    return region is not None and rest is not None and region.implies(rest)


def _put_off(arrays: Arrays, loop: Loop, path: Path) -> tuple[Block, frozenset[int]]:
    """for i: for j = 0:i: { x[j] = x[j] / p[j] ; map d: g[j, d] += x[j] * y[i, d] }
    ->   for i: { for j = 0:i: x[j] = x[j] / p[j] ; map j = 0:i, d: g[j, d] += x[j] * y[i, d] }

    For sums in the loops of a body that several iterations do at once, and on which nothing else there depends. With
    their numbers in the body then.
    """
    body: list[Stmt] = []
    late: list[int] = []
    for stmt in loop.body:
        rest, *sums = _last(arrays, stmt, (*path, loop.range))
        late += range(len(body) + 1, len(body) + 1 + len(sums))
        body += [rest, *sums]
    return tuple(body), frozenset(late)


def _last(arrays: Arrays, stmt: Stmt, path: Path) -> Block:
    if not isinstance(stmt, Loop) or abs(stmt.range.step) != 1 or stmt.until is not None or stmt.parallel or \
            not len(stmt.body) == sum(isinstance(s, Map) for s in stmt.body) <= thresholds().blocked_statements:
        return (stmt,)
    body = [s for s in stmt.body if isinstance(s, Map)]
    wide = [replace(s, domain=(stmt.range.upwards, *s.domain)) for s in body]
    fit = [k for k, s in enumerate(wide) if at_once(arrays, s, path[-1].var, path)]
    found = edges(body, (*path, stmt.range)) if fit else []
    fit = [k for k in fit if not any(e.before == k for e in found)]
    if not fit or len(fit) == len(body):
        return (stmt,)
    rest = replace(stmt, body=tuple(s for k, s in enumerate(body) if k not in fit))
    return rest, *(wide[k] for k in fit)


@dataclass(frozen=True)
class _Parts:
    """Of the body of a loop: what is done for a whole block, and what its iterations do. moved: numbers in the body."""

    before: Block
    inside: Block
    after: Block
    moved: frozenset[int]


def _parts(arrays: Arrays, body: Block, blocks: Blocks, path: Path) -> _Parts | None:
    inside = (*path, blocks.first, blocks.inside)
    cuts = [split(s, blocks, path) if isinstance(s, Map) and at_once(arrays, s, blocks.inside.var, inside) else None
            for s in body]
    pieces: list[Stmt] = []
    owner: dict[int, int] = {}
    for number, (stmt, cut) in enumerate(zip(body, cuts, strict=True)):
        if cut is not None:
            owner[len(pieces)] = number
        pieces += [stmt] if cut is None else [cut.common, *cut.others]
    placed = place(tuple(pieces), tuple(owner), blocks, path) if owner else None
    if placed is None or not (placed.before or placed.after):
        return None
    before, after = ([_together(pieces[k], blocks) for k in part] for part in (placed.before, placed.after))
    moved = frozenset(owner[k] for k in (*placed.before, *placed.after))
    # What stays is not cut.
    rest = [cut.others if cut is not None and k in moved else (s,)
            for k, (s, cut) in enumerate(zip(body, cuts, strict=True))]
    return _Parts(tuple(before), tuple(s for part in rest for s in part), tuple(after), moved)


def _together(stmt: Stmt, blocks: Blocks) -> Map:
    """A sum for all iterations of a block."""
    store = only_store(stmt) if isinstance(stmt, Map) else None
    if store is None or not isinstance(stmt, Map):
        raise TypeError(f"{stmt!r} is no sum")
    stores = [_at(store, place) for place in _places(blocks)]
    if not uses(store.index, blocks.inside.var):
        stores = [replace(store, expr=reduce(algebra.add, [s.expr for s in stores]))]
    return replace(stmt, body=tuple(stores))


def _at(store: Store, place: Mapping[str, Ix]) -> Store:
    return replace(store, index=tuple(i.subs(place) for i in store.index),
                   expr=map_indices(store.expr, lambda i: i.subs(place)))


def _places(blocks: Blocks) -> Iterator[dict[str, Ix]]:
    """The iterations of a block in order."""
    r = blocks.inside
    return ({r.var: r.start + k} for k in range(0, (r.stop - r.start).const or 0, r.step))


def _iterations(loop: Loop, blocks: Blocks, body: Block) -> Block:
    """The iterations of a block one after the other: written out when they are short, in ranges that all share if need
    be."""
    if not body:
        return ()
    turns = [rename_symbols(body, at) for at in _places(blocks)]
    for kept in ([0] * len(body), [_shared_ranges(s, blocks.inside.var) for s in body]):
        points = [_points(s, k) for turn in turns for s, k in zip(turn, kept, strict=True)]
        if all(p is not None for p in points) and sum(p or 0 for p in points) <= thresholds().written_out:
            return tuple(made for turn in turns for s, k in zip(turn, kept, strict=True) if isinstance(s, Map)
                         for made in _written_out(s, k))
    return (replace(loop, range=blocks.inside, body=body),)


def _shared_ranges(stmt: Stmt, var: str) -> int:
    """How many short ranges a map begins with that are the same in all iterations."""
    domain = stmt.domain if isinstance(stmt, Map) else ()
    return next((k for k, r in enumerate(domain) if var in r.start.symbols | r.stop.symbols or
                 r.trips not in range(ITERATIONS + 1)), len(domain))


def _points(stmt: Stmt, kept: int) -> int | None:
    """How many points a map has, but for the ranges it begins with, whose ranges stand by themselves."""
    if not isinstance(stmt, Map):
        return None
    own = {r.var for r in stmt.domain}
    total = 1
    for r in stmt.domain[kept:]:
        if r.trips is None or (r.start.symbols | r.stop.symbols) & own:
            return None
        total *= r.trips
    return total


def _written_out(stmt: Map, kept: int) -> Sequence[Map]:
    """A statement for each point of a map, but for the ranges it begins with."""
    if len(stmt.domain) == kept:
        return [stmt]
    first, r, rest = stmt.domain[:kept], stmt.domain[kept], stmt.domain[kept + 1:]
    made: list[Map] = []
    for k in range(r.trips or 0):
        inner = rename_symbols((replace(stmt, domain=(*first, *rest)),), {r.var: r.start + k * r.step})[0]
        made += _written_out(inner, kept) if isinstance(inner, Map) else []
    return made
