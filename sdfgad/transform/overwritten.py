"""Drop what is stored where something else is stored before anybody looks."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sdfgad.analysis.cover import covers
from sdfgad.ir.program import Array, Block, Map, Program, Stmt, Store
from sdfgad.ir.walk import all_reads, all_writes, reads, rebuild_blocks
from sdfgad.transform.clearings import common, stored_box
from sdfgad.transform.stale import hull, unseen, whole


def remove_overwritten(program: Program) -> Program:
    """map i = 0:n: x[i] = 0 ; x[0] = a ; map i = 1:n: x[i] = g(i)   ->   x[0] = a ; map i = 1:n: x[i] = g(i)

    Within one block, and the first iteration of a loop that is sure to run; whatever the first map stores into other
    arrays stays.
    """
    return program.but(body=rebuild_blocks(program.body, lambda work: _kept(work, program.arrays)))


def _kept(work: Sequence[Stmt], arrays: Mapping[str, Array]) -> Block:
    """The rule inside one block, from its end on: what is dropped looks at nothing."""
    kept: list[Stmt] = []
    later: dict[str, list[Stmt]] = {}
    for stmt in reversed(work):
        body = tuple(p for k, p in enumerate(stmt.body) if not isinstance(p, Store) or _looked_at(stmt, k)
                     or not _overwritten(stmt, p, later.get(p.array, ()), arrays)) if isinstance(stmt, Map) else ()
        if isinstance(stmt, Map) and len(body) < len(stmt.body):
            if not any(isinstance(p, Store) for p in body):
                continue
            stmt = replace(stmt, body=body)
        kept.append(stmt)
        for name in all_reads((stmt,)) | all_writes((stmt,)):
            later[name] = [stmt, *later.get(name, ())]
    return tuple(reversed(kept))


def _looked_at(stmt: Map, place: int) -> bool:
    """Whether the map itself reads what one of its parts stores: a later part does, for no other point may."""
    store = stmt.body[place]
    return isinstance(store, Store) and store.array in reads(replace(stmt, domain=(), body=stmt.body[place + 1:]))


def _overwritten(stmt: Map, store: Store, later: Sequence[Stmt], arrays: Mapping[str, Array]) -> bool:
    """Whether all that a store reaches is replaced by the statements that touch the array later, before they look."""
    if not later or not store.index:
        return False
    array, following = arrays[store.array], later[0]
    if isinstance(following, Map) and array.name not in reads(following):
        stores = [p for p in following.body if isinstance(p, Store) and p.array == array.name]
        if len(stores) == 1 and covers(following, stores[0], array):
            return True
    box = common(stored_box(stmt, store) or hull(store.index, stmt.domain), whole(array))
    return box is None or unseen(later, array, box, arrays)
