"""Clearings before a loop without what its iterations add to first, each to rows of its own."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sdfgad.analysis.elements.access import interval_env
from sdfgad.ir import algebra
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import Block, Loop, Map, Program, Stmt, Store, over
from sdfgad.ir.walk import reads, rebuild_blocks
from sdfgad.transform.clearing.clearings import (
    Box,
    assigning,
    clearing,
    is_zero,
    sole_accumulation,
    stored_between,
    stored_box,
    touches,
    without,
)

Side: TypeAlias = tuple[Ix, Ix]
Sides: TypeAlias = tuple[Side, ...]
Env: TypeAlias = Mapping[str, Bounds]


@dataclass(frozen=True)
class _Filled:
    """What a loop adds to in each iteration: in dimension `pin` the one element `at`, which no other iteration has."""

    loop: Loop
    sums: tuple[tuple[Map, Store], ...]
    sides: Sides
    pin: int

    @property
    def at(self) -> Ix:
        """Where the iteration is in dimension `pin`."""
        return self.sides[self.pin][0]


def clear_rest(program: Program) -> Program:
    """x[0:n, 0:m] = 0 ; for i = 0:n: { x[i, i] += e ; x[i, 0:i] += f }
    ->   map c0 = 0:n, c1 = c0 + 1:m: x[c0, c1] = 0 ; for i = 0:n: { x[i, i] = e ; x[i, 0:i] = f }

    Where the loop looks at x in these sums alone, those of one iteration lie side by side, none in another's way, and
    each iteration has one row or column of its own. What would be cleared is neither written nor read again.
    """
    return program.but(body=rebuild_blocks(program.body, _in_block))


def _in_block(work: list[Stmt]) -> Block:
    k = 0
    while k < len(work):
        stmt = work[k]
        found = _next_loop(work, k, stmt) if isinstance(stmt, Map) else None
        if found is None or not isinstance(stmt, Map):
            k += 1
            continue
        zero, place, filled, rest = found
        work[place] = _assigning(filled)
        work[k:k + 1] = [*without(stmt, [zero]), *rest]
    return tuple(work)


def _next_loop(work: Sequence[Stmt], k: int, stmt: Map) -> tuple[Store, int, _Filled, list[Map]] | None:
    """The first clearing of a map that a loop meets next: the store, the place of the loop, what the loop fills, and
    what is left to clear."""
    for zero in stmt.body:
        if not is_zero(zero) or sum(isinstance(p, Store) and p.array == zero.array for p in stmt.body) != 1:
            continue
        box = stored_box(stmt, zero)
        place = next((n for n in range(k + 1, len(work)) if touches(work[n], zero.array)), None)
        loop = None if place is None else work[place]
        if box is None or place is None or not isinstance(loop, Loop):
            continue
        filled = _filled(loop, zero.array)
        rest = None if filled is None else _left(stmt, zero, box, filled)
        if filled is not None and rest is not None:
            return zero, place, filled, rest
    return None


def _filled(loop: Loop, name: str) -> _Filled | None:
    """What a loop adds to, when it does so once everywhere and looks at nothing else of the array."""
    r = loop.range
    if loop.until is not None or r.early or not r.trips or name in {*loop.private} | reads(loop):
        return None
    sums = []
    for stmt in loop.body:
        if touches(stmt, name):
            store = sole_accumulation(stmt, name)
            if store is None or not isinstance(stmt, Map) or name in reads(assigning(stmt, store)):
                return None
            sums.append((stmt, store))
    env = interval_env((r,))
    found = [_sides(stmt, store, env) for stmt, store in sums]
    sides = _joined([s for s in found if s is not None])
    pin = None if sides is None or None in found else _pinned(sides, r.var)
    return None if sides is None or pin is None else _Filled(loop, tuple(sums), sides, pin)


def _sides(stmt: Map, store: Store, env: Env) -> Sides | None:
    """The ends of what a store touches (`stored_between`), where no range is ever turned inside out."""
    sure = all(_known(r.stop - r.start, env) for r in stmt.domain)
    return stored_between(stmt, store) if sure else None


def _known(gap: Ix, env: Env) -> bool:
    """Whether a number is never negative."""
    low = gap.bounds(env)[0]
    return gap.affine is not None and low is not None and low >= 0


def _joined(parts: Sequence[Sides]) -> Sides | None:
    """The box that boxes make side by side in one dimension, in whatever order; None where they do not."""
    if not parts:
        return None
    whole, rest = parts[0], list(parts[1:])
    along = {d for other in rest for d, (a, b) in enumerate(zip(whole, other, strict=True)) if a != b}
    if rest and len(along) != 1:
        return None
    d = next(iter(along), 0)
    while rest:
        other = next((o for o in rest if o[d][0] == whole[d][1] or o[d][1] == whole[d][0]), None)
        if other is None:
            return None
        rest.remove(other)
        low, high = (whole[d][0], other[d][1]) if other[d][0] == whole[d][1] else (other[d][0], whole[d][1])
        whole = (*whole[:d], (low, high), *whole[d + 1:])
    return whole


def _pinned(sides: Sides, var: str) -> int | None:
    """The dimension in which every iteration of a loop has one element of its own."""
    return next((d for d, (low, high) in enumerate(sides)
                 if high == low + 1 and low.symbols == {var} and low.coefficient(var) in (1, -1)), None)


def _left(stmt: Map, zero: Store, box: Box, filled: _Filled) -> list[Map] | None:
    """What is left to clear of a box; None where a loop adds to something outside it, or where that is no nest."""
    r = filled.loop.range
    env = interval_env((r,))
    if not all(_known(low - a, env) and _known(b - high, env)
               for (low, high), (a, b) in zip(filled.sides, box, strict=True)):
        return None
    low, high = filled.at.bounds(env)
    if abs(r.step) != 1 or low is None or high is None:
        return None
    rows = [(*box[:filled.pin], side, *box[filled.pin + 1:]) for side in ((box[filled.pin][0], low),
                                                                         (high + 1, box[filled.pin][1]))]
    rest = [clearing(stmt, zero, row) for row in rows if row[filled.pin][0] < row[filled.pin][1]]
    beside = _beside(stmt, zero, [(ix(a), ix(b)) for a, b in box], filled, (ix(low), ix(high + 1)))
    return None if beside is None else rest + beside


def _beside(stmt: Map, zero: Store, box: Sequence[Side], filled: _Filled, rows: Side) -> list[Map] | None:
    """The clearings beside what the iterations fill, in their rows; None where they would depend on a range further
    inside."""
    found = []
    env = interval_env((filled.loop.range,))
    outer = [rows if d == filled.pin else side for d, side in enumerate(box)]
    for d, (low, high) in enumerate(filled.sides):
        if d == filled.pin:
            continue
        for side in ((outer[d][0], low), (high, outer[d][1])):
            if _known(side[0] - side[1], env):
                continue
            made = _clearing(stmt, zero, [*outer[:d], side, *outer[d + 1:]], filled)
            if made is None:
                return None
            found.append(made)
        outer[d] = (low, high)
    return found


def _clearing(stmt: Map, zero: Store, sides: Sequence[Side], filled: _Filled) -> Map | None:
    """The map that clears between ends that follow the iteration."""
    var, at = filled.loop.range.var, filled.at
    factor = at.coefficient(var) or 0
    here = {var: (ix(f"c{filled.pin}") - at.subs({var: 0})) * factor}
    if any(var in a.symbols | b.symbols for a, b in sides[:filled.pin]):
        return None
    domain = over((a.subs(here), b.subs(here)) for a, b in sides)
    store = Store(zero.array, tuple(ix(r.var) for r in domain), algebra.zero(zero.expr.dtype))
    return Map(domain, (store,), stmt.source)


def _assigning(filled: _Filled) -> Loop:
    """The loop with its sums assigned."""
    body: Block = tuple(next((assigning(s, store) for s, store in filled.sums if s is stmt), stmt)
                        for stmt in filled.loop.body)
    return replace(filled.loop, body=body)
