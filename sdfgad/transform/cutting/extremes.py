"""Extremes that begin with their first element begin with nothing: that element has one owner, and would go to all."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.ir.index import ix
from sdfgad.ir.program import Block, Map, Stmt, Store
from sdfgad.ir.walk import children, reads, rename_symbols, with_children, writes
from sdfgad.transform.cutting.maps import nothing


def from_nothing(block: Block) -> Block:
    """r = f(x[0]) ; map i = 0:n: r max= f(x[i])   ->   r = -inf ; map i = 0:n: r max= f(x[i])"""
    return tuple(with_children(_begun(stmt, block[k + 1:]), [from_nothing(b) for b in children(stmt)])
                 for k, stmt in enumerate(block))


def _begun(stmt: Stmt, behind: Block) -> Stmt:
    if not isinstance(stmt, Map) or len(stmt.body) != 1:
        return stmt
    store, = stmt.body
    if not isinstance(store, Store) or store.op is not None:
        return stmt
    other = next((s for s in behind if store.array in reads(s) | writes(s)), None)
    how = None if other is None else _begins(stmt, store, other)
    if other is None or how is None or any(writes(s) & reads(stmt) for s in behind[:behind.index(other)]):
        return stmt
    return replace(stmt, body=(replace(store, expr=nothing(how, store.expr.dtype)),))


def _begins(stmt: Map, store: Store, other: Stmt) -> str | None:
    """How a statement takes an extreme of what another one has stored and of others, and of that once more."""
    if not isinstance(other, Map) or len(other.body) != 1 or any((r.trips or 0) < 1 for r in other.domain):
        return None
    found, = other.body
    if not isinstance(found, Store) or found.op not in ("max", "min") or found.array != store.array:
        return None
    kept = {s: own for i, own in zip(found.index, store.index, strict=True) for s in i.symbols if i == ix(s)}
    same, = rename_symbols((replace(other, domain=()),), {r.var: kept.get(r.var, r.start) for r in other.domain})
    along = {replace(r, var=next(iter(kept[r.var].symbols), "")) for r in other.domain if r.var in kept}
    begins = isinstance(same, Map) and same.body == (replace(store, op=found.op),) and along == set(stmt.domain)
    return found.op if begins else None
