"""Arrays that live within one run of one block: made before they are looked at, and never seen outside.

Such an array may get a version per iteration of the loops around its block, or be rebuilt there.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sdfgad.analysis.access import Site
from sdfgad.analysis.cover import covers
from sdfgad.ir.program import Array, Block, Lib, Loop, Map, Program, Range, Stmt, Store, While
from sdfgad.ir.walk import children, reads, statements, within, writes


@dataclass(frozen=True)
class BlockLocal:
    """block: `id` of the first statement of its block; path: the loops around; makers: the statements that write it."""

    array: str
    block: int
    path: tuple[Range, ...]
    makers: tuple[Stmt, ...]

    @property
    def cost(self) -> int:
        """Elements computed by running the makers once."""
        return sum(_points(m) for m in self.makers)


def block_locals(program: Program, place: Mapping[int, Site], seen: Iterable[str]) -> dict[str, BlockLocal]:
    """Every transient array that lives within one run of a block, by name; `seen` ones are looked at afterwards."""
    touches: dict[str, int] = dict.fromkeys([*seen, *_named_by_loops(program.body)], 1)
    for stmt in statements(program.body):
        for name in reads(stmt) | writes(stmt):
            touches[name] = touches.get(name, 0) + 1
    found: dict[str, BlockLocal] = {}
    for block in blocks(program.body):
        tops: dict[str, list[Stmt]] = {}
        for top in block:
            for name in within(top)[0] | within(top)[1]:
                tops.setdefault(name, []).append(top)
        for name in sorted({n for s in block for n in writes(s)} - set(found)):
            array = program.arrays[name]
            if array.role != "transient":
                continue
            here = [s for s in statements(tuple(tops[name])) if name in reads(s) or name in writes(s)]
            makers = tuple(s for s in here if name in writes(s))
            if len(here) == touches[name] and _starts_afresh(array, here[0], makers, block):
                found[name] = BlockLocal(name, id(block[0]), place[id(block[0])].path, makers)
    return found


def _named_by_loops(block: Block) -> Iterator[str]:
    """Scalars a loop refers to by name, so that they cannot have versions."""
    for stmt in statements(block):
        names = (stmt.flag, stmt.trips) if isinstance(stmt, While) else \
            (stmt.until, stmt.trips) if isinstance(stmt, Loop) else ()
        yield from (n for n in names if n is not None)


def blocks(block: Block) -> Iterator[Block]:
    """Blocks, inner ones first."""
    for stmt in block:
        for inner in children(stmt):
            yield from blocks(inner)
    if block:
        yield block


def _starts_afresh(array: Array, first: Stmt, makers: tuple[Stmt, ...], block: Block) -> bool:
    """The first statement that touches the array stands in the block itself and writes the same elements each time:
    all of them, unless nothing else writes any."""
    if not any(first is s for s in block) or array.name not in writes(first) or array.name in reads(first):
        return False
    if isinstance(first, Lib):
        return all(i.symbols <= {f"_{k}" for k in range(9)} for v in first.outs for i in v.index)
    if not isinstance(first, Map):
        return False
    own = {r.var for r in first.domain}
    stores = [p for p in first.body if isinstance(p, Store) and p.array == array.name]
    fixed = all(r.start.symbols | r.stop.symbols <= own for r in first.domain) and \
        all(i.symbols <= own and not i.elems for s in stores for i in s.index) and \
        all(not (*r.start.elems, *r.stop.elems) for r in first.domain)
    return fixed and len(stores) == 1 and (len(makers) == 1 or covers(first, stores[0], array))


def _points(stmt: Stmt) -> int:
    if isinstance(stmt, Map):
        return math.prod(r.trips or 1 for r in stmt.domain)
    return math.prod(n.const or 1 for v in stmt.outs for n in v.shape) if isinstance(stmt, Lib) else 1
