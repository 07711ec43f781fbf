"""Rows that a loop copies to lines of its own again and again: handed from iteration to iteration where they lie."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.loops.carried_lines import Handed, handed_rows
from sdfgad.codegen.cpu.schedule.rows.strip_lines import summed
from sdfgad.ir import algebra
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import children, with_children
from sdfgad.transform.clearing.clearings import Box, inside, is_zero, stored_box, touches
from sdfgad.transform.clearing.stale import without
from sdfgad.transform.spelling import only_store


def rotate_lines(program: Program) -> Program:
    """x[:] = 0
       for i = 0:n: { a = x[i] ; b = x[i + 1] ; f(a, b) ; x[i] = a ; x[i + 1] = b }
    ->   b = 0
         for i = 0:n: { a = b ; b = 0 ; f(a, b) ; x[i] = a }
         x[n] = b

    For rows that are copied to arrays which belong to an iteration of a parallel loop, in loops of at least two
    iterations (`handed_rows`): a row is copied in once, and back after its last change. What was cleared before is
    cleared where it is needed, and not in memory where all of it is replaced.
    """
    body = tuple(_changed(s, program.arrays, frozenset()) for s in program.body)
    return program.but(body=body) if body != program.body else program


def _changed(stmt: Stmt, arrays: Mapping[str, Array], own: frozenset[str]) -> Stmt:
    """own: arrays of an iteration of the parallel loops around."""
    if not children(stmt):
        return stmt
    own = own | frozenset(stmt.private) if isinstance(stmt, Loop) and stmt.parallel else own
    return with_children(stmt, [_block(tuple(_changed(s, arrays, own) for s in b), arrays, own)
                                for b in children(stmt)])


def _block(block: Block, arrays: Mapping[str, Array], own: frozenset[str]) -> Block:
    done: list[Stmt] = []
    for stmt in block:
        after: list[Stmt] = []
        while own and isinstance(stmt, Loop) and (handed := _first(stmt, arrays, own)) is not None:
            work = _HandedRows(handed, stmt.range, _cleared(done, handed.array))
            done = [*(s for s in done if not work.replaced(s)), *work.begun()]
            after += work.ended()
            stmt = replace(stmt, body=work.body(stmt.body))
        done += [stmt, *after]
    return tuple(done)


def _first(stmt: Loop, arrays: Mapping[str, Array], own: frozenset[str]) -> Handed | None:
    """One of the arrays whose rows move on; handed on, they are none any more."""
    return next((h for h in handed_rows(stmt, arrays) if own.issuperset(c.near.array for c in h.fetched)), None)


@dataclass(frozen=True)
class _Area:
    """Elements of an array: along some dimensions between the same symbols, a box along the others."""

    strips: tuple[tuple[int, Ix, Ix], ...]
    box: Box


@dataclass(frozen=True)
class _Cleared:
    """A map that clears an area, which nobody touches until the loop."""

    stmt: Map
    area: _Area


@dataclass(frozen=True)
class _HandedRows:
    """The rows that iterations of a loop over `range` hand on; cleared: what is known to be zero before the loop."""

    handed: Handed
    range: Range
    cleared: Sequence[_Cleared]

    def begun(self) -> Iterator[Map]:
        """Before the loop: what the first iteration finds as if an earlier one had left it."""
        for lead in range(self.handed.top):
            yield self._come(lead, self.range.start, self.handed.fetched[lead + 1].near)

    def body(self, body: Block) -> Block:
        """An iteration: rows move on when the first one was copied in, all but one are not copied back."""
        handed = self.handed
        first = min(c.place for c in handed.fetched)
        lasting = handed.stored[min(handed.stored)].place if handed.stored else None
        moved = [c.map(after.near, c.near) for c, after in zip(handed.fetched, handed.fetched[1:], strict=False)]
        fresh = self._come(handed.top, ix(self.range.var), handed.fetched[-1].near)
        out: list[Stmt] = []
        for place, stmt in enumerate(body):
            out += [*moved, fresh] if place == first else ()
            out += [stmt] if place not in handed.places or place == lasting else []
        return tuple(out)

    def ended(self) -> Iterator[Map]:
        """After the loop: rows that later iterations would have copied back."""
        stored = self.handed.stored
        for lead in range(min(stored) + 1, max(stored) + 1) if stored else ():
            copy = self.handed.fetched[lead]
            yield copy.map(copy.near, self.handed.far(lead, self.range.var, self._last))

    def replaced(self, stmt: Stmt) -> bool:
        """Whether a statement before the loop clears nothing but what is replaced, and needs not be looked at."""
        stored = self.handed.stored
        area = self._area(min(stored), max(stored)) if stored and self._from_zero else None
        return any(c.stmt is stmt and area is not None and c.area.strips == area.strips
                   and inside(c.area.box, area.box) for c in self.cleared)

    @property
    def _last(self) -> Ix:
        return self.range.start + ((self.range.trips or 0) - 1) * self.range.step

    def _come(self, lead: int, here: Ix, near: Load) -> Map:
        """A row comes to a line, by its lead where the loop's variable has that value."""
        copy = self.handed.fetched[lead]
        if self._from_zero:
            return Map(copy.domain, (Store(near.array, near.index, algebra.zero(near.dtype)),))
        return copy.map(self.handed.far(lead, self.range.var, here), near)

    @property
    def _from_zero(self) -> bool:
        """Whether all that the loop ever copies in from memory is zero."""
        area = self._area(0, self.handed.top)
        known = [c.area.box for c in self.cleared if area is not None and c.area.strips == area.strips]
        return area is not None and bool(known) and not without((area.box,), known)

    def _area(self, low: int, high: int) -> _Area | None:
        """All rows from the one of lead `low` in the first iteration to the one of lead `high` in the last."""
        first = self.handed.far(low, self.range.var, self.range.start)
        last = self.handed.far(high, self.range.var, self._last)
        moving = [d for d, (a, b) in enumerate(zip(first.index, last.index, strict=True)) if a != b]
        ends = [(i.index[d].const for i in (first, last)) for d in moving]
        low_high = [c for pair in ends for c in pair]
        if len(moving) != 1 or None in low_high:
            return None
        start, stop = sorted(c for c in low_high if c is not None)
        if stop - start != (self.range.trips or 0) - 1 + high - low:
            return None
        row = Range(self.range.var, ix(start), ix(stop + 1))
        index = tuple(ix(row.var) if d in moving else i for d, i in enumerate(first.index))
        return _area(Map((row, *self.handed.fetched[0].domain), (Store(first.array, index, first),)))


