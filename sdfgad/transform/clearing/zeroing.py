"""Drop clearings that the next accumulation makes pointless. Cotangents are cleared far more often than is needed."""
from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from sdfgad.analysis.elements.cover import covers, fills, is_pointwise
from sdfgad.analysis.loops.rows import touches as row_touches
from sdfgad.ir.program import Array, Block, If, Loop, Map, Program, Stmt, Store, While
from sdfgad.ir.walk import children, in_terms_of, reads, rebuild_blocks, statements, with_children, writes
from sdfgad.transform.clearing.clearings import (
    assigning,
    fold_block,
    is_zero,
    looks_into,
    sole_accumulation,
    stored_box,
    touches,
    without,
)


def fold_zeroing(program: Program) -> Program:
    """x[Z] = 0 ; ... ; x[C] += e, C inside Z   ->   x[Z minus C] = 0 ; ... ; x[C] = e

    Also across the end of a loop body, for arrays that only this body looks at and that each iteration starts by
    filling whole; and clearings after which nobody looks at the array again disappear.
    """
    outside = program.live_out | set(program.arguments)
    body = rebuild_blocks(program.body, fold_block)
    body = _around_loops(body, program, outside)
    body = _drop_last(body, outside)
    return program.but(body=body)


def _around_loops(body: Block, program: Program, outside: Set[str]) -> Block:
    """The rule across the end of a loop body."""
    names = {p.array for s in statements(body) if isinstance(s, Map) for p in s.body if is_zero(p)} - outside
    for name in sorted(names):
        home = _home(body, name)
        if home is None:
            continue
        first = next(s for s in home if touches(s, name))
        store = sole_accumulation(first, name)
        array = program.arrays[name]
        if store is None or not isinstance(first, Map):
            continue
        if (fills(first, store, array) and _ends_clear(home, array)) or _alone_at_points(body, home, first, store):
            body = _drop_clearings(body, home, name, first, store)
    return body


def _ends_clear(home: Block, array: Array) -> bool:
    """Whether the last thing the block does with the array is to clear all of it."""
    last = next(s for s in reversed(home) if touches(s, array.name))
    if not isinstance(last, Map):
        return False
    part = [p for p in last.body if isinstance(p, Store) and p.array == array.name][-1:]
    return bool(part) and is_zero(part[0]) and covers(last, part[0], array)


def _alone_at_points(body: Block, home: Block, first: Map, store: Store) -> bool:
    """Whether every look at an array is at the points of this map, and each iteration ends by clearing them."""
    name = store.array
    users = [s for s in statements(body) if name in reads(s) | writes(s) and not _only_clears(s, name)]
    if not is_pointwise(first.domain, store.index) or any(not _at_points(s, first, store) for s in users):
        return False
    last = next(s for s in reversed(home) if touches(s, name))
    parts = [p for p in last.body if isinstance(p, Store) and p.array == name] if isinstance(last, Map) else []
    return bool(parts) and is_zero(parts[-1]) and _at_points(last, first, store)


def _at_points(stmt: Stmt, first: Map, store: Store) -> bool:
    """Whether a map looks at an array where another one stores to it, point by point."""
    here = in_terms_of(first.domain, stmt) if isinstance(stmt, Map) and len(stmt.domain) == len(first.domain) else None
    return here is not None and all(t.index == store.index for t in row_touches(here) if t.array == store.array)


def _home(body: Block, name: str) -> Block | None:
    """The loop body that holds every statement about `name` but clearings outside it; None when there is none."""
    here = [s for s in body if touches(s, name) and not _only_clears(s, name)]
    if len(here) != 1 or not isinstance(here[0], (Loop, While, If)):
        return None
    inner = [b for b in children(here[0]) if any(touches(s, name) for s in b)]
    if len(inner) != 1:
        return None
    deeper = _home(inner[0], name)
    if deeper is not None:
        return deeper
    return inner[0] if isinstance(here[0], (Loop, While)) else None


def _only_clears(stmt: Stmt, name: str) -> bool:
    return isinstance(stmt, Map) and name not in reads(stmt) and \
        all(is_zero(p) for p in stmt.body if isinstance(p, Store) and p.array == name)


def _drop_clearings(body: Block, home: Block, name: str, first: Map, store: Store) -> Block:
    """Outside `home` every clearing goes; inside, those after the last look at the array."""

    def visit(block: Block, inside: bool) -> Block:
        inside = inside or block is home
        out: list[Stmt] = []
        last = max((k for k, s in enumerate(block) if touches(s, name) and not _only_clears(s, name)), default=-1)
        for k, stmt in enumerate(block):
            if stmt is first:
                out.append(assigning(first, store))
            elif children(stmt):
                out.append(with_children(stmt, [visit(b, inside) for b in children(stmt)]))
            elif _only_clears(stmt, name) and touches(stmt, name) and (not inside or (block is home and k > last)):
                out += _strip(stmt, name)
            elif block is home and k == last:
                out += _strip_trailing(stmt, name)
            else:
                out.append(stmt)
        return tuple(out)

    return visit(body, False)


def _strip(stmt: Stmt, name: str) -> list[Stmt]:
    if not isinstance(stmt, Map):
        return [stmt]
    kept = tuple(p for p in stmt.body if not (isinstance(p, Store) and p.array == name))
    return [replace(stmt, body=kept)] if any(isinstance(p, Store) for p in kept) else []


def _strip_trailing(stmt: Stmt, name: str) -> list[Stmt]:
    """Drop a clearing that is the last thing a map does with the array."""
    if not isinstance(stmt, Map):
        return [stmt]
    about = [p for p in stmt.body if isinstance(p, Store) and p.array == name]
    return without(stmt, about[-1:]) if about and is_zero(about[-1]) else [stmt]


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
