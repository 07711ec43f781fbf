"""Neighbouring sums over the same points that look at the same data: one pass over it in place of two."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sdfgad.ir.expr import Load, walk
from sdfgad.ir.index import ix
from sdfgad.ir.program import Block, Map, Program, Stmt, Store
from sdfgad.ir.walk import children, reads, rename_symbols, with_children, writes
from sdfgad.transform.spelling import only_store


def join_sums(program: Program) -> Program:
    """map i, j: s[i] += f(x[j]) ; t[i] = 0 ; map i, j: t[i] += g(x[j])
    ->   t[i] = 0 ; map i, j: { s[i] += f(x[j]) ; t[i] += g(x[j]) }

    For sums into few elements that stay in registers, over ranges of fixed length. What stands between them may not
    look at the first sum.
    """
    return program.but(body=_block(program.body))


def _block(block: Block) -> Block:
    done: list[Stmt] = []
    for stmt in block:
        stmt = with_children(stmt, [_block(b) for b in children(stmt)]) if children(stmt) else stmt
        place = _partner(done, stmt) if isinstance(stmt, Map) else None
        if place is not None and isinstance(first := done[place], Map) and isinstance(stmt, Map):
            del done[place]
            stmt = replace(first, body=(*first.body, *_in_terms_of(first, stmt).body))
        done.append(stmt)
    return tuple(done)


def _partner(done: Sequence[Stmt], stmt: Map) -> int | None:
    """The place of a sum that may be carried down to this one and run with it."""
    for k in range(len(done) - 1, -1, -1):
        first = done[k]
        if isinstance(first, Map) and _alike(first, stmt) and all(_apart(first, s) for s in (*done[k + 1:], stmt)):
            return k
        if not isinstance(first, Map):
            return None
    return None


def _alike(first: Map, second: Map) -> bool:
    """Whether both add what they compute of the same data over the same points, each to what one row collects."""
    a, b = only_store(first), only_store(second)
    if a is None or b is None or not _adds_up(first, a) or not _adds_up(second, b):
        return False
    moved = only_store(_in_terms_of(first, second))
    same = [(r.start, r.stop, r.step) for r in first.domain] == [(r.start, r.stop, r.step) for r in second.domain]
    if moved is None or not same or moved.index != a.index:
        return False
    return bool(_data(first, a) & _data(first, moved))


def _adds_up(stmt: Map, part: Store) -> bool:
    """Whether the innermost range, and it alone, runs over the terms of a sum."""
    if part.op != "+" or not stmt.domain or any(r.trips is None for r in stmt.domain):
        return False
    *outer, inner = stmt.domain
    return part.index[len(part.index) - len(outer):] == tuple(ix(r.var) for r in outer) \
        and all(inner.var not in i.symbols for i in part.index)


def _data(stmt: Map, part: Store) -> set[Load]:
    """The loads that change from term to term."""
    return {n for n in walk(part.expr) if isinstance(n, Load) and any(stmt.domain[-1].var in i.symbols
                                                                      for i in n.index)}


def _apart(first: Stmt, other: Stmt) -> bool:
    """Whether two statements may change places."""
    return writes(first).isdisjoint(reads(other) | writes(other)) and reads(first).isdisjoint(writes(other)) \
        and not children(other)


def _in_terms_of(first: Map, second: Map) -> Map:
    """The second map with the variables of the first."""
    if len(first.domain) != len(second.domain):
        return second
    names = {b.var: ix(a.var) for a, b in zip(first.domain, second.domain, strict=True)}
    made = rename_symbols((second,), names)[0]
    return made if isinstance(made, Map) else second
