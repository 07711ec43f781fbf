"""Walk rows of data-dependent length once for all that happens to their elements."""
from __future__ import annotations

from collections.abc import Sequence

from sdfgad.ir.program import Block, Map, Program, Stmt, Store
from sdfgad.ir.walk import children, conflicts, range_elems, rename_symbols, with_children


def flatten_ragged_loops(program: Program) -> Program:
    """map i, d = 0:n[i]: x[c[d]] += f ; map j, e = 0:n[j]: y[e] += g   ->   map i, d = 0:n[i]: x[c[d]] += f ; y[d] += g

    For maps that do not touch what the other one writes. Where data bounds the inner loop, finding the bounds and
    leaving the loop costs more than the few elements in it: the processor cannot foresee the last one.
    """
    return program.but(body=_block(program.body))


def _block(block: Block) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if children(stmt):
            stmt = with_children(stmt, [_block(b) for b in children(stmt)])
        partner = _partner(out, stmt) if isinstance(stmt, Map) and _ragged(stmt) else None
        if partner is None or not isinstance(stmt, Map):
            out.append(stmt)
        else:
            position, first, here = partner
            del out[position]
            out.insert(position if here else len(out), _merged(first, stmt))
    return tuple(out)


def _ragged(stmt: Map) -> bool:
    return any(range_elems(r) for r in stmt.domain) and all(isinstance(p, Store) for p in stmt.body)


def _partner(before: Sequence[Stmt], stmt: Map) -> tuple[int, Map, bool] | None:
    """The closest earlier map over the same points, and whether the statement moves up to it; else it moves down."""
    up = True
    for position in reversed(range(len(before))):
        other = before[position]
        apart = not conflicts(other, stmt)
        if apart and isinstance(other, Map) and _ragged(other) and _over(other, stmt).domain == other.domain \
                and (up or not any(conflicts(other, s) for s in before[position + 1:])):
            return position, other, up
        up = up and apart
    return None


def _over(first: Map, stmt: Map) -> Map:
    """The statement in the variables of another one of as many ranges, as far as both agree."""
    names = {r.var: o.var for r, o in zip(stmt.domain, first.domain, strict=False)}
    moved = rename_symbols((stmt,), names)[0]
    if not isinstance(moved, Map):
        raise TypeError("renaming changes no statement into another")
    domain = tuple(type(r)(names.get(r.var, r.var), r.start, r.stop, r.step) for r in moved.domain)
    return Map(domain, moved.body, stmt.source)


def _merged(first: Map, stmt: Map) -> Map:
    return Map(first.domain, (*first.body, *_over(first, stmt).body), first.source)
