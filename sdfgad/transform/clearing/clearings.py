"""Clearings of boxes, and the accumulations that meet them: the rule inside one block."""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
from typing import TypeAlias, TypeGuard

import numpy as np

from sdfgad.analysis.elements.access import interval_env
from sdfgad.ir import algebra
from sdfgad.ir.expr import Const, loads
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import Block, If, Lib, Loop, Map, Range, Stmt, Store, View, axis, over
from sdfgad.ir.walk import in_indices, places_of, reads, replaced_by, statements, within, writes

Box: TypeAlias = tuple[tuple[int, int], ...]


def is_zero(part: object) -> TypeGuard[Store]:
    """Whether this stores zero."""
    return isinstance(part, Store) and part.op is None and isinstance(part.expr, Const) and part.expr.value == 0


def touches(stmt: Stmt, name: str) -> bool:
    """Whether the statement, or one it holds, reads or writes the array."""
    read, written = within(stmt)
    return name in read or name in written


def sole_accumulation(stmt: Stmt, name: str) -> Store | None:
    """The one store of a map that adds to `name`, when the map does nothing else with it."""
    if not isinstance(stmt, Map):
        return None
    stores = [p for p in stmt.body if isinstance(p, Store) and p.array == name]
    if len(stores) != 1 or stores[0].op != "+" or any(n.array == name for p in stmt.body for n in loads(p.expr)):
        return None
    return None if in_indices(stmt, name) else stores[0]



def without(stmt: Map, parts: Sequence[Store]) -> list[Stmt]:
    """The map without some of its stores; nothing when no store is left."""
    body = tuple(p for p in stmt.body if not any(p is part for part in parts))
    return [replace(stmt, body=body)] if any(isinstance(p, Store) for p in body) else []


def assigning(stmt: Map, part: Store) -> Map:
    """The map with one store assigning instead of adding."""
    return replace(stmt, body=tuple(replace(p, op=None) if p is part else p for p in stmt.body))


@dataclass(frozen=True)
class Met:
    """The accumulation that comes after a clearing: its place in the block, the same statement assigning instead, the
    box it fills, and what is left to clear."""

    place: int
    assigning: Stmt
    filled: Box
    left: tuple[Map, ...]


Later: TypeAlias = Iterable[tuple[int, Stmt]]
"""Statements behind another one, with their places."""


def fold_block(block: Sequence[Stmt], far: bool = False, names: Collection[str] | None = None) -> Block:
    """x[Z] = 0 ; ... ; x[C] += e, C inside Z   ->   x[Z minus C] = 0 ; ... ; x[C] = e, inside one block.

    far: also past what looks at other elements of x, so that the rim of Z is filled too, and where a loop adds bit by
    bit. names: only for these arrays.
    """
    places = places_of(block)
    stmts = list(block)
    out: list[Stmt] = []
    for k in range(len(stmts)):
        # What is left of a clearing takes its place, and is looked at in turn.
        here = [stmts[k]]
        while here:
            stmt = here.pop(0)
            behind = _LaterStatements(stmts, places, k, tuple(here))
            found = _folded(stmt, behind, far, names) if isinstance(stmt, Map) else None
            if found is None or not isinstance(stmt, Map):
                out.append(stmt)
                continue
            part, met = found
            stmts[met.place] = met.assigning
            here[:0] = [*without(stmt, [part]), *met.left]
    return tuple(out)


@dataclass(frozen=True)
class _LaterStatements:
    """What stands behind a statement: other parts of it at its place, and the rest of the block."""

    stmts: Sequence[Stmt]
    places: Mapping[str, Sequence[int]]
    place: int
    parts: tuple[Stmt, ...]

    def touching(self, name: str) -> Iterator[tuple[int, Stmt]]:
        """Those that touch an array."""
        yield from ((self.place, s) for s in self.parts if touches(s, name))
        places = self.places.get(name, ())
        for k in range(bisect_right(places, self.place), len(places)):
            yield places[k], self.stmts[places[k]]


def _folded(stmt: Map, behind: _LaterStatements, far: bool, names: Collection[str] | None) -> tuple[Store, Met] | None:
    """The first clearing of a map that meets an accumulation."""
    for part in stmt.body:
        if not is_zero(part) or (names is not None and part.array not in names):
            continue
        met = next_accumulation(stmt, part, behind.touching(part.array), far) or \
            _same_ends(stmt, part, behind.touching(part.array))
        if met is not None:
            return part, met
    return None


