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
    """map j: s += f(x[j]) ; t = 0 ; map j: t += g(x[j])   ->   t = 0 ; map j: { s += f(x[j]) ; t += g(x[j]) }

    For sums into single elements, which stay in registers, over ranges of fixed length. What stands between them may
    not look at the first sum.
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
    """Whether both add what they compute of the same data over the same points, each to one element."""
    a, b = _sum(first), _sum(second)
    if a is None or b is None or not first.domain[0].trips:
        return False
    (here,), (there,) = first.domain, second.domain
    return (here.start, here.stop, here.step) == (there.start, there.stop, there.step) \
        and not _data(first).isdisjoint(_data(_in_terms_of(first, second)))


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


def _apart(first: Stmt, other: Stmt) -> bool:
    """Whether two statements may change places."""
    return writes(first).isdisjoint(reads(other) | writes(other)) and reads(first).isdisjoint(writes(other)) \
        and not children(other)


def _in_terms_of(first: Map, second: Map) -> Map:
    """The second map with the variable of the first."""
    made = rename_symbols((second,), {second.domain[0].var: ix(first.domain[0].var)})[0]
    return replace(made, domain=first.domain) if isinstance(made, Map) else second
