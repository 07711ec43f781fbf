"""Maps cut over the ranks: each store by its owners, sums over a cut axis in parts that are added up."""
from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import TypeVar

import numpy as np

from sdfgad.analysis.elements.access import interval_env
from sdfgad.errors import unsupported
from sdfgad.ir import algebra
from sdfgad.ir.expr import Const, Expr, Load, Local, walk
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import Array, Let, Map, Range, Store, all_of, over
from sdfgad.ir.walk import expr_reads, reads
from sdfgad.transform.cutting.accesses import (
    Access,
    ReadBox,
    Side,
    added_to,
    around,
    in_own,
    read_box,
    read_by,
    varying,
)
from sdfgad.transform.cutting.blocks import CutAxis
from sdfgad.transform.cutting.panels import Where, in_panels
from sdfgad.transform.cutting.shares import StoreShare, counted_from, share_of, summable
from sdfgad.transform.cutting.sums import TOGETHER
from sdfgad.transform.cutting.tree import CutWork, PendingSum, RankPiece

T = TypeVar("T")
PANELLED = 1 << 15
"""Elements that a rank receives for a sum from which on they come in panels: more messages do not hold them up."""


def pieces_of(work: CutWork, stmt: Map, loops: tuple[Range, ...]) -> list[RankPiece | PendingSum]:
    """What a map becomes: one piece where the ranks share out all its stores alike, else one for each store."""
    stores = [p for p in stmt.body if isinstance(p, Store)]
    around = interval_env(loops)
    shares = [share_for(work, stmt, s, loops) for s in stores]
    domains = [[share.domain(stmt, place, around) if r in work.readers.get(s.array, (r,)) else None
                for r, place in enumerate(work.places)] for s, share in zip(stores, shares, strict=True)]
    if not any(s.parts for s in shares) and all(d == domains[0] for d in domains[1:]):
        if len(stores) == 1:
            return list(_by_owners(work, stmt, (domains[0], loops), shares[0]))
        piece = _piece(work, stmt, (domains[0], loops), shares[0])
        if _keeps_to_itself(work, piece):
            return [piece]
    alone = _apart(stmt) if len(stores) > 1 else [stmt]
    made: list[RankPiece | PendingSum] = []
    for one, store, share, domain in zip(alone, stores, shares, domains, strict=True):
        where = (domain, loops)
        made += _parts(work, one, store, share, where) if share.parts else _by_owners(work, one, where, share)
    return made


def share_for(work: CutWork, stmt: Map, store: Store, loops: tuple[Range, ...]) -> StoreShare:
    """By the owners, or in parts: what fewer elements are sent for.

    map i, j: y[j] += a[i, j] * x[i]   with rows of a and blocks of y: parts of y are added up, no columns are sent
    """
    grid, around = work.wanted.grid, interval_env(loops)
    owners = share_of(stmt, store, work.cut, grid)
    summed = summable(stmt, store, work.cut)
    if not summed:
        return owners
    parts = share_of(stmt, store, work.cut, grid, summed)
    box = read_box(store.index, work.arrays[store.array].shape, _inner(stmt, loops, around), around)
    added = 2 * prod((high - low).const or 1 for low, high in box) + _received(work, stmt, parts, loops)
    return parts if added < _received(work, stmt, owners, loops) else owners


def _received(work: CutWork, stmt: Map, share: StoreShare, loops: tuple[Range, ...],
              names: Container[str] | None = None) -> int:
    """Elements that the rank in the middle receives for a statement. names: of these arrays."""
    around, place = interval_env(loops), len(work.places) // 2
    domains: list[tuple[Range, ...] | None] = [None] * len(work.places)
    domains[place] = share.domain(stmt, work.places[place], around)
    needs = {(n.array, n.boxes[place]): n for n in work.needs(read_by(stmt), domains, loops, stmt)}
    total = 0
    for name, box in needs:
        if box is not None and (names is None or name in names) and not in_own(box, work.cut[name], work.places[place]):
            own = work.cut[name].own(work.places[place], work.arrays[name].shape)
            mine = (max(0, min(high.const or 0, b) - max(low.const or 0, a)) if low.const is not None else
                    (high - low).const or 1 for (low, high), (a, b) in zip(box, own, strict=True))
            total += prod((high - low).const or 1 for low, high in box) - prod(mine)
    return total


def _by_owners(work: CutWork, stmt: Map, where: Where, share: StoreShare) -> list[RankPiece]:
    """At once, or panel by panel where much is received. In a loop that is what it changes or reads of elsewhere in
    each iteration: the rest is received once, ahead of it."""
    loops = where[1]
    names = _of_each_iteration(work, stmt, {r.var for r in loops})
    much = _received(work, stmt, share, loops, names) > PANELLED
    return (in_panels(work, stmt, where, share, names) if much else []) or [_piece(work, stmt, where, share)]


def _of_each_iteration(work: CutWork, stmt: Map, loops: set[str]) -> set[str]:
    """Arrays of which each iteration of the innermost loop reads something else, at the same places of a cut axis."""
    found = [(name, index) for name, index in read_by(stmt) if name in work.cut]
    moving = {name for name, index in found if varying(index, work.cut[name], loops)}
    return {name for name, index in found if work.changing is None or name in work.changing
            or any(i.symbols & loops for i in index)} - moving