def _same_ends(stmt: Map, zero: Store, behind: Later) -> Met | None:
    """The next statement that looks at the array, if it adds to just those elements that are cleared: between ends
    that need not be numbers."""
    if sum(isinstance(p, Store) and p.array == zero.array for p in stmt.body) != 1:
        return None
    place, target = next(iter(behind), (0, None))
    store = None if target is None else sole_accumulation(target, zero.array)
    if store is None or not isinstance(target, Map):
        return None
    cleared = stored_between(stmt, zero)
    if cleared is None or cleared != stored_between(target, store):
        return None
    return Met(place, assigning(target, store), (), ())


def next_accumulation(stmt: Map, zero: Store, behind: Later, far: bool = False) -> Met | None:
    """The next statement that looks at the array, or with `far` at what was cleared, if it accumulates into a part of
    what was cleared. behind: the statements after the clearing that touch the array."""
    if sum(isinstance(p, Store) and p.array == zero.array for p in stmt.body) != 1:
        return None
    cleared = stored_box(stmt, zero)
    if cleared is None:
        return None
    box = cleared if far else None
    place, target = next((found for found in behind if looks_into(found[1], zero.array, box)), (0, None))
    if target is None or (isinstance(target, Loop) and not far):
        return None
    filled, assigning = _filled(target, zero.array)
    if filled is None or any(low >= high for low, high in filled) or not inside(filled, cleared):
        return None
    return Met(place, assigning, filled, tuple(clearing(stmt, zero, piece) for piece in _difference(cleared, filled)))


def inside(inner: Box, outer: Box) -> bool:
    """Whether one box holds the other."""
    return all(o[0] <= i[0] and i[1] <= o[1] for i, o in zip(inner, outer, strict=True))


def size(box: Box) -> int:
    """The number of its elements."""
    return prod(high - low for low, high in box)


def looks_into(stmt: Stmt, name: str, box: Box | None) -> bool:
    """Whether a statement may look at elements of the box, or of the array."""
    if not touches(stmt, name):
        return False
    return box is None or not isinstance(stmt, Map) or loads_from(stmt, name, box) or stores_into(stmt, name, box)


def loads_from(stmt: Map, name: str, box: Box) -> bool:
    """Whether a map may read elements of the box."""
    env = interval_env(stmt.domain)
    if in_indices(stmt, name):
        return True
    read = {n.index for p in stmt.body for n in loads(p.expr) if n.array == name}
    return any(not _outside([i.bounds(env) for i in index], box) for index in read)


def _outside(place: Sequence[Bounds], box: Box) -> bool:
    """Whether indices between these bounds miss the box."""
    return any((low is not None and low >= side[1]) or (high is not None and high < side[0])
               for (low, high), side in zip(place, box, strict=True))


def stores_into(stmt: Stmt, name: str, box: Box) -> bool:
    """Whether a statement may store to elements of the box."""
    if not isinstance(stmt, Map):
        return any(name in writes(s) for s in statements((stmt,)))
    stored = [stored_box(stmt, p) for p in stmt.body if isinstance(p, Store) and p.array == name]
    return any(b is None or not _apart(b, box) for b in stored)


def _apart(one: Box, other: Box) -> bool:
    return any(a[1] <= b[0] or b[1] <= a[0] for a, b in zip(one, other, strict=True))


def _filled(target: Stmt, name: str) -> tuple[Box | None, Stmt]:
    """The box a statement accumulates into, and the same statement assigning instead."""
    store = sole_accumulation(target, name)
    if store is not None and isinstance(target, Map):
        return stored_box(target, store), assigning(target, store)
    if isinstance(target, Lib) and target.attrs.get("accumulate") and all(v.array != name for v in target.ins):
        attrs = MappingProxyType({key: value for key, value in target.attrs.items() if key != "accumulate"})
        return _view_box(target.outs[0]), replace(target, attrs=attrs)
    if isinstance(target, Loop):
        return _filled_loop(target, name)
    return _filled_branch(target, name) if isinstance(target, If) else (None, target)


def _filled_loop(target: Loop, name: str) -> tuple[Box | None, Stmt]:
    """The same where a loop accumulates, in every iteration into other elements of the box."""
    path: list[Range] = []
    inner: Stmt = target
    while isinstance(inner, Loop):
        held = [s for s in inner.body if touches(s, name)]
        if len(held) != 1 or name in reads(inner) or inner.until is not None or inner.parallel or inner.range.early:
            return None, target
        path.append(inner.range.upwards)
        inner = held[0]
    store = sole_accumulation(inner, name)
    if store is None or not isinstance(inner, Map):
        return None, target
    box = stored_box(Map((*path, *inner.domain), (store,)), store)
    changed = assigning(inner, store)
    return box, replaced_by((target,), inner, (changed,))[0]


