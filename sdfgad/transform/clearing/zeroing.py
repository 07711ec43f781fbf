"""Drop clearings that the next accumulation makes pointless. Cotangents are cleared far more often than is needed."""
from __future__ import annotations

from collections.abc import Set

from sdfgad.ir.program import Block, Map, Program, Stmt, Store
from sdfgad.ir.walk import rebuild_blocks, within
from sdfgad.transform.clearing.around_loops import clear_around_loops
from sdfgad.transform.clearing.clearings import fold_block, is_zero, looks_into, stored_box, without


def fold_zeroing(program: Program) -> Program:
    """x[Z] = 0 ; ... ; x[C] += e, C inside Z   ->   x[Z minus C] = 0 ; ... ; x[C] = e

    Also across the end of a loop body, for arrays that only this body looks at and that each iteration starts by
    filling whole; and clearings after which nobody looks at the array again disappear.
    """
    outside = program.live_out | set(program.arguments)
    body = rebuild_blocks(program.body, fold_block)
    body = clear_around_loops(body, program.arrays, outside)
    body = _drop_last(body, outside)
    return program.but(body=body)


def _drop_last(body: Block, outside: Set[str]) -> Block:
    """Clearings at the end of the program that nobody looks at."""
    out: list[Stmt] = []
    later: dict[str, list[Stmt]] = {}
    for stmt in reversed(body):
        unseen = [] if not isinstance(stmt, Map) else [
            p for p in stmt.body if is_zero(p) and p.array not in outside and _is_last(stmt, p)
            and not any(looks_into(s, p.array, stored_box(stmt, p)) for s in later.get(p.array, ()))]
        left = without(stmt, unseen) if isinstance(stmt, Map) and unseen else [stmt]
        for kept in left:
            for name in frozenset.union(*within(kept)):
                later.setdefault(name, []).append(kept)
        out += left
    return tuple(reversed(out))


def _is_last(stmt: Map, part: Store) -> bool:
    """Whether a map stores nothing more to the array behind this part."""
    return [p for p in stmt.body if isinstance(p, Store) and p.array == part.array][-1] is part