def _piece(work: CutWork, stmt: Map, where: Where, share: StoreShare) -> RankPiece:
    domains, loops = where
    mine = domains[work.wanted.rank]
    own = () if mine is None else (counted_from(stmt, mine, share.origins(stmt, work.here)),)
    written, env = frozenset(p.array for p in stmt.body if isinstance(p, Store)), interval_env((*loops, *stmt.domain))
    return RankPiece(own, work.needs(read_by(stmt), domains, loops, stmt), reads(stmt), written, added_to(stmt),
                     into=_boxes(work, ((p.array, p.index) for p in stmt.body if isinstance(p, Store)), env),
                     out_of=_boxes(work, read_by(stmt), env))


def _boxes(work: CutWork, found: Iterable[Access], env: Mapping[str, Bounds]) -> dict[str, ReadBox]:
    """A box of numbers around all elements of an array, on all ranks and in all iterations of the loops around."""
    boxes: dict[str, ReadBox] = {}
    for name, index in found:
        box = read_box(index, work.arrays[name].shape, env, {})
        boxes[name] = around(boxes.get(name, box), box) or box
    return boxes


def _keeps_to_itself(work: CutWork, piece: RankPiece) -> bool:
    """Whether no rank reads elements of others of an array that the same map writes."""
    return all(box is None or in_own(box, work.cut[need.array], place)
               for need in piece.needs if need.array in piece.writes
               for place, box in zip(work.places, need.boxes, strict=True))


def _apart(stmt: Map) -> list[Map]:
    """A map for each store: those before it are done then, for all points. What a `Let` has read before may not have
    been written since."""
    made: list[Map] = []
    for k, part in enumerate(stmt.body):
        if not isinstance(part, Store):
            continue
        lets = _named_by(stmt, k)
        for j, let in lets:
            between = {p.array for p in stmt.body[j:k] if isinstance(p, Store)}
            if between & expr_reads(let.expr):
                raise unsupported(stmt.source, "a statement that updates several arrays at once, which are cut "
                                  "differently", "cut the arrays of this statement alike, or leave them whole", "SG124")
        made.append(replace(stmt, body=(*(let for _, let in lets), part)))
    return made


def _named_by(stmt: Map, k: int) -> list[tuple[int, Let]]:
    """The names that a part of a body uses, with their positions."""
    used = _locals(stmt.body[k].expr)
    found: list[tuple[int, Let]] = []
    for j in reversed(range(k)):
        part = stmt.body[j]
        if isinstance(part, Let) and part.name in used:
            used |= _locals(part.expr)
            found.insert(0, (j, part))
    return found


def _locals(expr: Expr) -> set[str]:
    return {n.name for n in walk(expr) if isinstance(n, Local)}


# sums in parts

