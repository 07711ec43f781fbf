"""Give records the elements around them that no iteration changes: they are read, and nothing is restored."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sdfgad.ir.expr import Expr, Load, rewrite
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Loop, Map, Program, Stmt, Store, over
from sdfgad.ir.walk import all_reads, map_accesses, map_exprs, reads, rebuild, statements, writes
from sdfgad.thresholds import thresholds
from sdfgad.transform.clearing.clearings import Box, size, stored_box, take_out, touches
from sdfgad.transform.clearing.stale import whole
from sdfgad.transform.spelling import only_store


def widen_records(program: Program) -> Program:
    """for t: { x[1:n-1] = tape[t] ; map i = 1:n-1: y[i] += x[i + 1] - x[i - 1] }
    ->   for t: { tape[t, 0] = x[0] ; tape[t, n-1] = x[n-1] ; map i = 1:n-1: y[i] += tape[t, i + 1] - tape[t, i - 1] }

    Where the loop does nothing else with x, nobody looks at x behind it, what an iteration restores stays near, and the
    elements around that are few. The record gets room for them: it is indexed as x is.
    """
    for position, stmt in enumerate(program.body):
        while isinstance(stmt, Loop) and not stmt.parallel and (found := _first(program, position)) is not None:
            program = _widened(program, position, found)
    return program


def _first(program: Program, position: int) -> _Restored | None:
    """What the first statement of a loop restores that need not."""
    loop = program.body[position]
    found = (_restored(program, position, s) for s in loop.body) if isinstance(loop, Loop) else ()
    return next((f for f in found if f is not None), None)


@dataclass(frozen=True)
class _Restored:
    """A statement that puts `box` of an array back from a record, which has `shift` less in its last indices."""

    stmt: Map
    array: Array
    record: Array
    step: tuple[Ix, ...]
    shift: tuple[int, ...]
    rim: tuple[Box, ...]

    def at(self, index: Sequence[Ix]) -> tuple[Ix, ...]:
        """An index of the record, as it is with the elements around."""
        first = len(self.step)
        return (*index[:first], *(i + k for i, k in zip(index[first:], self.shift, strict=True)))


def _restored(program: Program, position: int, stmt: Stmt) -> _Restored | None:
    """What a statement of a loop restores, if it can be read from a record that is widened."""
    store = only_store(stmt) if isinstance(stmt, Map) else None
    if not isinstance(stmt, Map) or store is None or store.op is not None or not isinstance(store.expr, Load):
        return None
    array, record = program.arrays[store.array], program.arrays[store.expr.array]
    own = (array, record)
    if array is record or array.dtype != record.dtype or array.dtype.kind not in "fc" or program.live_out & {
            array.name, record.name} or any(a.role != "transient" or a.packing is not None for a in own):
        return None
    box = stored_box(stmt, store)
    shift = None if box is None else _shift(stmt, store, store.expr, record)
    if box is None or shift is None or not _alone(program, position, stmt, array.name, record.name):
        return None
    rim = tuple(take_out(whole(array), box))
    few = bool(rim) and sum(map(size, rim)) * thresholds().record_rims <= size(box)
    near = size(box) * array.dtype.itemsize <= thresholds().restored_bytes
    return _Restored(stmt, array, record, store.expr.index[:-len(shift)], shift, rim) if few and near else None


def _shift(stmt: Map, store: Store, record: Load, kept: Array) -> tuple[int, ...] | None:
    """How far the indices of an array are beyond the last ones of its record, all of which a map goes through."""
    first = len(record.index) - len(store.index)
    if first < 1 or any(r.var in i.symbols for r in stmt.domain for i in record.index[:first]):
        return None
    filled = stored_box(stmt, replace(store, index=record.index[first:]))
    if filled != tuple((0, n) for n in kept.shape[first:]):
        return None
    apart = [(i - k).const for i, k in zip(store.index, record.index[first:], strict=True)]
    return None if None in apart else tuple(a for a in apart if a is not None)


def _alone(program: Program, position: int, stmt: Map, name: str, record: str) -> bool:
    """Whether a loop only restores an array and has maps look at it behind that, nobody does later on, and only maps
    have to do with the record, this one alone in the loop."""
    loop = program.body[position]
    if not isinstance(loop, Loop) or {name, record} & {*loop.private}:
        return False
    place = next(k for k, s in enumerate(loop.body) if s is stmt)
    users = [s for s in loop.body[place + 1:] if touches(s, name)]
    return bool(users) and all(isinstance(s, Map) and name not in writes(s) for s in users) \
        and not any(touches(s, name) for s in loop.body[:place]) \
        and not any(touches(s, record) for s in loop.body if s is not stmt) \
        and name not in all_reads(program.body[position + 1:]) \
        and all(isinstance(s, Map) for s in statements(program.body) if record in reads(s) | writes(s))


def _widened(program: Program, position: int, found: _Restored) -> Program:
    """The program whose loop fills the record up, and reads it."""
    name, record = found.array.name, found.record.name

    def change(accessed: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        return found.at(index) if accessed == record else index

    body = rebuild(program.body, lambda s: (map_accesses(s, change) if isinstance(s, Map) else s,))
    loop = body[position]
    assert isinstance(loop, Loop)
    place = next(k for k, s in enumerate(loop.body) if isinstance(s, Map) and name in writes(s))
    inside = (*loop.body[:place], *(_filled_up(found, box) for box in found.rim),
              *(_reading(s, found) for s in loop.body[place + 1:]))
    wide = replace(found.record, shape=(*found.record.shape[:len(found.step)], *found.array.shape))
    return program.but(body=(*body[:position], replace(loop, body=inside), *body[position + 1:]),
                       arrays={**program.arrays, record: wide})


def _filled_up(found: _Restored, box: Box) -> Map:
    """Elements that no iteration changes, into the record."""
    domain = over(box)
    at = tuple(ix(r.var) for r in domain)
    store = Store(found.record.name, (*found.step, *at), Load(found.array.name, at, found.array.dtype))
    return Map(domain, (store,), found.stmt.source)


def _reading(stmt: Stmt, found: _Restored) -> Stmt:
    """A statement that looks into the record."""

    def moved(n: Expr) -> Expr | None:
        return Load(found.record.name, (*found.step, *n.index), n.dtype) \
            if isinstance(n, Load) and n.array == found.array.name else None

    return map_exprs(stmt, lambda e: rewrite(e, moved)) if found.array.name in reads(stmt) else stmt
