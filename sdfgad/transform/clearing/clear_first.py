"""Clearings at the end of an iteration moved to the start of the next one, where they meet an accumulation."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sdfgad.ir.expr import loads
from sdfgad.ir.program import Block, If, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import children, reads, rename_symbols, statements, with_children
from sdfgad.thresholds import ClearingLimits, thresholds
from sdfgad.transform.clearing.clearings import (
    Box,
    clearing,
    common,
    fold_block,
    inside,
    is_zero,
    looks_into,
    next_accumulation,
    size,
    sole_accumulation,
    stored_box,
    stores_into,
    touches,
    without,
)
from sdfgad.transform.spelling import only_store


@dataclass(frozen=True)
class _Last:
    """A clearing of a box that is the last thing an iteration does with an array, in the map at `place`."""

    place: int
    stmt: Map
    store: Store
    box: Box

    @property
    def alone(self) -> Map:
        """The clearing as a statement of its own."""
        return clearing(self.stmt, self.store, self.box)


def clear_first(program: Program, limits: ClearingLimits | None = None) -> Program:
    """for t in r: { x[C] += e(t) ; s ; x[Z] = 0 }, C inside Z
    ->   first iteration ; for t in the rest: { x[C] = e(t) ; s } ; x[Z] = 0

    Where x[Z] is cleared before the loop as well, no iteration has to stand apart; nor in a loop that repeats this one
    alone and begins with x[Z] clear. What of Z is not in C is cleared once if nothing stores there, else still in every
    iteration. In a branch that alone touches x in the loop it is the same, from one time that it is taken to the next.
    """
    return program.but(body=_in_block(program.body, None, limits or thresholds().clearing))


@dataclass(frozen=True)
class _Around:
    """A loop, what comes before it in its block, and the loop whose body this block is."""

    loop: Loop
    before: Sequence[Stmt]
    outer: _Around | None


def _in_block(block: Block, around: _Around | None, limits: ClearingLimits) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, Loop) and stmt.until is None and not stmt.parallel:
            here = _Around(stmt, tuple(out), around)
            branches, after = _branches_rotated(_in_block(stmt.body, here, limits), here)
            out += [*_rotated(replace(stmt, body=branches), here, limits), *after]
        else:
            out.append(with_children(stmt, [_in_block(b, None, limits) for b in children(stmt)]))
    return tuple(out)


def _rotated(loop: Loop, here: _Around, limits: ClearingLimits) -> Block:
    """The loop, its clearings first; with what goes before and after it. here: as it was, and what is around it."""
    useful = [c for c in _last_clearings(loop.body) if _is_met(loop.body, c)]
    free = [c for c in useful if _is_clear(here.before, c) or _stays_clear_around(c, here)]
    peeled = _worth_peeling(loop, [c for c in useful if c not in free], limits)
    chosen = useful if peeled else free
    if not chosen:
        return (loop,)
    rest = _without_clearings(loop.body, chosen)
    after = tuple(c.alone for c in chosen)
    body = fold_block([*(c.alone for c in chosen), *rest], far=True)
    once = [s for s in body if _stays_clear(s, body, {c.store.array for c in chosen})]
    inner = tuple(s for s in body if s not in once)
    r = loop.range
    if not peeled:
        return (replace(loop, body=inner), *after)
    first = rename_symbols(rest, {r.var: r.start})
    return (*first, *once, replace(loop, range=replace(r, start=r.start + r.step), body=inner), *after)


def _branches_rotated(body: Block, here: _Around) -> tuple[Block, Block]:
    """for t: if c: { x[C] += e ; s ; x[Z] = 0 }   ->   for t: if c: { x[C] = e ; s } ; x[Z] = 0

    The body of a loop, and what goes behind the loop; where x[Z] is clear before it.
    """
    after: list[Stmt] = []

    def rotated(block: Block) -> Block:
        chosen = [c for c in _last_clearings(block) if _is_met(block, c) and _alone(c.store.array, block, body) and
                  (_is_clear(here.before, c) or _stays_clear_around(c, here))]
        after.extend(c.alone for c in chosen)
        first = [*(c.alone for c in chosen), *_without_clearings(block, chosen)]
        return fold_block(first, far=True) if chosen else block

    made = tuple(with_children(s, [rotated(b) for b in children(s)]) if isinstance(s, If) else s for s in body)
    return made, tuple(after)


def _alone(name: str, block: Block, body: Block) -> bool:
    """Whether of all branches and other statements of a body one branch alone touches an array."""
    blocks = [b for s in body for b in (children(s) if isinstance(s, If) else ((s,),))]
    conditions = {n for s in body if isinstance(s, If) for n in reads(s)}
    return name not in conditions and all(b is block or not any(touches(s, name) for s in b) for b in blocks)


def _stays_clear(stmt: Stmt, body: Block, names: set[str]) -> bool:
    """Whether this clears what nothing else in the loop stores to."""
    store = only_store(stmt) if isinstance(stmt, Map) else None
    if not isinstance(stmt, Map) or store is None or store.array not in names or not is_zero(store):
        return False
    box = stored_box(stmt, store)
    return box is not None and not any(stores_into(s, store.array, box) for s in body if s is not stmt)


def _worth_peeling(loop: Loop, useful: Sequence[_Last], limits: ClearingLimits) -> bool:
    trips, length = loop.range.trips, sum(1 for _ in statements(loop.body))
    return (trips or 0) > 1 and length <= limits.statements and \
        any(size(c.box) >= limits.points for c in useful)


def _last_clearings(body: Block) -> Iterator[_Last]:
    for place, stmt in enumerate(body):
        for store in stmt.body if isinstance(stmt, Map) else ():
            box = stored_box(stmt, store) if isinstance(stmt, Map) and is_zero(store) else None
            if box is not None and isinstance(stmt, Map) and isinstance(store, Store) and \
                    _is_last(stmt, store, box, body[place + 1:]):
                yield _Last(place, stmt, store, box)


def _is_last(stmt: Map, store: Store, box: Box, rest: Block) -> bool:
    """Whether nothing looks at the box after this store, nor its map at anything else of the array."""
    name = store.array
    position = next(k for k, p in enumerate(stmt.body) if p is store)
    about = [p for p in stmt.body if isinstance(p, Store) and p.array == name]
    return len(about) == 1 and not any(looks_into(s, name, box) for s in rest) and \
        not any(n.array == name for p in stmt.body[position + 1:] for n in loads(p.expr))


def _is_met(body: Block, last: _Last) -> bool:
    """Whether the next iteration starts by adding to what is cleared; most of it, so that less is left to clear."""
    zero = only_store(last.alone)
    assert zero is not None
    rest = _without_clearings(body, [last])
    found = next_accumulation(last.alone, zero, enumerate(rest), far=True)
    if found is not None and 2 * size(found.filled) >= size(last.box):
        return True
    return any(_starts_from_zero(rest, k, last) for k in range(len(rest)))


def _starts_from_zero(body: Block, place: int, last: _Last) -> bool:
    """Whether a sum goes to most of what is cleared, and nothing before it looks there: sums at the rim may."""
    stmt, name = body[place], last.store.array
    store = sole_accumulation(stmt, name)
    box = stored_box(stmt, store) if isinstance(stmt, Map) and store is not None else None
    filled = common(box, last.box) if box is not None else None
    return filled is not None and 2 * size(filled) >= size(last.box) and \
        not any(looks_into(s, name, filled) for s in body[:place])


def _is_clear(before: Sequence[Stmt], last: _Last) -> bool:
    """Whether the last statement before the loop that looks at the array clears at least this box."""
    name = last.store.array
    stmt = next((s for s in reversed(before) if touches(s, name)), None)
    if not isinstance(stmt, Map):
        return False
    about = [p for p in stmt.body if isinstance(p, Store) and p.array == name]
    box = stored_box(stmt, about[0]) if len(about) == 1 and is_zero(about[0]) else None
    return box is not None and inside(last.box, box) and not any(n.array == name for p in stmt.body
                                                                for n in loads(p.expr))


def _stays_clear_around(last: _Last, here: _Around) -> bool:
    """Whether the box is clear before every iteration of the loop around this one: it is before the first, and nothing
    but clearings touches the array beside this loop, which leaves it clear."""
    name, outer = last.store.array, here.outer
    if outer is None or any(_disturbs(s, name) for s in outer.loop.body if s is not here.loop):
        return False
    return _is_clear(outer.before, last) or \
        not any(touches(s, name) for s in outer.before) and _stays_clear_around(last, outer)


def _disturbs(stmt: Stmt, name: str) -> bool:
    """Whether a statement does anything with an array but clear elements of it."""
    if not isinstance(stmt, Map):
        return touches(stmt, name)
    return name in reads(stmt) or any(isinstance(p, Store) and p.array == name and not is_zero(p) for p in stmt.body)


def _without_clearings(body: Block, chosen: Sequence[_Last]) -> Block:
    gone = {id(c.stmt): [o.store for o in chosen if o.stmt is c.stmt] for c in chosen}
    out: list[Stmt] = []
    for stmt in body:
        out += without(stmt, gone[id(stmt)]) if isinstance(stmt, Map) and id(stmt) in gone else [stmt]
    return tuple(out)
