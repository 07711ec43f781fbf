"""The same sums added to several rows: computed once."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sdfgad.analysis.loops.rows import other_slice, points, touches
from sdfgad.ir.expr import Expr, Local, loads
from sdfgad.ir.program import Block, Let, Loop, Map, Program, Stmt, Store, While
from sdfgad.ir.walk import all_writes, children, conflicts, in_terms_of, with_children
from sdfgad.thresholds import thresholds
from sdfgad.transform.spelling import only_store

_NAME = "added"


def share_additions(program: Program) -> Program:
    """for i: { map d: x[i + 1, d] += a[d] + b[d] ; y[i] = 0 ; map d: x[i - 1, d] += a[d] + b[d] }
    ->   for i: { map d: { v = a[d] + b[d] ; x[i + 1, d] += v ; x[i - 1, d] += v } ; y[i] = 0 }

    For rows in loops, and sums of at least two elements. What stands in between touches other elements.
    """
    body = tuple(_inside(s, False) for s in program.body)
    return program.but(body=body) if body != program.body else program


def _inside(stmt: Stmt, looped: bool) -> Stmt:
    inner = looped or isinstance(stmt, (Loop, While))
    blocks = [tuple(_inside(s, inner) for s in b) for b in children(stmt)]
    return with_children(stmt, [_block(b) if inner else b for b in blocks])


def _block(block: Block) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        found = _partner(out, stmt) if isinstance(stmt, Map) else None
        if found is None:
            out.append(stmt)
        else:
            place, both = found
            out[place] = both
    return tuple(out)


def _partner(done: Sequence[Stmt], stmt: Map) -> tuple[int, Map] | None:
    """Where an earlier map adds the same, past statements that may come after this one as well; both as one map."""
    store = only_store(stmt)
    short = points(stmt) < thresholds().shared_addition
    if store is None or store.op != "+" or len(stmt.domain) != 1 or short or len(loads(store.expr)) < 2:
        return None
    for k in range(len(done) - 1, max(-1, len(done) - 1 - thresholds().shared_additions_apart), -1):
        first = done[k]
        both = _both(first, stmt) if isinstance(first, Map) else None
        if both is not None:
            return k, both
        if not _apart(first, stmt):
            return None
    return None


def _both(first: Map, second: Map) -> Map | None:
    """Two maps as one, if they add the same to rows that never meet."""
    moved = in_terms_of(first.domain, second)
    one, other = _added(first), None if moved is None else _added(moved)
    if one is None or other is None or moved is None or one[0] != other[0] or not _apart(first, moved) or \
            not all_writes((first, second)).isdisjoint(e.array for e in loads(one[0])):
        return None
    value = Local(_NAME, one[0].dtype)
    return replace(first, body=(Let(_NAME, one[0]), *(replace(p, expr=value) for p in (*one[1], *other[1]))))


def _added(stmt: Map) -> tuple[Expr, tuple[Store, ...]] | None:
    """What a map adds, and the stores that do, when it does nothing else."""
    name, value = (stmt.body[0].name, stmt.body[0].expr) if isinstance(stmt.body[0], Let) else ("", None)
    stores = tuple(p for p in stmt.body if isinstance(p, Store) and p.op == "+")
    if len(stores) != len(stmt.body) - (value is not None) or not stores:
        return None
    if value is None:
        return (stores[0].expr, stores) if len(stores) == 1 else None
    return (value, stores) if all(p.expr == Local(name, p.expr.dtype) for p in stores) else None


def _apart(first: Stmt, second: Stmt) -> bool:
    """Whether two statements may change places: what one of them writes, the other one does not touch."""
    if not conflicts(first, second):
        return True
    if not isinstance(first, Map) or not isinstance(second, Map):
        return False
    own = {r.var for s in (first, second) for r in s.domain}
    return all(other_slice(own, a.index, b.index) for a in touches(first) for b in touches(second)
               if a.array == b.array and (a.written or b.written))
