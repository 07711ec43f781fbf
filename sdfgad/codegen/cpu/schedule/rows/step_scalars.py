"""Numbers of a step computed by whoever reads them, so that nothing but maps is left of it."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sdfgad.ir.expr import Expr, Load, rewrite
from sdfgad.ir.program import Block, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import (
    all_writes,
    expr_reads,
    in_indices,
    map_exprs,
    reads,
    rebuild_blocks,
    statements,
    within,
)
from sdfgad.thresholds import thresholds
from sdfgad.transform.spelling import only_store


def scalars_written_out(loop: Loop, program: Program, users: Mapping[str, Sequence[Stmt]]) -> Loop:
    """for t: { s = c[t] * d ; map i: x[i] += s * y[i] }   ->   for t: map i: x[i] += c[t] * d * y[i]

    For temporaries that are read in the same block alone, behind that. It must be as good to compute them there,
    and short, so that a compiler computes them before the map. users: the statements that touch an array.
    """
    body, = rebuild_blocks((loop,), partial(_in_block, program=program, users=users))
    return body if isinstance(body, Loop) else loop


def _in_block(work: list[Stmt], program: Program, users: Mapping[str, Sequence[Stmt]]) -> Block:
    k = 0
    while k < len(work):
        part = _set(work[k], program)
        last = None if part is None else _last_reader(work, k, part, users)
        if part is None or last is None:
            k += 1
            continue
        load = Load(part.array, (), part.expr.dtype)
        put = partial(_put, load=load, value=part.expr)
        work[k:last + 1] = [map_exprs(s, put) for s in work[k + 1:last + 1]]
    return tuple(work)


def _put(e: Expr, load: Load, value: Expr) -> Expr:
    return rewrite(e, lambda n: value if n == load else None)


def _set(stmt: Stmt, program: Program) -> Store | None:
    """The number that a statement sets, if it may be computed elsewhere."""
    part = only_store(stmt) if isinstance(stmt, Map) and not stmt.domain else None
    if part is None or part.op is not None or part.index or part.expr.size > thresholds().step_scalar:
        return None
    array = program.arrays[part.array]
    own = array.role == "transient" and array.name not in program.live_out and array.dtype == part.expr.dtype
    return part if own and part.array not in expr_reads(part.expr) else None


def _last_reader(work: Sequence[Stmt], k: int, part: Store, users: Mapping[str, Sequence[Stmt]]) -> int | None:
    """The place of the last statement that reads a number set at place k, where each may compute it anew."""
    places = [p for p in range(k + 1, len(work)) if part.array in within(work[p])[0]]
    readers = [s for p in places for s in statements((work[p],)) if part.array in reads(s)]
    if not readers or len(readers) != sum(part.array in reads(s) for s in users[part.array]) or \
            not all(isinstance(s, Map) and not in_indices(s, part.array) for s in readers):
        return None
    between = all_writes(tuple(work[k + 1:places[-1] + 1]))
    return places[-1] if between.isdisjoint({part.array, *expr_reads(part.expr)}) else None
