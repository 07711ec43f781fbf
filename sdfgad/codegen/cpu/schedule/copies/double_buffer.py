"""Two arrays that take turns: an iteration that begins or ends with a copy of a whole array exchanges their names."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from sdfgad.codegen.cpu.schedule.copies.copy_pieces import copy_at_once, moving
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Block, Loop, Map, Pop, Program, Push, Stmt, While
from sdfgad.ir.renamed import renamed
from sdfgad.ir.walk import children, range_elems, rename_symbols, statements, with_children
from sdfgad.thresholds import TurnLimits, thresholds
from sdfgad.transform.clearing.clearings import size
from sdfgad.transform.clearing.stale import After, Boxes, Stale, after, unseen_later, whole, without
from sdfgad.transform.spelling import whole_copy


def double_buffer(program: Program, limits: TurnLimits | None = None) -> Program:
    """for t = 0:2n: { y = x ; x[I] = f(y) ; x[R] = x[S] }
    ->   for t = 0:2n by 2: { x[Q] = y[Q] ; y[I] = f(x) ; y[R] = y[S] ; (the same with t + 1, and x for y) }

    Exchanging the names of two arrays leaves what a copy leaves, but in the source, which is out of date. Q are those
    of its elements that are not replaced before the next exchange, or that somebody may look at before. If the number
    of iterations is odd, the last one stays as it was.
    """
    work = _Exchanger(program.arrays, program.live_out, limits or thresholds().turns)
    return program.but(body=work.block(program.body, None))


@dataclass(frozen=True)
class _Exchange:
    """Statement `place` of a body copies `source` into `copy`; `kept`: boxes of the source that need their contents."""

    place: int
    source: str
    copy: str
    kept: tuple[Map, ...]


@dataclass(frozen=True)
class _Exchanger:
    arrays: Mapping[str, Array]
    keep: frozenset[str]
    limits: TurnLimits

    def block(self, block: Block, outer: After | None) -> Block:
        out: list[Stmt] = []
        for k, stmt in enumerate(block):
            if not children(stmt) or isinstance(stmt, Loop) and stmt.parallel:
                out.append(stmt)
                continue
            here = After(block[k + 1:], (), outer)
            inner = [After((), b if isinstance(stmt, (Loop, While)) else (), here) for b in children(stmt)]
            made = with_children(stmt, [self.block(b, a) for b, a in zip(children(stmt), inner, strict=True)])
            out += self.loop(made, here) if isinstance(made, Loop) else (made,)
        return tuple(out)

    def loop(self, loop: Loop, then: After) -> Block:
        """The loop with the exchanges that pay."""
        trips = loop.range.trips
        if loop.until is not None or loop.trips is not None or range_elems(loop.range) or trips is None \
                or trips < self.limits.trips or not self.short(loop.body):
            return (loop,)
        joined = copy_at_once(loop.body, self.arrays, lambda *names_and_rim: self.free(loop.body, then, *names_and_rim))
        for body in (joined, loop.body) if joined is not loop.body else (joined,):
            found = self.exchanges(body, then) if self.short(body) else []
            copied = sum(prod(self.arrays[e.copy].shape) for e in found)
            if found and copied >= self.limits.share * _points(body):
                return _unrolled(replace(loop, body=body), found)
        return (loop,)

    def free(self, body: Block, then: After, target: str, source: str, rim: Boxes) -> bool:
        """Whether the rim of an array that might take turns with another may hold other values after the loop."""
        array = self.arrays[source]
        return prod(array.shape) >= self.limits.points and not self.barred(body, {target, source}) \
            and unseen_later(array, rim, then, self.arrays, self.keep)

    def short(self, body: Block) -> bool:
        return sum(1 for _ in statements(body)) <= self.limits.statements

    def exchanges(self, body: Block, then: After) -> list[_Exchange]:
        found: list[_Exchange] = []
        for place, stmt in enumerate(body):
            names = whole_copy(stmt, self.arrays)
            if names is None:
                continue
            taken = {n for e in found for n in (e.source, e.copy)}
            made = self.exchange(body, place, *names, then)
            if made is not None and taken.isdisjoint((made.source, made.copy)):
                found.append(made)
        return found

    def exchange(self, body: Block, place: int, copy: str, read: str, then: After) -> _Exchange | None:
        """The exchange in place of a copy, when little of the source has to be kept up to date."""
        source = self.arrays[read]
        if prod(source.shape) < self.limits.points or self.barred(body, {copy, read}):
            return None
        ended = after(body[place + 1:], source, Stale((whole(source),)), self.arrays)
        round_ = after(body[:place], source, ended, self.arrays)
        # What is never replaced is what the next copy would read.
        kept = round_.seen + round_.left
        if thresholds().exchanged * sum(map(size, kept)) > size(whole(source)) \
                or not unseen_later(source, without(ended.left, kept), then, self.arrays, self.keep):
            return None
        renewed = tuple(moving(source, copy, b) for b in dict.fromkeys(kept))
        return _Exchange(place, source.name, copy, renewed)

    def barred(self, body: Block, names: set[str]) -> bool:
        """Whether one is more than a name for elements: a file, a table, one for each iteration, an entry of a tape."""
        roles = {self.arrays[n].role for n in names}
        private = {n for s in statements(body) if isinstance(s, Loop) for n in s.private}
        tapes = {s.tape for s in statements(body) if isinstance(s, (Push, Pop))}
        return not roles <= {"transient", "argument"} or not names.isdisjoint(private | tapes)


def _points(block: Block) -> float:
    """Points of all maps, as far as ranges are numbers."""
    total = 0.0
    for stmt in block:
        inner = sum(_points(b) for b in children(stmt))
        total += inner * ((stmt.range.trips or 1) if isinstance(stmt, Loop) else 1)
        total += prod(r.trips or 1 for r in stmt.domain) if isinstance(stmt, Map) else 0
    return total


def _unrolled(loop: Loop, exchanges: Sequence[_Exchange]) -> Block:
    """Iterations two by two, and the last one if it is left over."""
    r, trips = loop.range, loop.range.trips or 0
    body = (*_half(loop.body, exchanges, False),
            *rename_symbols(_half(loop.body, exchanges, True), {r.var: ix(r.var) + r.step}))
    pairs = replace(loop, range=replace(r, stop=r.start + r.step * (trips - trips % 2), step=2 * r.step), body=body)
    last = rename_symbols(loop.body, {r.var: r.start + r.step * (trips - 1)})
    return (pairs, *last) if trips % 2 else (pairs,)


def _half(body: Block, exchanges: Sequence[_Exchange], exchanged: bool) -> Block:
    """One iteration that begins with all names exchanged, or none, and ends the other way."""
    at = {e.place: e for e in exchanges}
    other = {n: m for e in exchanges for n, m in ((e.source, e.copy), (e.copy, e.source))}
    now = other if exchanged else {}
    out: list[Stmt] = []
    for place, stmt in enumerate(body):
        e = at.get(place)
        if e is not None:
            # From here on the source goes by the name of the copy, or no longer.
            pair = {e.source, e.copy}
            now = {n: m for n, m in now.items() if n not in pair} if e.source in now else \
                {**now, **{n: other[n] for n in pair}}
        out += renamed(e.kept if e is not None else (stmt,), now)
    return tuple(out)
