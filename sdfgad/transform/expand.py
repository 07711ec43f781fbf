"""Give a block-local array one version per iteration of the loops around its block."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from sdfgad.analysis.access import extent_bound, interval_env
from sdfgad.analysis.block_local import BlockLocal
from sdfgad.ir.expr import Expr, Load, rewrite
from sdfgad.ir.index import Elem, Ix, ix
from sdfgad.ir.program import Array, Block, If, Let, Lib, Map, Program, Range, Stmt, Store, View
from sdfgad.ir.walk import children, map_stmt_indices, with_children

_UNKNOWN = 2**40
Slots = tuple[tuple[int, Ix], ...]


def expand(program: Program, local: Mapping[str, BlockLocal], chosen: Iterable[str]) -> tuple[Program, dict[str, int]]:
    """for i: { t[:] = f(i) ; use t }   ->   for i: { t[i, :] = f(i) ; use t[i, :] }

    Also returns how many leading dimensions each expanded array got. Arrays whose loops have no known number of
    iterations are left alone.
    """
    slots = {name: found for name in chosen if (found := iteration_slots(local[name].path))}
    arrays = {n: _expanded(a, slots[n]) if n in slots else a for n, a in program.arrays.items()}
    body = _block(program.body, {n: tuple(i for _, i in s) for n, s in slots.items()})
    return program.but(arrays=arrays, body=body), {n: len(s) for n, s in slots.items()}


def iteration_slots(path: tuple[Range, ...]) -> Slots | None:
    """(extent, position of the current iteration) for each loop; None when an extent is unknown."""
    env = interval_env(path)
    slots = []
    for r in path:
        extent = extent_bound(r, env)
        if extent is None or extent > _UNKNOWN:
            return None
        slots.append((extent, ((ix(r.var) - r.start) * (1 if r.step > 0 else -1)) // abs(r.step)))
    return tuple(slots)


def _expanded(array: Array, slots: Slots) -> Array:
    return dataclasses.replace(array, shape=(*(n for n, _ in slots), *array.shape))


def _block(block: Block, at: Mapping[str, tuple[Ix, ...]]) -> Block:
    return tuple(_statement(s, at) for s in block)


def _statement(stmt: Stmt, at: Mapping[str, tuple[Ix, ...]]) -> Stmt:
    if children(stmt):
        stmt = with_children(stmt, [_block(b, at) for b in children(stmt)])
        if isinstance(stmt, If):
            stmt = dataclasses.replace(stmt, cond=_expr(stmt.cond, at))
        return _own_indices(stmt, at)
    if isinstance(stmt, Map):
        body = tuple(Let(p.name, _expr(p.expr, at)) if isinstance(p, Let) else
                     Store(p.array, (*at.get(p.array, ()), *p.index), _expr(p.expr, at), p.op) for p in stmt.body)
        stmt = Map(stmt.domain, body, stmt.source)
    elif isinstance(stmt, Lib):
        stmt = dataclasses.replace(stmt, outs=tuple(_view(v, at) for v in stmt.outs),
                                   ins=tuple(_view(v, at) for v in stmt.ins))
    return _own_indices(stmt, at)


def _own_indices(stmt: Stmt, at: Mapping[str, tuple[Ix, ...]]) -> Stmt:
    """Elements of expanded integer arrays inside the statement's indices and bounds."""

    def longer(i: Ix) -> Ix:
        if not i.elems:
            return i
        return i.rebuild(lambda a: Ix((((Elem(a.array, (*at[a.array], *a.parts)),), 1),))
                         if isinstance(a, Elem) and a.array in at else None)

    if not children(stmt):
        return map_stmt_indices(stmt, longer)
    inner = children(stmt)
    bare = map_stmt_indices(with_children(stmt, [() for _ in inner]), longer)
    return with_children(bare, list(inner))


def _expr(e: Expr, at: Mapping[str, tuple[Ix, ...]]) -> Expr:
    return rewrite(e, lambda n: Load(n.array, (*at[n.array], *n.index), n.dtype)
                   if isinstance(n, Load) and n.array in at else None)


def _view(view: View, at: Mapping[str, tuple[Ix, ...]]) -> View:
    return dataclasses.replace(view, index=(*at.get(view.array, ()), *view.index))