def _cleared(done: Sequence[Stmt], array: str) -> list[_Cleared]:
    """The last statements that touch an array, as far as they clear it."""
    found: list[_Cleared] = []
    for stmt in reversed(done):
        store = only_store(stmt) if isinstance(stmt, Map) else None
        if isinstance(stmt, Map) and store is not None and store.array == array and is_zero(store):
            area = _area(stmt)
            found += [_Cleared(stmt, area)] if area is not None else []
        elif touches(stmt, array):
            break
    return found


def _area(stmt: Map) -> _Area | None:
    """What the only store of a map touches."""
    store = only_store(stmt)
    if store is None:
        return None
    ranges = {r.var: r for r in stmt.domain}
    strips: list[tuple[int, Ix, Ix]] = []
    for d, i in enumerate(store.index):
        for r in [r for r in ranges.values() if r.trips is None or r.start.const is None]:
            ahead = (i - r.var).const
            if ahead is not None and r.step == 1:
                strips.append((d, r.start + ahead, summed(r.stop + ahead)))
                del ranges[r.var]
    there = {d for d, _, _ in strips}
    rest = replace(store, index=tuple(i for d, i in enumerate(store.index) if d not in there))
    bounds = {s for r in stmt.domain for s in r.start.symbols | r.stop.symbols}
    box = stored_box(Map(tuple(ranges.values()), (rest,)), rest) if bounds.isdisjoint(r.var for r in stmt.domain) \
        else None
    return _Area(tuple(strips), box) if box is not None else None