def _filled_branch(target: If, name: str) -> tuple[Box | None, Stmt]:
    """The same where the first branch accumulates into a box: the other one clears it itself."""
    places = [k for k, s in enumerate(target.then) if touches(s, name)]
    if len(places) != 1 or name in reads(target) or isinstance(target.then[places[0]], If):
        return None, target
    box, assigning = _filled(target.then[places[0]], name)
    if box is None:
        return None, target
    domain = over(box)
    zero = algebra.zero(_dtype_of(target.then[places[0]], name))
    clearing = Map(domain, (Store(name, tuple(ix(r.var) for r in domain), zero),), target.source)
    then = (*target.then[:places[0]], assigning, *target.then[places[0] + 1:])
    return box, replace(target, then=then, orelse=(clearing, *target.orelse))


def _dtype_of(stmt: Stmt, name: str) -> np.dtype:
    """The type of the one array that a map, a library call or what is in a loop accumulates into."""
    if isinstance(stmt, Lib):
        return stmt.outs[0].dtype
    return next(store.expr.dtype for s in statements((stmt,)) if (store := sole_accumulation(s, name)) is not None)


def _view_box(view: View) -> Box | None:
    domain = tuple(Range(axis(k), ix(0), n) for k, n in enumerate(view.shape))
    store = Store(view.array, view.index, algebra.zero(view.dtype))
    return stored_box(Map(domain, (store,)), store)


def stored_box(stmt: Map, store: Store) -> Box | None:
    """The elements a store touches when they form a box and each is touched once."""
    ranges = {r.var: r for r in stmt.domain}
    box = []
    for i in store.index:
        affine = i.affine
        interval = None if affine is None else _interval(affine[0], affine[1], ranges)
        if interval is None:
            return None
        box.append(interval)
    return tuple(box) if all(r.trips == 1 for r in ranges.values()) else None


def stored_between(stmt: Map, store: Store) -> tuple[tuple[Ix, Ix], ...] | None:
    """The first element that a store touches in each dimension, and the one behind the last, when it touches all
    between them and each once."""
    ranges = {r.var: r for r in stmt.domain}
    ends: list[tuple[Ix, Ix]] = []
    for i in store.index:
        own = [r for r in stmt.domain if r.var in i.symbols]
        if i.affine is None or len(own) > 1:
            return None
        if not own:
            ends.append((i, i + 1))
            continue
        r = ranges.pop(own[0].var, None)
        factor = i.coefficient(own[0].var)
        if r is None or r.early or r.step != 1 or factor not in (1, -1) or \
                r.start.affine is None or r.stop.affine is None or \
                not (r.start.symbols | r.stop.symbols).isdisjoint(o.var for o in stmt.domain):
            return None
        both = i.subs({r.var: r.start}), i.subs({r.var: r.stop - 1})
        ends.append((both[0], both[1] + 1) if factor == 1 else (both[1], both[0] + 1))
    return None if ranges else tuple(ends)


def _interval(factors: Mapping[str, int], offset: int, ranges: dict[str, Range]) -> tuple[int, int] | None:
    """The numbers an index takes when they follow each other and each comes once: digits of one number. Takes the
    variables out of `ranges`."""
    low, step = offset, 1
    for var, factor in sorted(factors.items(), key=lambda item: item[1]):
        r = ranges.pop(var, None)
        if r is None or factor != step or r.step != 1 or r.start.const is None or r.stop.const is None:
            return None
        low += factor * r.start.const
        step *= max(0, r.stop.const - r.start.const)
    return low, low + step


def common(one: Box, other: Box) -> Box | None:
    """The elements that both boxes hold; None if there are none."""
    both = []
    for (low, high), (first, last) in zip(one, other, strict=True):
        start, stop = (low if low > first else first), (high if high < last else last)
        if start >= stop:
            return None
        both.append((start, stop))
    return tuple(both)


def take_out(box: Box, gone: Box) -> list[Box]:
    """The boxes that are left of one when another is taken out."""
    both = common(box, gone)
    return [box] if both is None else _difference(box, both)


def _difference(outer: Box, inner: Box) -> list[Box]:
    pieces = []
    rest = list(outer)
    for k, ((low, high), (a, b)) in enumerate(zip(outer, inner, strict=True)):
        for piece in ((low, a), (b, high)):
            if piece[0] < piece[1]:
                pieces.append((*rest[:k], piece, *rest[k + 1:]))
        rest[k] = (a, b)
    return pieces


def clearing(stmt: Map, zero: Store, box: Box) -> Map:
    """The map that clears a box of the array that `zero`, a store of `stmt`, clears."""
    domain = over(box)
    store = Store(zero.array, tuple(ix(r.var) for r in domain), algebra.zero(zero.expr.dtype))
    return Map(domain, (store,), stmt.source)
