"""Arrays that live within one run of one block: made before they are looked at, and never seen outside.

Such an array may get a version per iteration of the loops around its block, or be rebuilt there.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sdfgad.analysis.elements.access import Site, reads_of, writes_of
from sdfgad.analysis.elements.boxes import APART, Box, covered, hull_of, relation
from sdfgad.analysis.elements.cover import replaced
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Lib, Loop, Map, Program, Range, Stmt, While
from sdfgad.ir.walk import children, reads, statements, writes

_ANYWHERE = Site((), 0, 0)


@dataclass(frozen=True)
class BlockLocal:
    """block: `id` of the first statement of its block; path: the loops around; makers: the statements that write it.
    first: those of them that make it afresh, before anybody reads it."""

    array: str
    block: int
    path: tuple[Range, ...]
    makers: tuple[Stmt, ...]
    first: tuple[Stmt, ...]

    @property
    def cost(self) -> int:
        """Elements computed by running the makers once."""
        return sum(_points(m) for m in self.makers)


def block_locals(program: Program, place: Mapping[int, Site], seen: Iterable[str]) -> dict[str, BlockLocal]:
    """Every transient array that lives within one run of a block, by name; `seen` ones are looked at afterwards."""
    outside = {*seen, *_named_by_loops(program.body)}
    touching: dict[str, list[Stmt]] = {}
    for stmt in statements(program.body):
        for name in reads(stmt) | writes(stmt):
            touching.setdefault(name, []).append(stmt)
    found: dict[str, BlockLocal] = {}
    for block in blocks(program.body):
        tops = {id(s) for s in block}
        inside = {id(s) for s in statements(block)}
        for name in sorted({n for s in block for n in writes(s)} - found.keys() - outside):
            array, here = program.arrays[name], touching[name]
            if array.role != "transient" or not inside.issuperset(map(id, here)):
                continue
            makers = tuple(s for s in here if name in writes(s))
            first = _afresh(array, here, len(makers), tops)
            if first:
                found[name] = BlockLocal(name, id(block[0]), place[id(block[0])].path, makers, first)
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


def _afresh(array: Array, here: Sequence[Stmt], count: int, tops: Collection[int]) -> tuple[Stmt, ...]:
    """The first of the statements that touch the array, where they stand in the block itself (`tops`, by `id`), write
    the same elements each time and look at none but what is there by then: all of them, unless they are all that write
    any, `count` in number."""
    first: list[Stmt] = []
    there: list[Box] = []
    for stmt in here:
        alike = id(stmt) in tops and _writes_alike(stmt, array.name)
        if not alike or not _of_what_is_there(stmt, array.name, there):
            break
        first.append(stmt)
        there += _filled(stmt, array.name)
    whole = len(first) == count or any(array.name in replaced(s, {array.name: array}) for s in first) or \
        covered(Box(array.name, tuple((ix(0), ix(n)) for n in array.shape)), there)
    return tuple(first) if whole else ()


def _writes_alike(stmt: Stmt, name: str) -> bool:
    """Whether a statement stores into an array once, at the same elements each time."""
    stores = [w for w in writes_of(stmt, _ANYWHERE) if w.array == name]
    if len(stores) != 1:
        return False
    own = {r.var for r in stores[0].domain}
    ends = [i for r in stores[0].domain for i in (r.start, r.stop)]
    return all(i.symbols <= own and not i.elems for i in (*ends, *stores[0].index))


def _of_what_is_there(stmt: Stmt, name: str, there: Sequence[Box]) -> bool:
    """Whether a statement reads nothing of an array, or what lies in some boxes, to fill what lies in none of them:
    halos are made of what they surround."""
    if name not in reads(stmt):
        return True
    read = [hull_of(r.array, r.index, r.domain) for r in reads_of(stmt, _ANYWHERE) if r.array == name]
    made = list(_filled(stmt, name))
    return all(b is not None and covered(b, there) for b in read) and made != [] and all(
        relation(b, t, {}) == APART for b in made for t in there)


def _filled(stmt: Stmt, name: str) -> Iterator[Box]:
    """The boxes that a statement fills of an array."""
    boxes = (hull_of(w.array, w.index, w.domain, dense=True) for w in writes_of(stmt, _ANYWHERE) if w.array == name)
    yield from (b for b in boxes if b is not None)


def _points(stmt: Stmt) -> int:
    if isinstance(stmt, Map):
        return math.prod(r.trips or 1 for r in stmt.domain)
    return math.prod(n.const or 1 for v in stmt.outs for n in v.shape) if isinstance(stmt, Lib) else 1
