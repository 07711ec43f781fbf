"""Drop fillings of an array that is filled again before anybody looks."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sdfgad.analysis.cover import covers
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import all_reads, all_writes, reads, rebuild_blocks


def remove_overwritten(program: Program) -> Program:
    """map i: x[i] = f(i) ; map i: x[i] = g(i)   ->   map i: x[i] = g(i)

    Within one block, or in the first iteration of a loop that is sure to run; whatever the first map stores into other
    arrays stays.
    """
    return program.but(body=rebuild_blocks(program.body, lambda work: _kept(work, program.arrays)))


def _kept(work: Sequence[Stmt], arrays: Mapping[str, Array]) -> Block:
    """The rule inside one block."""
    kept: list[Stmt] = []
    for k, stmt in enumerate(work):
        body = tuple(p for p in stmt.body if not (isinstance(p, Store) and _overwritten(p.array, work[k + 1:], arrays))
                     or _looked_at(stmt, p)) if isinstance(stmt, Map) else ()
        if not isinstance(stmt, Map) or len(body) == len(stmt.body):
            kept.append(stmt)
        elif any(isinstance(p, Store) for p in body):
            kept.append(replace(stmt, body=body))
    return tuple(kept)


def _looked_at(stmt: Map, store: object) -> bool:
    """Whether the map itself reads what it stores: a later part does, for no other point may."""
    later = next(k for k, p in enumerate(stmt.body) if p is store) + 1
    return isinstance(store, Store) and store.array in reads(replace(stmt, domain=(), body=stmt.body[later:]))


def _overwritten(name: str, later: Sequence[Stmt], arrays: Mapping[str, Array]) -> bool:
    """Whether the next statement that touches the array replaces all of it."""
    stmt = next((s for s in later if name in all_reads((s,)) | all_writes((s,))), None)
    if isinstance(stmt, Loop) and name not in reads(stmt):
        once = bool(stmt.range.trips) and stmt.until is None and not stmt.parallel
        return once and _overwritten(name, stmt.body, arrays)
    if not isinstance(stmt, Map) or name in reads(stmt):
        return False
    stores = [p for p in stmt.body if isinstance(p, Store) and p.array == name]
    return len(stores) == 1 and covers(stmt, stores[0], arrays[name])
