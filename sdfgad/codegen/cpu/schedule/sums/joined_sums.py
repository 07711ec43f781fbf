"""Neighbouring sums over the same points that look at the same data: one pass over it in place of two."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sdfgad.ir.expr import Load, walk
from sdfgad.ir.program import Block, Map, Program, Stmt, Store
from sdfgad.ir.walk import children, conflicts, in_terms_of, with_children
from sdfgad.transform.spelling import only_store


def join_sums(program: Program) -> Program:
    """map j: s += f(x[j]) ; t = 0 ; map j: t += g(x[j])   ->   t = 0 ; map j: { s += f(x[j]) ; t += g(x[j]) }

    For sums into single elements, which stay in registers, over ranges of fixed length. What stands between them may
    not look at the first sum.
    """
    return program.but(body=_block(program.body))


def _block(block: Block) -> Block:
    done: list[Stmt] = []
    for stmt in block:
        stmt = with_children(stmt, [_block(b) for b in children(stmt)]) if children(stmt) else stmt
        found = _partner(done, stmt) if isinstance(stmt, Map) and _sum(stmt) is not None else None
        if found is not None:
            place, stmt = found
            del done[place]
        done.append(stmt)
    return tuple(done)


def _partner(done: Sequence[Stmt], stmt: Map) -> tuple[int, Map] | None:
    """The place of a sum that may be carried down to this one, and both in one."""
    for k in range(len(done) - 1, -1, -1):
        first = done[k]
        moved = _moved(first, stmt) if isinstance(first, Map) else None
        if isinstance(first, Map) and moved is not None and not any(conflicts(first, s) for s in (*done[k + 1:], stmt)):
            return k, replace(first, body=(*first.body, *moved.body))
        if not isinstance(first, Map):
            return None
    return None


def _moved(first: Map, second: Map) -> Map | None:
    """The second map, a sum, in terms of the first, if both add what they compute of the same data, each to one
    element."""
    if _sum(first) is None or not first.domain[0].trips:
        return None
    moved = in_terms_of(first.domain, second)
    return None if moved is None or _data(first).isdisjoint(_data(moved)) else moved


def _sum(stmt: Map) -> Store | None:
    """The sum that a map over one range makes. Of more ranges code generation makes better use one sum at a time."""
    part = only_store(stmt)
    if part is None or part.op != "+" or len(stmt.domain) != 1:
        return None
    return None if any(stmt.domain[0].var in i.symbols for i in part.index) else part


def _data(stmt: Map) -> set[Load]:
    """The loads that change from term to term."""
    var = stmt.domain[0].var
    found = {n for p in stmt.body for n in walk(p.expr) if isinstance(n, Load)}
    return {n for n in found if any(var in i.symbols for i in n.index)}


