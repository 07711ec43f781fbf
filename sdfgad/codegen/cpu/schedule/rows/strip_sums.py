"""Sums into elements that move from step to step: each strip of rows has elements of its own."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import prod

from sdfgad.analysis.loops.rows import points
from sdfgad.ir import algebra
from sdfgad.ir.expr import Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_variables, reads, rebuild, statements, with_loops, writes
from sdfgad.names import fresh, variable
from sdfgad.thresholds import RowLimits, thresholds
from sdfgad.transform.clearing.clearings import is_zero, touches
from sdfgad.transform.spelling import only_store

_TOGETHER = 4
"""The sums of all strips may take so many times what one iteration may have of its own: they are read once more."""


@dataclass(frozen=True)
class StripSums:
    """A program with sums of strips; left: the names of sums of points that could not become any."""

    program: Program
    left: frozenset[str]


def sums_by_strips(program: Program, sums: Mapping[str, Map], limits: RowLimits) -> StripSums:
    """parallel s, private p: { map i: p[i] = 0 ; for t: map i: p[i] += f(t, i) }
    ->   parallel s: { map k: r[s, k] = 0 ; for t: map i: r[s, t] += f(t, i) } ; map s, k: v[k] += r[s, k]

    where p stands for sums `map i: v[t] += f(t, i)`, which `sums` has by the names of p.
    """
    arrays = {n: a for n, a in program.arrays.items() if n not in sums}
    body: list[Stmt] = []
    left = set(sums)
    for stmt in program.body:
        here = {n: m for n, m in sums.items() if touches(stmt, n)}
        rows = _StripsThatSum.of(stmt, here, arrays, limits) if here else None
        if rows is None:
            body.append(stmt)
            continue
        arrays |= {r.array.name: r.array for r in rows.sums.values()}
        body += [*rebuild((stmt,), rows.changed), *(r.end for r in rows.different)]
        left -= here.keys()
    return StripSums(program.but(body=tuple(body), arrays=arrays), frozenset(left))


@dataclass(frozen=True)
class _SumsOfStrips:
    """As many elements as the array has that is added to, for each iteration of a nest of parallel loops."""

    array: Array
    loops: tuple[Range, ...]
    box: tuple[Range, ...]
    total: Map

    def at(self, index: Collection[Ix]) -> tuple[Ix, ...]:
        return (*(ix(r.var) - r.start for r in self.loops), *index)

    @property
    def _all(self) -> tuple[Ix, ...]:
        return tuple(ix(r.var) for r in self.box)

    @property
    def start(self) -> Map:
        zero = Store(self.array.name, self.at(self._all), algebra.zero(self.array.dtype))
        return Map(self.box, (zero,), self.total.source)

    @property
    def end(self) -> Map:
        part = _part(self.total)
        value = Load(self.array.name, self.at(self._all), self.array.dtype)
        return replace(self.total, domain=(*self.loops, *self.box), body=(replace(part, index=self._all, expr=value),))


def _part(total: Map) -> Store:
    part = only_store(total)
    assert part is not None
    return part


@dataclass(frozen=True)
class _StripsThatSum:
    """Parallel loops, and the sums of their iterations by the sums of points in whose place they come. first: the
    clearings that stay."""

    sums: Mapping[str, _SumsOfStrips]
    parts: Mapping[str, Store]
    first: Collection[int]

    @classmethod
    def of(cls, stmt: Stmt, sums: Mapping[str, Map], arrays: Mapping[str, Array], limits: RowLimits
           ) -> _StripsThatSum | None:
        """None where some of the sums do not keep to the iterations, or are no less than what they sum up."""
        loops = _common_loops(stmt, sums)
        if loops is None or any(touches(stmt, _part(m).array) for m in sums.values()):
            return None
        made: dict[str, _SumsOfStrips] = {}
        taken, known = all_variables((stmt,)), dict(arrays)
        for array in dict.fromkeys(_part(m).array for m in sums.values()):
            total = next(m for m in sums.values() if _part(m).array == array)
            name = fresh(f"{array}_rows", known)
            shape = (*(r.trips or 0 for r in loops), *arrays[array].shape)
            known[name] = Array(name, shape, arrays[array].dtype)
            made[array] = _SumsOfStrips(known[name], loops, _box(arrays[array].shape, taken), total)
        if sum(r.array.bytes for r in made.values()) > _TOGETHER * limits.private:
            return None
        maps = [s for s in statements((stmt,)) if isinstance(s, Map)]
        first = {_part(m).array: id(s) for s in reversed(maps) for n, m in sums.items() if _clears(s, n)}
        return cls({n: made[_part(m).array] for n, m in sums.items()}, {n: _part(m) for n, m in sums.items()},
                   frozenset(first.values()))

    @property
    def different(self) -> list[_SumsOfStrips]:
        return list({r.array.name: r for r in self.sums.values()}.values())

    def changed(self, stmt: Stmt) -> Block:
        """p[i] = 0   ->   r[s, k] = 0, once        p[i] += e   ->   r[s, t] += e"""
        if isinstance(stmt, Loop):
            return (replace(stmt, private=tuple(n for n in stmt.private if n not in self.sums)),)
        part = only_store(stmt) if isinstance(stmt, Map) else None
        if not isinstance(stmt, Map) or part is None or part.array not in self.sums:
            return (stmt,)
        own = self.sums[part.array]
        if is_zero(part):
            return (own.start,) if id(stmt) in self.first else ()
        there = own.at(self.parts[part.array].index)
        return (replace(stmt, body=(replace(part, array=own.array.name, index=there),)),)


def _box(shape: tuple[int, ...], taken: set[str]) -> tuple[Range, ...]:
    """Ranges over all elements, with variables of their own."""
    ranges: list[Range] = []
    for n in shape:
        ranges.append(Range(variable("c", taken), ix(0), ix(n)))
        taken.add(ranges[-1].var)
    return tuple(ranges)


def _common_loops(stmt: Stmt, sums: Mapping[str, Map]) -> tuple[Range, ...] | None:
    """The parallel loops around all that clears sums of points and adds to them, if that is all there is, and what
    these stand for goes to elements in which neither these loops nor their strips have a say."""
    found: set[tuple[Range, ...]] = set()
    for inner, around in with_loops((stmt,)):
        if not isinstance(inner, Map):
            continue
        path = tuple(s for s in around if isinstance(s, Loop))
        names = (reads(inner) | writes(inner)) & sums.keys()
        if not names:
            continue
        part, shared = only_store(inner), tuple(s.range for s in path if s.parallel)
        if part is None or names != {part.array} or part.array in reads(replace(inner, body=(replace(part, op=None),))):
            return None
        alone = all(s.parallel for s in path) if is_zero(part) else \
            part.op == "+" and _stays(inner, _part(sums[part.array]), path)
        if not alone:
            return None
        found.add(shared)
    loops = found.pop() if len(found) == 1 else ()
    return loops if loops and all(r.step == 1 and r.trips for r in loops) else None


def _stays(stmt: Map, part: Store, path: tuple[Loop, ...]) -> bool:
    """Whether the place of a sum is named by loops in order and whole ranges, and many points share it."""
    free = {s.range.var for s in path if not s.parallel}
    whole = {r.var: r.trips or 1 for r in stmt.domain if r.start.const is not None and r.stop.const is not None}
    named = {s for i in part.index for s in i.symbols}
    return named <= free | whole.keys() and \
        points(stmt) >= thresholds().own_line * prod(n for v, n in whole.items() if v in named)


def _clears(stmt: Map, name: str) -> bool:
    part = only_store(stmt)
    return part is not None and part.array == name and is_zero(part)
