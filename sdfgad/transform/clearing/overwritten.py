"""Drop what is stored where something else is stored before anybody looks."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sdfgad.analysis.elements.cover import covers
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_reads, all_writes, reads, rebuild_blocks
from sdfgad.transform.clearing.clearings import common, stored_box
from sdfgad.transform.clearing.stale import hull, unseen, whole


def eliminate_dead_stores(program: Program) -> Program:
    """map i = 0:n: x[i] = 0 ; x[0] = a ; map i = 1:n: x[i] = g(i)   ->   x[0] = a ; map i = 1:n: x[i] = g(i)

    Within one block, and the first iteration of a loop that is sure to run; whatever the first map stores into other
    arrays stays. Of the maps in the body of a parallel loop, what all its iterations store and the body does not look
    at again.
    """
    return program.but(body=rebuild_blocks(program.body, lambda work: _kept(work, program.arrays)))


def _kept(work: Sequence[Stmt], arrays: Mapping[str, Array]) -> Block:
    """The rule inside one block, from its end on: what is dropped looks at nothing."""
    kept: list[Stmt] = []
    later: dict[str, deque[Stmt]] = {}
    for stmt in reversed(work):
        left: Stmt | None = stmt
        if isinstance(stmt, Map):
            left = _without(stmt, lambda m, p: _overwritten(m, p, later.get(p.array, ()), arrays))
        elif isinstance(stmt, Loop) and stmt.parallel:
            left = _kept_of_loop(stmt, later, arrays)
        if left is None:
            continue
        kept.append(left)
        for name in all_reads((left,)) | all_writes((left,)):
            later.setdefault(name, deque()).appendleft(left)
    return tuple(reversed(kept))


def _kept_of_loop(loop: Loop, later: Mapping[str, Sequence[Stmt]], arrays: Mapping[str, Array]) -> Loop | None:
    """A parallel loop without what its iterations store for nobody: they do not look at each other's elements."""
    kept: list[Stmt] = []
    touched = set(loop.private)
    for stmt in reversed(loop.body):
        left: Stmt | None = stmt
        if isinstance(stmt, Map):
            left = _without(stmt, lambda m, p: p.array not in touched and
                            _replaced((loop.range, *m.domain), p, later.get(p.array, ()), arrays))
        touched.update(all_reads((stmt,)), all_writes((stmt,)))
        kept += [left] if left is not None else []
    body = tuple(reversed(kept))
    return (replace(loop, body=body) if body else None) if body != loop.body else loop


def _without(stmt: Map, gone: Callable[[Map, Store], bool]) -> Map | None:
    """A map without the stores that are gone, as far as it does not read them itself; None when none is left."""
    body = tuple(p for k, p in enumerate(stmt.body)
                 if not isinstance(p, Store) or _looked_at(stmt, k) or not gone(stmt, p))
    if len(body) == len(stmt.body):
        return stmt
    return replace(stmt, body=body) if any(isinstance(p, Store) for p in body) else None


def _replaced(ranges: Sequence[Range], store: Store, later: Sequence[Stmt], arrays: Mapping[str, Array]) -> bool:
    """Whether the statements that touch the array later replace all that a store reaches before they look."""
    if not later or not store.index:
        return False
    array = arrays[store.array]
    box = common(hull(store.index, ranges), whole(array))
    return box is not None and unseen(later, array, box, arrays)


def _looked_at(stmt: Map, place: int) -> bool:
    """Whether the map itself reads what one of its parts stores: a later part does, for no other point may."""
    store = stmt.body[place]
    if not isinstance(store, Store) or store.array not in reads(stmt):
        return False  # what the whole map does not read, no part of it does
    return store.array in reads(replace(stmt, domain=(), body=stmt.body[place + 1:]))


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
