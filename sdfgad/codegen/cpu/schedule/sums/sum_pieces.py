"""Sums into all of a box and into its parts: the parts do both, and the pass over the whole box is gone."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.ir import algebra
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Block, Map, Program, Stmt, Store
from sdfgad.ir.walk import conflicts, expr_reads, rebuild_blocks, rename_symbols
from sdfgad.thresholds import thresholds
from sdfgad.transform.clearing.clearings import Box, common, size, stored_box
from sdfgad.transform.clearing.stale import without
from sdfgad.transform.spelling import only_store


def sum_pieces(program: Program) -> Program:
    """map i = 0:n: x[i] = f(i) ; map i = 0:k: x[i] += g(i) ; map i = k:n: x[i] += h(i)
    ->   map i = 0:k: x[i] = f(i) + g(i) ; map i = k:n: x[i] = f(i) + h(i)

    Also with a sum into the whole box last. Its parts are boxes with fixed bounds that have no element in common and
    leave none out, and run through it in the same order of dimensions. What stands between the whole box and a part
    neither looks at these elements nor writes what is added, and writes none of them unless all are sums.
    """
    body = rebuild_blocks(program.body, _block)
    return program.but(body=body) if body != program.body else program


@dataclass(frozen=True)
class _BoxSum:
    """A map that does nothing but write, or add to, each element of a box once, without a look at the array."""

    stmt: Map
    store: Store
    box: Box


def _block(work: list[Stmt]) -> Block:
    sums = {k: s for k, stmt in enumerate(work) if isinstance(stmt, Map) and (s := _sum(stmt)) is not None}
    gone: set[int] = set()
    for k in list(sums):
        whole = sums[k]  # as it is by now: with what was added to it
        if size(whole.box) < thresholds().sum_piece or not _plain(whole):
            continue
        far = thresholds().sum_pieces_apart
        places = [p for p in range(max(0, k - far), min(len(work), k + far + 1)) if p not in gone]
        found = _pieces(work, sums, k, [p for p in places if p > k]) or \
            _pieces(work, sums, k, [p for p in places[::-1] if p < k])
        for place in found:
            sums[place] = _with(sums[place], whole, whole.store.op if place > k else sums[place].store.op)
            work[place] = sums[place].stmt
        if found:
            gone.add(k)
            del sums[k]
    return tuple(s for k, s in enumerate(work) if k not in gone)


def _sum(stmt: Map) -> _BoxSum | None:
    store = only_store(stmt)
    if store is None or store.op not in (None, "+") or not store.index or store.expr.dtype.kind not in "fc":
        return None
    box = stored_box(stmt, store)
    return None if box is None or store.array in expr_reads(store.expr) else _BoxSum(stmt, store, box)


def _plain(whole: _BoxSum) -> bool:
    """Whether each dimension is counted through by one variable upwards, or is a number."""
    names = {r.var for r in whole.stmt.domain}
    found = [names & i.symbols for i in whole.store.index]
    return all(len(own) <= 1 for own in found) and sum(map(len, found)) == len(names) and \
        all(i.coefficient(v) == 1 for i, own in zip(whole.store.index, found, strict=True) for v in own) and \
        all(r.step == 1 for r in whole.stmt.domain)


def _pieces(work: Sequence[Stmt], sums: Mapping[int, _BoxSum], k: int, places: Sequence[int]) -> list[int]:
    """The places of sums that make up a box between them, from the nearest to the last; none if something is left."""
    whole = sums[k]
    found: list[int] = []
    left: tuple[Box, ...] = (whole.box,)
    for place in places:
        other = sums.get(place)
        if other is None or other.store.array != whole.store.array:
            if conflicts(whole.stmt, work[place]):
                return []
        elif (other if place > k else whole).store.op == "+" and _fits(other, whole) and \
                not without((other.box,), left):
            found.append(place)
            left = without(left, [other.box])
            if not left:
                return found
        elif common(other.box, whole.box) is not None and not other.store.op == whole.store.op == "+":
            return []
    return []


def _fits(piece: _BoxSum, whole: _BoxSum) -> bool:
    """Whether a sum is one into a part of a box, and both run through its elements in the same order."""
    if piece.store.array != whole.store.array or piece.store.expr.dtype != whole.store.expr.dtype or \
            common(piece.box, whole.box) != piece.box:
        return False
    order = [d for d in _order(piece) if piece.box[d][1] - piece.box[d][0] > 1]
    return order == [d for d in _order(whole) if d in order]


def _order(sum_: _BoxSum) -> list[int]:
    """The dimensions of the target, those of the outer variables first."""
    return [d for r in sum_.stmt.domain for d, i in enumerate(sum_.store.index) if r.var in i.symbols]


def _with(piece: _BoxSum, whole: _BoxSum, op: str | None) -> _BoxSum:
    """The part with what is added to the whole box there."""
    places: dict[str, Ix] = {}
    for here, there in zip(piece.store.index, whole.store.index, strict=True):
        places |= {r.var: here - (there - r.var) for r in whole.stmt.domain if r.var in there.symbols}
    moved = rename_symbols((replace(whole.stmt, domain=()),), places)[0]
    assert isinstance(moved, Map)
    store = replace(piece.store, expr=algebra.add(piece.store.expr, moved.body[0].expr), op=op)
    return replace(piece, stmt=replace(piece.stmt, body=(store,)), store=store)
