"""Sums panel by panel: what is received of other blocks is there for part of a statement, not for the whole program."""
from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sdfgad.ir.expr import Expr, Load, rewrite
from sdfgad.ir.index import ix
from sdfgad.ir.layout import axis
from sdfgad.ir.program import Array, Map, Range, Stmt, Store, View, all_of
from sdfgad.ir.walk import range_elems, reads
from sdfgad.transform.cutting.accesses import Access, HaloNeed, ReadBox, added_to, in_own, read_by
from sdfgad.transform.cutting.halos import between, common, exchange
from sdfgad.transform.cutting.shares import StoreShare, counted_from
from sdfgad.transform.cutting.strips import HaloMessage, Strip
from sdfgad.transform.cutting.tree import CutWork, RankPiece

Where: TypeAlias = tuple[list[tuple[Range, ...] | None], tuple[Range, ...]]
"""The ranges of a map on each rank, and the loops around it."""


def in_panels(work: CutWork, stmt: Map, where: Where, share: StoreShare, names: Container[str]) -> list[RankPiece]:
    """map i, j, k: C[i, j] += A[i, k] * B[k, j]
    ->   for each block of k: exchange(P, Q) ; map i, j, k in the block: C[i, j] += P[i, k] * Q[k, j]

    with what others have of A and B in P and Q, which have room for one block (SUMMA: R. van de Geijn, J. Watts,
    Concurrency: Practice and Experience 9, 1997). As many elements are sent as at once. [] where no variable runs
    along a cut axis of what is read and along none of what is written. names: arrays that come in panels; the others
    are there whole.
    """
    domains, loops = where
    elems = [e for r in stmt.domain for e in range_elems(r)]
    if elems or any(i.affine is None for _, index in read_by(stmt) for i in index):
        return []
    free = next((r for r in stmt.domain if _is_free(stmt, r, share) and _ends(work, stmt, r, names)), None)
    if free is None:
        return []
    ends = sorted({free.start.const or 0, free.stop.const or 0, *_ends(work, stmt, free, names)})
    return [_panel(work, stmt, ([_within(d, free.var, low, high) for d in domains], loops), share, names)
            for low, high in zip(ends, ends[1:], strict=False)]


def _is_free(stmt: Map, r: Range, share: StoreShare) -> bool:
    """Whether a sum may go through parts of a range one after the other: ranks do not share it out, and neither does it
    depend on other ranges, nor others on it."""
    store = stmt.body[-1]
    taken = {s for portion in share.own for s in portion.index.symbols}
    others = {s for other in stmt.domain for end in (other.start, other.stop) for s in end.symbols}
    return isinstance(store, Store) and store.op == "+" and r.step == 1 and r.var not in taken | others and (
        r.start.const is not None and r.stop.const is not None)


def _ends(work: CutWork, stmt: Map, r: Range, names: Container[str]) -> set[int]:
    """Where blocks of axes end that the variable runs along."""
    axes = (cut for name, index in read_by(stmt) if name in names
            for i, cut in zip(index, work.cut[name].axes, strict=True) if cut is not None and i == ix(r.var))
    low, high = r.start.const or 0, r.stop.const or 0
    return {end for cut in axes for end in cut.ends if low < end < high}


def _within(domain: tuple[Range, ...] | None, var: str, low: int, high: int) -> tuple[Range, ...] | None:
    return None if domain is None else tuple(replace(r, start=ix(low), stop=ix(high)) if r.var == var else r
                                             for r in domain)


@dataclass(frozen=True)
class _Panel:
    """What this rank has of an array for one block of a sum. held: where it lies, None where it is its own."""

    need: HaloNeed
    box: ReadBox | None
    held: Array | None


def _panel(work: CutWork, stmt: Map, where: Where, share: StoreShare, names: Container[str]) -> RankPiece:
    domains, loops = where
    panels = {access: _room(work, need) for access in read_by(stmt) if access[0] in names
              for need in work.needs([access], domains, loops, stmt)}
    whole = work.needs([a for a in read_by(stmt) if a[0] not in names], domains, loops, stmt)
    mine = domains[work.wanted.rank]
    done = () if mine is None else (counted_from(_from_panels(stmt, panels), mine, share.origins(stmt, work.here)),)
    return RankPiece((*_received(work, stmt, list(panels.values())), *done), whole, reads(stmt),
                     frozenset(p.array for p in stmt.body if isinstance(p, Store)), added_to(stmt), sends=True)


def _room(work: CutWork, need: HaloNeed) -> _Panel:
    box = need.boxes[work.wanted.rank]
    if box is None or in_own(box, work.cut[need.array], work.here):
        return _Panel(need, box, None)
    shape = tuple((high - low).const or 0 for low, high in box)
    return _Panel(need, box, work.room(f"panel_{need.array}", shape, work.arrays[need.array]))


def _from_panels(stmt: Map, panels: Mapping[Access, _Panel]) -> Map:
    """The statement with what lies in panels read there."""
    def there(e: Expr) -> Expr | None:
        found = panels.get((e.array, e.index)) if isinstance(e, Load) else None
        if found is None or found.held is None or found.box is None or not isinstance(e, Load):
            return None
        return Load(found.held.name, tuple(i - low for i, (low, _) in zip(e.index, found.box, strict=True)), e.dtype)

    return replace(stmt, body=tuple(replace(p, expr=rewrite(p.expr, there)) for p in stmt.body))


def _received(work: CutWork, stmt: Map, panels: Sequence[_Panel]) -> Iterable[Stmt]:
    """What fills the panels: the part of the block of this rank, and messages; and what others get."""
    rank, count = work.wanted.rank, len(work.places)
    for panel in panels:
        if panel.held is not None and panel.box is not None:
            name = panel.need.array
            own = common(panel.box, work.cut[name].own(work.here, work.arrays[name].shape), panel.need)
            if own is not None:
                yield _copied(panel.held, HaloMessage(name, rank, rank, own), panel.box, stmt)
    for dtype in dict.fromkeys(work.arrays[p.need.array].dtype for p in panels):
        some = [p for p in panels if work.arrays[p.need.array].dtype == dtype]
        out = [Strip(m.target, m.view(dtype)) for p in some for target in range(count)
               for m in between(work, [p.need], rank, target)]
        into = [Strip(m.source, _inside(p, m)) for p in some for source in range(count)
                for m in between(work, [p.need], source, rank)]
        if out or into:
            yield exchange(work, out, into, dtype, frozenset(p.array for p in stmt.body if isinstance(p, Store)),
                           stmt.source)


def _inside(panel: _Panel, message: HaloMessage) -> View:
    """Where a message goes."""
    assert panel.held is not None and panel.box is not None
    lows = (low - first for (low, _), (first, _) in zip(message.box, panel.box, strict=True))
    return View(panel.held.name, tuple(ix(n) for n in message.extents),
                tuple(low + axis(k) for k, low in enumerate(lows)), panel.held.dtype)


def _copied(held: Array, own: HaloMessage, box: ReadBox, stmt: Map) -> Map:
    domain = all_of(own.extents)
    here = tuple(ix(r.var) for r in domain)
    at = tuple(i + low for i, (low, _) in zip(here, own.box, strict=True))
    into = tuple(i - first for i, (first, _) in zip(at, box, strict=True))
    return Map(domain, (Store(held.name, into, Load(own.array, at, held.dtype)),), stmt.source)
