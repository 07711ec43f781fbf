"""Values the reverse sweep can rebuild instead of having them stored.

An array made afresh by each run of one block, from values nobody changes in the rest of that block, is rebuilt by
running the statements that made it again, at the start of the block's reverse.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sdfgad.analysis.access import Site
from sdfgad.analysis.needed import Needed
from sdfgad.ir.program import Block, Lib, Map, Program, Stmt, Store
from sdfgad.ir.walk import all_writes, children, reads, statements, writes


@dataclass(frozen=True)
class Rebuild:
    """The statements that make `array`, all in the block whose first statement is `block`; cost in elements."""

    array: str
    block: int
    makers: tuple[Stmt, ...]
    cost: int


def rebuildable(program: Program, facts: Needed, place: Mapping[int, Site]) -> dict[str, Rebuild]:
    """Every array the reverse sweep could rebuild, by name."""
    writers: dict[str, int] = {}
    for stmt in statements(program.body):
        for name in writes(stmt):
            writers[name] = writers.get(name, 0) + 1
    found: dict[str, Rebuild] = {}
    for block in _blocks(program.body):
        for name in sorted({n for s in block for n in writes(s)}):
            makers = tuple(s for s in block if name in writes(s))
            if program.arrays[name].role == "transient" and len(makers) == writers[name] and \
                    _rebuilds(block, name, makers) and _only_here(block, name, facts, place):
                found[name] = Rebuild(name, id(block[0]), makers, sum(_points(m) for m in makers))
    return found


def _blocks(block: Block) -> Iterator[Block]:
    if block:
        yield block
    for stmt in block:
        for inner in children(stmt):
            yield from _blocks(inner)


def _rebuilds(block: Block, name: str, makers: tuple[Stmt, ...]) -> bool:
    """The first maker starts afresh, and nothing the makers read changes later in the block."""
    if not isinstance(makers[0], (Map, Lib)) or name in reads(makers[0]) or len(writes(makers[0])) != 1:
        return False
    if isinstance(makers[0], Map) and any(isinstance(p, Store) and p.op for p in makers[0].body):
        return False
    for maker in makers:
        later = block[_position(block, maker) + 1:]
        if len(writes(maker)) != 1 or not (reads(maker) - {name}).isdisjoint(all_writes(later)):
            return False
    return True


def _position(block: Block, stmt: Stmt) -> int:
    return next(k for k, s in enumerate(block) if s is stmt)


def _only_here(block: Block, name: str, facts: Needed, place: Mapping[int, Site]) -> bool:
    first, last = place[id(block[0])].order, place[id(block[-1])].leave
    return all(first <= a.site.order <= last for a in facts.reads if a.array == name)


def _points(stmt: Stmt) -> int:
    if isinstance(stmt, Map):
        return math.prod(r.trips or 1 for r in stmt.domain)
    return math.prod(n.const or 1 for v in stmt.outs for n in v.shape) if isinstance(stmt, Lib) else 1
