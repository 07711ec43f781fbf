"""Read what a shifted copy holds where it came from, in maps that are cut where the pieces of the copy meet."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import prod

from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.ir.expr import Expr, Load, loads, rewrite
from sdfgad.ir.index import ix
from sdfgad.ir.program import IN_MEMORY, Array, Block, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_writes, reads, rebuild_blocks, writes
from sdfgad.thresholds import ShiftLimits, thresholds
from sdfgad.transform.copies.shifted import CopyPiece, dropped, pieces_of, plain, touching


def propagate_shifted_copies(program: Program, limits: ShiftLimits | None = None) -> Program:
    """map i = 0:n - 1: t[i] = x[i + 1] ; t[n - 1] = x[0] ; map i = 0:n: y[i] = t[i] - x[i]
    ->   map i = 0:n - 1: y[i] = x[i + 1] - x[i] ; map i = n - 1:n: y[i] = x[i - n + 1] - x[i]

    For temporaries that maps of one block fill, each element once, with elements of arrays that stay what they are
    until the last look; all looks are made by maps of the block after that, over ranges known in numbers, which store
    no element twice.
    """
    work = _Propagation(program, program.live_out, limits or thresholds().shifting)
    body = rebuild_blocks(program.body, work.block)
    return program.but(body=body) if body != program.body else program


class _Propagation:
    def __init__(self, program: Program, keep: frozenset[str], limits: ShiftLimits) -> None:
        self.arrays, self.limits = program.arrays, limits
        self.places = touching(program.body)
        self.names = [n for n, a in program.arrays.items() if n not in keep and a.role == "transient"
                      and a.packing is None and a.size >= limits.size and a.dtype.kind in "fc"]

    def block(self, block: list[Stmt]) -> Block:
        """The block without the copies whose readers can do without."""
        here = touching(tuple(block), deep=False)
        written = Counter(name for s in block for name in writes(s))
        for name in self.names:
            if here.get(name) == self.places.get(name) and written[name] > 1:
                block = _without_copy(block, self.arrays, name, self.limits) or block
        return tuple(block)


def _without_copy(block: Sequence[Stmt], arrays: Mapping[str, Array], name: str,
                  limits: ShiftLimits) -> list[Stmt] | None:
    array, pieces = arrays[name], pieces_of(block, arrays[name])
    if any(arrays[p.source.array].role not in IN_MEMORY for p in pieces):
        return None
    if not pieces or prod(b - a for a, b in pieces[0].sides) < limits.whole * array.size:
        return None
    mine = {k for k, s in enumerate(block) if array.name in reads(s) | writes(s)}
    makers = {k for k in mine if array.name in writes(block[k])}
    lookers = mine - makers
    if not lookers or min(lookers) < max(makers):
        return None
    between = tuple(block[min(makers):max(lookers) + 1])
    if not all_writes(between).isdisjoint(p.source.array for p in pieces):
        return None
    cut = {k: _cut(block[k], array.name, pieces) for k in lookers}
    if any(c is None for c in cut.values()) or sum(len(c or ()) - 1 for c in cut.values()) > limits.more:
        return None
    out: list[Stmt] = []
    for k, stmt in enumerate(block):
        out += cut.get(k) or (dropped(stmt, array.name) if k in makers else [stmt])
    return out


def _cut(stmt: Stmt, name: str, pieces: Sequence[CopyPiece]) -> list[Map] | None:
    """The maps that do what a map does and read where the pieces came from; None where that cannot be."""
    if not isinstance(stmt, Map) or not plain(stmt.domain) or any(
            isinstance(p, Store) and not is_pointwise(stmt.domain, p.index) for p in stmt.body):
        return None
    looks = {n for p in stmt.body for n in loads(p.expr) if n.array == name}
    if any(e.array == name for e in _elems(stmt)):
        return None
    ends = {r.var: {r.start.const or 0, r.stop.const or 0} for r in stmt.domain}
    for look in looks:
        for d, i in enumerate(look.index):
            var = next(iter(i.symbols), None)
            gap = i.const if var is None else (i - var).const
            if gap is None or i.elems or var is not None and var not in ends:
                return None
            if var is not None:
                ends[var] |= {x - gap for p in pieces for x in p.sides[d]}
    within = {r.var: [x for x in sorted(ends[r.var]) if (r.start.const or 0) <= x <= (r.stop.const or 0)]
              for r in stmt.domain}
    cells = list(product(*(pairwise(within[r.var]) for r in stmt.domain)))
    made = [_cell(stmt, cell, name, pieces) for cell in cells]
    return None if any(m is None for m in made) else [m for m in made if m is not None]


def _elems(stmt: Map) -> Iterator[Load]:
    """Looks at arrays that decide indices."""
    for part in stmt.body:
        indices = [i for n in loads(part.expr) for i in n.index]
        for i in (*indices, *(part.index if isinstance(part, Store) else ())):
            yield from i.elems  # type: ignore[misc]


def _cell(stmt: Map, cell: Sequence[tuple[int, int]], name: str, pieces: Sequence[CopyPiece]) -> Map | None:
    """The map over a part of its domain, in which every look goes to one piece."""
    first = {r.var: ix(low) for r, (low, _) in zip(stmt.domain, cell, strict=True)}
    lost = False

    def one(n: Expr) -> Expr | None:
        nonlocal lost
        if not isinstance(n, Load) or n.array != name:
            return None
        at = [i.subs(first).const for i in n.index]
        piece = next((p for p in pieces if all(
            x is not None and a <= x < b for x, (a, b) in zip(at, p.sides, strict=True))), None)
        lost = lost or piece is None
        return piece.there(n.index) if piece is not None else None

    body = tuple(replace(p, expr=rewrite(p.expr, one)) for p in stmt.body)
    domain = tuple(Range(r.var, ix(low), ix(high)) for r, (low, high) in zip(stmt.domain, cell, strict=True))
    return None if lost else Map(domain, body, stmt.source)
