"""The part of an inner loop that all iterations of a block have, run for all of them at once."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.elements.region import region_of
from sdfgad.analysis.loops.iteration_blocks import Blocks, cut_range, place
from sdfgad.codegen.cpu.schedule.recurrences.at_once import Arrays, Path, at_once
from sdfgad.ir.program import Block, Loop, Map, Range, Stmt
from sdfgad.thresholds import thresholds


@dataclass(frozen=True)
class Exchanged:
    """Of the body of a block's iterations: loops for all of them before and after, and what each of them does."""

    before: Block
    inside: Block
    after: Block


def exchange_loops(arrays: Arrays, body: Block, blocks: Blocks, path: Path) -> Exchanged:
    """for i = I:I + 4: for j = 0:i: { x[i, j] /= p[j] ; map d: x[i, j + d] += x[i, j] * a[j, d] }
    ->   for j = 0:I: { map i = I:I + 4: x[i, j] /= p[j] ; map i = I:I + 4, d: x[i, j + d] += x[i, j] * a[j, d] }
         for i = I:I + 4: for j = I:i: { ... as before }

    For loops in which a sum of several iterations of the block loads or stores less than that of one after the other.
    No iteration of the block may touch in this part what another one of them changes there, sums of the same element
    aside, and nothing else in the block may depend on when the part runs.
    """
    pieces: list[Stmt] = []
    common: dict[int, Loop] = {}
    for stmt in body:
        parts = _cut(stmt, blocks, path) if isinstance(stmt, Loop) and _worth(arrays, stmt, blocks, path) else None
        for part, shared in parts or ():
            if shared:
                common[len(pieces)] = part
            pieces.append(part)
        pieces += [] if parts else [stmt]
    placed = place(tuple(pieces), tuple(common), blocks, path) if common else None
    if placed is None or not (placed.before or placed.after):
        return Exchanged((), body, ())
    moved = {*placed.before, *placed.after}
    before, after = (tuple(_for_all(common[k], blocks) for k in part) for part in (placed.before, placed.after))
    return Exchanged(before, tuple(p for k, p in enumerate(pieces) if k not in moved), after)


def _worth(arrays: Arrays, loop: Loop, blocks: Blocks, path: Path) -> bool:
    maps = [s for s in loop.body if isinstance(s, Map)]
    if abs(loop.range.step) != 1 or loop.parallel or loop.until is not None or \
            not len(loop.body) == len(maps) <= thresholds().exchanged_statements:
        return False
    inside = (*path, blocks.first, blocks.inside, loop.range)
    return any(at_once(arrays, s, blocks.inside.var, inside) for s in maps)


def _cut(loop: Loop, blocks: Blocks, path: Path) -> list[tuple[Loop, bool]] | None:
    """The parts of a loop in order, and whether all iterations of the block have them."""
    region = region_of((), (*path, blocks.first))
    found = None if region is None else cut_range(loop.range.upwards, blocks, region)
    if found is None:
        return None
    upwards = loop.range.step == 1
    parts = [(replace(loop, range=r if upwards else _downwards(r)), k == 0) for k, r in enumerate(found)]
    first_is_lower = len(found) < 2 or found[0].stop == found[1].start
    return parts if first_is_lower == upwards else parts[::-1]


def _downwards(r: Range) -> Range:
    return Range(r.var, r.stop - 1, r.start - 1, -1)


def _for_all(loop: Loop, blocks: Blocks) -> Loop:
    """The loop with every iteration of the block in each of its own."""
    turns = blocks.inside.upwards
    return replace(loop, body=tuple(replace(s, domain=(turns, *s.domain)) for s in _maps(loop.body)))


def _maps(body: Sequence[Stmt]) -> list[Map]:
    return [s for s in body if isinstance(s, Map)]
