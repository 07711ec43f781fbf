"""Blocks of iterations of a loop in order, and what of a body may run for a whole block at a time."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from sdfgad.analysis.elements.access import Site, interval_env, range_accesses
from sdfgad.analysis.elements.dependence import READ, Edge, Touch, edges_between, touches
from sdfgad.analysis.elements.region import Region, region_of
from sdfgad.ir.index import Ix, ix, maximum
from sdfgad.ir.program import Block, Loop, Map, Range, Stmt

ITERATIONS = 4
"""Of a block: so many rows are loaded for one store."""


@dataclass(frozen=True)
class Blocks:
    """`first` counts the blocks by their first iterations; those of one block; and those left over at the end."""

    first: Range
    inside: Range
    left: Range

    @property
    def smallest(self) -> Ix:
        return min(self.ends, key=lambda i: (i - self.inside.start).const or 0)

    @property
    def largest(self) -> Ix:
        return max(self.ends, key=lambda i: (i - self.inside.start).const or 0)

    @property
    def ends(self) -> tuple[Ix, Ix]:
        return self.inside.start, self.inside.stop - self.inside.step


def blocks_of(r: Range, name: str, path: Sequence[Range]) -> Blocks:
    """The iterations of a range that rises or falls by one."""
    step = ITERATIONS * r.step
    count = (r.stop - r.start) * r.step
    if (count.bounds(interval_env(path))[0] or -1) < 0:
        count = maximum(count, 0)
    # Whole steps keep the ends of the range in sight of whoever compares indices.
    return Blocks(Range(name, r.start, r.stop - (step - r.step), step), Range(r.var, ix(name), ix(name) + step, r.step),
                  Range(r.var, r.start + count // ITERATIONS * step, r.stop, r.step))


@dataclass(frozen=True)
class Split:
    """The points of a map that all iterations of a block have, and those that some of them have."""

    common: Map
    others: tuple[Map, ...]


def split(stmt: Map, blocks: Blocks, path: Sequence[Range]) -> Split | None:
    """for j: map d = j + 1:n   ->   common d = J + 4:n, others d = j + 1:J + 4. None when it cannot be told."""
    domain: tuple[Range, ...] = ()
    others: list[Map] = []
    for k, r in enumerate(stmt.domain):
        region = region_of((), (*path, blocks.first, *domain))
        found = None if region is None else cut_range(r, blocks, region)
        if found is None:
            return None
        for rest in found[1:]:
            others.append(replace(stmt, domain=(*domain, rest, *stmt.domain[k + 1:])))
        domain += found[:1]
    return Split(replace(stmt, domain=domain), tuple(others))


def cut_range(r: Range, blocks: Blocks, region: Region) -> tuple[Range, ...] | None:
    """The values that a range has in all iterations of a block, and the others when there are any."""
    var = blocks.inside.var
    first, last = r.start.coefficient(var), r.stop.coefficient(var)
    if first == last == 0:
        return (r,)
    if r.step != 1 or first is None or last is None or (first and last):
        return None
    if first:
        cut = r.start.subs({var: blocks.largest if first > 0 else blocks.smallest})
        parts, gap = (replace(r, start=cut), replace(r, stop=cut)), r.stop - cut
    else:
        cut = r.stop.subs({var: blocks.smallest if last > 0 else blocks.largest})
        parts, gap = (replace(r, stop=cut), replace(r, start=cut)), cut - r.start
    row = gap.affine
    return parts if row is not None and region.implies(row) else None


@dataclass(frozen=True)
class Placed:
    """Statements of a loop's body by number: what runs for a whole block before its iterations, and after them."""

    before: tuple[int, ...]
    after: tuple[int, ...]


def place(body: Block, movable: Sequence[int], blocks: Blocks, path: Sequence[Range]) -> Placed | None:
    """Where those go that may leave the iterations of a block, every dependence kept; None for other bodies."""
    inside = (*path, blocks.first, blocks.inside)
    known = [t for s in body if (t := all_touches(s, inside)) is not None]
    if len(known) < len(body):
        return None
    every = range(len(body))
    pairs = [(a, b) for a, b in product(every, every) if a in movable or b in movable]
    found = edges_between(known, pairs, len(inside))
    before: list[int] = []
    after: list[int] = []
    for k in movable:
        others = set(range(len(body))) - {k}
        if any(e.before == e.after == k for e in found):
            continue
        if not _leads(found, k, others):
            after.append(k)
        elif not _leads_to(found, k, others - set(before)) and not _leads(found, k, set(before)):
            before.append(k)
    return Placed(tuple(before), tuple(after))


def _leads(found: Sequence[Edge], one: int, others: set[int]) -> bool:
    return any(e.before == one and e.after in others for e in found)


def _leads_to(found: Sequence[Edge], one: int, others: set[int]) -> bool:
    return any(e.after == one and e.before in others for e in found)


def all_touches(stmt: Stmt, path: Sequence[Range]) -> list[Touch] | None:
    """Everything that a map, or a loop of maps, touches inside the loops `path`; None for other statements."""
    if isinstance(stmt, Map):
        return touches(stmt, path)
    if not isinstance(stmt, Loop) or stmt.until is not None or stmt.parallel:
        return None
    found = [Touch(a, READ) for a in range_accesses((stmt.range,), Site(tuple(path), 0, 1), 0)]
    for inner in stmt.body:
        more = all_touches(inner, (*path, stmt.range))
        if more is None:
            return None
        found += more
    return found
