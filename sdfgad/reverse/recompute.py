"""Values the reverse sweep can rebuild instead of having them stored.

An array made afresh by each run of one block, from values nobody changes in the rest of that block, is rebuilt by
running the statements that made it again, at the start of the block's reverse.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from sdfgad.analysis.block_local import BlockLocal, blocks
from sdfgad.analysis.elements.access import Access, Site, overlap_in, writes_of
from sdfgad.ir.program import Block, Lib, Map, Program, Stmt
from sdfgad.ir.walk import all_writes, reads, writes


def rebuildable(program: Program, local: Mapping[str, BlockLocal], reads_back: Iterable[Access],
                place: Mapping[int, Site]) -> dict[str, BlockLocal]:
    """The block-local arrays whose makers can run again at the end of the block; `reads_back`: of the reverse sweep."""
    needs: dict[str, list[Access]] = {}
    for read in reads_back:
        needs.setdefault(read.array, []).append(read)
    by_first = {id(block[0]): block for block in blocks(program.body)}
    return {name: found for name, found in local.items() if _runs_again(by_first[found.block], name, found.makers)
            and _final_when_read(found, needs.get(name, ()), place)}


def _final_when_read(found: BlockLocal, needs: Iterable[Access], place: Mapping[int, Site]) -> bool:
    """No maker destroys what the reverse of the same block needs of an earlier one."""
    writes_after = [w for maker in found.makers[1:] for w in writes_of(maker, place[id(maker)])]
    return not any(r.when < w.when and overlap_in(r, w, len(found.path)) for r in needs for w in writes_after)


def _runs_again(block: Block, name: str, makers: tuple[Stmt, ...]) -> bool:
    """The makers stand in the block itself and nothing they read changes later in it."""
    for maker in makers:
        position = next((k for k, s in enumerate(block) if s is maker), None)
        if position is None or not isinstance(maker, (Map, Lib)) or len(writes(maker)) != 1:
            return False
        if not (reads(maker) - {name}).isdisjoint(all_writes(block[position + 1:])):
            return False
    return True
