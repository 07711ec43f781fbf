"""Rows that a loop clears and adds to in the same iteration: the first sums of their elements assign."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sdfgad.analysis.loops.rows import distance, other_slice, touches
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import rebuild_blocks, within
from sdfgad.transform.clearing.clearings import Box, assigning, common, inside, is_zero, take_out, without


def assign_to_rows(program: Program) -> Program:
    """map d = 0:n: { t[d] = x[i, d] ; x[i, d] = 0 } ; x[i + 1, 1:n] += f(t) ; x[i, 1:n] += g(t)
    ->   map d = 0:n: t[d] = x[i, d] ; x[i, 0] = 0 ; x[i + 1, 1:n] += f(t) ; x[i, 1:n] = g(t)

    As for boxes with fixed bounds (`clear_first`), for a row whose place the loops around decide. What stands in
    between touches other rows, or adds to elements of the row that were not cleared.
    """
    body = rebuild_blocks(program.body, _block)
    return program.but(body=body) if body != program.body else program


@dataclass(frozen=True)
class _ClearedRow:
    """Elements of one row that a store of a map fills one by one: x[outer, box], `ahead` of the map's variable."""

    outer: tuple[Ix, ...]
    box: Box
    ahead: int


def _block(work: list[Stmt]) -> Block:
    k = 0
    while k < len(work):
        stmt = work[k]
        zero = stmt.body[-1] if isinstance(stmt, Map) and stmt.body else None
        if not isinstance(stmt, Map) or not is_zero(zero) or (row := _row(stmt, zero)) is None:
            k += 1
            continue
        left = _assigned(work, k, zero, row)
        made = [stmt] if left == [row.box] else \
            [*without(stmt, [zero]), *(_clearing(stmt, zero, row, box) for box in left)]
        work[k:k + 1] = made
        k += len(made)
    return tuple(work)


def _row(stmt: Map, store: Store) -> _ClearedRow | None:
    """What a store of a map fills, if that is part of a row in a place that loops around decide."""
    r = stmt.domain[0] if len(stmt.domain) == 1 else None
    if r is None or r.step != 1 or r.start.const is None or r.stop.const is None or len(store.index) < 2:
        return None
    outer, ahead = store.index[:-1], distance(store.index[-1], r.var)
    symbols = {s for i in outer for s in i.symbols}
    if ahead is None or not symbols or r.var in symbols or any(i.elems for i in outer):
        return None
    return _ClearedRow(outer, ((r.start.const + ahead, r.stop.const + ahead),), ahead)


def _assigned(work: list[Stmt], k: int, zero: Store, row: _ClearedRow) -> list[Box]:
    """Let the sums that come next assign; what of the row is still to be cleared."""
    left = [row.box]
    for place, stmt, store in _sums(work, k, zero):
        filled = _row(stmt, store)
        if filled is None or filled.outer != row.outer:
            break
        if any(inside(filled.box, box) for box in left):
            work[place] = assigning(stmt, store)
            left = [piece for box in left for piece in take_out(box, filled.box)]
        elif any(common(filled.box, box) for box in left):
            break
    return left


def _sums(work: Sequence[Stmt], k: int, zero: Store) -> Iterator[tuple[int, Map, Store]]:
    """The maps after place `k` that add to the row in which `zero` clears, until a statement does more with it."""
    for place, stmt in enumerate(work[k + 1:], k + 1):
        if not any(zero.array in names for names in within(stmt)):
            continue
        if not isinstance(stmt, Map):
            return
        own = {r.var for r in stmt.domain}
        met = [t for t in touches(stmt) if t.array == zero.array and not other_slice(own, t.index, zero.index)]
        stores = [p for p in stmt.body if isinstance(p, Store) and p.array == zero.array
                  and any(t.index == p.index for t in met)]
        if len(met) > 1 or len(stores) > 1 or any(p.op != "+" for p in stores) or any(not t.written for t in met):
            return
        yield from ((place, stmt, p) for p in stores)


def _clearing(stmt: Map, zero: Store, row: _ClearedRow, box: Box) -> Map:
    """The map that clears a part of the row."""
    (low, high), = box
    return Map((Range(stmt.domain[0].var, ix(low - row.ahead), ix(high - row.ahead)),), (zero,), stmt.source)
