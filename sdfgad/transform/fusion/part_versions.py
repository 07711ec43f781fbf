"""A name of its own for a value that the next statement replaces: pointwise fusion then computes it there."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sdfgad.analysis.elements.cover import covers
from sdfgad.ir.expr import Expr, Load, index_elems, loads, rewrite
from sdfgad.ir.program import Array, Block, Map, Program, Stmt, Store
from sdfgad.ir.walk import all_reads, all_writes, range_elems, rebuild_blocks
from sdfgad.names import fresh
from sdfgad.transform.spelling import only_store


def part_versions(program: Program) -> Program:
    """map i: x[i] = f(i) ; map i: x[i] = g(x[i])   ->   map i: x_1[i] = f(i) ; map i: x[i] = g(x_1[i])

    For temporaries (not in `seen`) that both statements fill. In between nothing touches them or what f reads: unless
    the first value is kept for a derivative, it needs no memory.
    """
    arrays = dict(program.arrays)
    own = {n for n, a in arrays.items() if a.role == "transient"} - program.live_out

    def block(work: list[Stmt]) -> Block:
        for k, stmt in enumerate(work):
            update = _update(stmt, arrays)
            first = None if update is None or update.array not in own else _maker(work[:k], update.array, arrays)
            if update is not None and first is not None:
                version = fresh(update.array, arrays)
                arrays[version] = replace(arrays[update.array], name=version)
                work[first], work[k] = _renamed(work[first], version), _reading(stmt, update, version)
        return tuple(work)

    body = rebuild_blocks(program.body, block)
    return program.but(body=body, arrays=arrays) if len(arrays) > len(program.arrays) else program


def _update(stmt: Stmt, arrays: Mapping[str, Array]) -> Store | None:
    """The store of a map that replaces all elements of an array, each by something made of itself."""
    store = only_store(stmt) if isinstance(stmt, Map) else None
    if not isinstance(stmt, Map) or store is None or not arrays[store.array].shape:
        return None
    places = {n.index for n in loads(store.expr) if n.array == store.array}
    elems = [*index_elems(store.expr), *(e for i in store.index for e in i.elems),
             *(e for r in stmt.domain for e in range_elems(r))]
    looked_up = any(e.array == store.array for e in elems)
    return store if places == {store.index} and not looked_up and covers(stmt, store, arrays[store.array]) else None


def _maker(before: Sequence[Stmt], name: str, arrays: Mapping[str, Array]) -> int | None:
    """The last statement that touches an array, if it is one that fills it from others."""
    for k in range(len(before) - 1, -1, -1):
        stmt = before[k]
        if name in all_writes((stmt,)) | all_reads((stmt,)):
            store = only_store(stmt) if isinstance(stmt, Map) else None
            if not isinstance(stmt, Map) or store is None or name in all_reads((stmt,)):
                return None
            steady = all_reads((stmt,)).isdisjoint(all_writes(tuple(before[k + 1:])))
            return k if steady and covers(stmt, store, arrays[name]) else None
    return None


def _renamed(stmt: Stmt, version: str) -> Stmt:
    store = only_store(stmt) if isinstance(stmt, Map) else None
    return replace(stmt, body=(replace(store, array=version),)) if isinstance(stmt, Map) and store else stmt


def _reading(stmt: Stmt, update: Store, version: str) -> Stmt:
    def put(e: Expr) -> Expr | None:
        return Load(version, e.index, e.dtype) if isinstance(e, Load) and e.array == update.array else None

    return replace(stmt, body=(replace(update, expr=rewrite(update.expr, put)),)) if isinstance(stmt, Map) else stmt
