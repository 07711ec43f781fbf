"""Drop clearings that the next accumulation makes pointless. Cotangents are cleared far more often than is needed."""
from __future__ import annotations

from collections.abc import Set

from sdfgad.ir.program import Block, Map, Program, Store
from sdfgad.ir.walk import rebuild_blocks
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
    out = list(body)
    for k in reversed(range(len(out))):
        stmt = out[k]
        if not isinstance(stmt, Map):
            continue
        for part in [p for p in stmt.body if is_zero(p)]:
            box = stored_box(stmt, part)
            later = any(looks_into(s, part.array, box) for s in out[k + 1:])
            about = [p for p in stmt.body if isinstance(p, Store) and p.array == part.array]
            if part.array not in outside and not later and about[-1] is part and isinstance(out[k], Map):
                left = without(stmt, [part])
                out[k:k + 1] = left
                if not left:
                    break
    return tuple(out)