@dataclass(frozen=True)
class _Summation:
    """What the ranks add up. box: where the array is written; part: of a rank; total: of all. axis: the one that is
    cut, where each rank gets its block of the total alone; it comes first then."""

    stmt: Map
    store: Store
    box: tuple[Side, ...]
    part: Array
    total: Array
    axis: int | None = None

    @property
    def how(self) -> str:
        kind = self.part.dtype.kind
        return {"max": "max", "min": "min"}.get(self.store.op or "", "max" if kind == "b" else "sum")

    def inside(self, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        return self.turned(tuple(i - low for i, (low, _) in zip(index, self.box, strict=True)))

    def turned(self, items: tuple[T, ...]) -> tuple[T, ...]:
        """The axis that is cut first."""
        return items if self.axis is None else (items[self.axis], *items[:self.axis], *items[self.axis + 1:])

    def turned_back(self, items: tuple[T, ...]) -> tuple[T, ...]:
        return items if self.axis is None else (*items[1:self.axis + 1], items[0], *items[self.axis + 1:])


def _parts(work: CutWork, stmt: Map, store: Store, share: StoreShare, where: Where) -> list[RankPiece | PendingSum]:
    """map i, j: s[j] += e(i, j)
    ->   map j: part[j] = 0 ; map i, j: part[j] += e(i, j) ; total = allreduce(part) ; map j: s[j] += total[j]

    with the i of each rank. What is assigned is a sum of one number and zeros. Where loops do nothing but add to s, the
    first and the last two stand around them.
    """
    loops = where[1]
    box, outer = _summed_box(work, stmt, store, loops)
    shape = tuple((high - low).const or 0 for low, high in box)
    blocks = _blocks_of_sum(work, store, box)
    sums = _summation(work, stmt, store, box, shape, blocks)
    own = Store(sums.part.name, sums.inside(store.index), store.expr, store.op)
    collect = replace(stmt, body=tuple(own if part is store else part for part in stmt.body))
    cleared = _cleared(sums)
    given = _given(work, sums, outer) if sums.axis is None else _given_blocks(work, sums)
    counts = () if blocks is None else tuple(
        (b - a) * (sums.part.size // max(sums.part.shape[0], 1)) for a, b in pairwise(blocks[1].ends))
    pending = PendingSum(sums.part, sums.total, sums.how, given, stmt.source, cleared, len(outer), counts)
    return [cleared, _piece(work, collect, where, share), pending]


def _blocks_of_sum(work: CutWork, store: Store, box: tuple[Side, ...]) -> tuple[int, CutAxis] | None:
    """The axis along which each rank wants its own block of a large sum alone (reduce-scatter)."""
    cut = work.cut.get(store.array)
    if cut is None or store.op != "+" or len(work.wanted.grid.extents) > 1:
        return None
    (k, axis), = ((k, a) for k, a in enumerate(cut.axes) if a is not None)
    size = prod((high - low).const or 0 for low, high in box)
    return (k, axis) if size > TOGETHER and box[k] == (ix(0), ix(axis.ends[-1])) else None


def _summation(work: CutWork, stmt: Map, store: Store, box: tuple[Side, ...], shape: tuple[int, ...],
               blocks: tuple[int, CutAxis] | None) -> _Summation:
    target, axis = work.arrays[store.array], None if blocks is None else blocks[0]
    part = all_parts = shape
    if blocks is not None and axis is not None:
        part = (shape[axis], *shape[:axis], *shape[axis + 1:])
        low, behind = blocks[1].span(work.here)
        all_parts = (behind - low, *part[1:])
    return _Summation(stmt, store, box, work.room(f"part_{store.array}", part, target),
                      work.room(f"total_{store.array}", all_parts, target), axis)


def _given_blocks(work: CutWork, sums: _Summation) -> RankPiece:
    """What each rank gets, to its block."""
    store, total, box = sums.store, sums.total, sums.box
    assert sums.axis is not None
    cut = work.cut[store.array].axes[sums.axis]
    assert cut is not None
    domain = over((0, n) for n in total.shape)
    here = tuple(ix(r.var) for r in domain)
    lows = tuple(ix(cut.span(work.here)[0]) if k == sums.axis else low for k, (low, _) in enumerate(box))
    at = tuple(i + low for i, low in zip(sums.turned_back(here), lows, strict=True))
    stmt = Map(domain, (Store(store.array, at, Load(total.name, here, total.dtype), store.op),), sums.stmt.source)
    return RankPiece((stmt,) if total.size else (), (), reads(stmt), frozenset({store.array}), added_to(stmt))


def _summed_box(work: CutWork, stmt: Map, store: Store,
                loops: tuple[Range, ...]) -> tuple[tuple[Side, ...], tuple[Range, ...]]:
    """Where an array is added to, and the loops around the place where the ranks do that."""
    shape = work.arrays[store.array].shape

    def box(outer: tuple[Range, ...]) -> tuple[Side, ...]:
        around = interval_env(outer)
        return read_box(store.index, shape, _inner(stmt, loops, around), around)

    outer = loops[:work.added_in.get(store.array, len(loops))]
    if store.op is not None and (store.array not in work.cut or box(outer) == box(loops)):
        return box(outer), outer
    return box(loops), loops


def _inner(stmt: Map, loops: tuple[Range, ...], around: Mapping[str, Bounds]) -> dict[str, Bounds]:
    return {v: b for v, b in interval_env((*loops, *stmt.domain)).items() if v not in around}


def _cleared(sums: _Summation) -> RankPiece:
    part = sums.part
    domain = all_of(part.shape)
    store = Store(part.name, tuple(ix(r.var) for r in domain), nothing(sums.store.op, part.dtype))
    return RankPiece((Map(domain, (store,), sums.stmt.source),), (), frozenset(), frozenset({part.name}))


def nothing(op: str | None, dtype: np.dtype) -> Expr:
    """What changes nothing: of a sum, or of an extreme."""
    if op not in ("max", "min"):
        return algebra.zero(dtype)
    if dtype.kind == "f":
        return Const(float("-inf" if op == "max" else "inf"), dtype)
    if dtype.kind == "b":
        return Const(op == "min", dtype)
    ends = np.iinfo(dtype)
    return Const(int(ends.min if op == "max" else ends.max), dtype)


def _given(work: CutWork, sums: _Summation, loops: tuple[Range, ...]) -> RankPiece:
    """What everybody gets, to where it belongs."""
    store, total = sums.store, sums.total
    if store.op is None:
        value = Load(total.name, sums.inside(store.index), total.dtype)
        stmt = replace(sums.stmt, body=(replace(store, expr=value),))
    else:
        domain = over((0, n) for n in total.shape)
        here = tuple(ix(r.var) for r in domain)
        at = tuple(i + low for i, (low, _) in zip(here, sums.box, strict=True))
        stmt = Map(domain, (Store(store.array, at, Load(total.name, here, total.dtype), store.op),), sums.stmt.source)
    owners = share_of(stmt, next(p for p in stmt.body if isinstance(p, Store)), work.cut, work.wanted.grid)
    around = interval_env(loops)
    return _piece(work, stmt, ([owners.domain(stmt, place, around) for place in work.places], loops), owners)


