"""Maps over a little more than the points of an earlier one: their common points apart, to run in one pass."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from sdfgad.analysis.cover import is_pointwise
from sdfgad.analysis.rows import touches
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, Let, Map, Program, Range, Stmt
from sdfgad.ir.walk import conflicts, rebuild_blocks, rename_symbols
from sdfgad.thresholds import thresholds
from sdfgad.transform.fusion.join_pointwise import may_change_places

_Sides = list[tuple[int, int]]


def cut_to_partners(program: Program) -> Program:
    """map i = 1:n - 1: y[i] = x[i - 1] + x[i + 1] ; ... ; map i = 0:n: z[i] += x[i]
    ->   map i = 1:n - 1: y[i] = x[i - 1] + x[i + 1] ; map i = 1:n - 1: z[i] += x[i] ; ...
         map i = 0:1: z[i] += x[i] ; map i = n - 1:n: z[i] += x[i]

    For maps between numbers that read the same elements at the points they share, where the earlier one has no others.
    What one writes the other touches at that point only, or not at all; what stands between them may come later.
    """
    body = rebuild_blocks(program.body, _block)
    return program.but(body=body) if body != program.body else program


def _block(work: list[Stmt]) -> Block:
    done: list[Stmt] = []
    for stmt in work:
        found = _partner(done, stmt) if isinstance(stmt, Map) and _sides(stmt) else None
        if found is None:
            done.append(stmt)
            continue
        place, (core, *rims) = found
        done.insert(place + 1, core)
        done += rims
    return tuple(done)


def _partner(done: Sequence[Stmt], stmt: Map) -> tuple[int, list[Map]] | None:
    """The place of the nearest earlier map to run this one with, and its part at the points of that and all others."""
    for k in range(len(done) - 1, max(-1, len(done) - 1 - thresholds().cut_maps_apart), -1):
        first = done[k]
        parts = _cut(first, stmt) if isinstance(first, Map) else None
        if parts is not None:
            return k, parts
        if not may_change_places(first, stmt):
            return None
    return None


def _sides(stmt: Map) -> _Sides:
    """The ends of the ranges of a large map, if they are numbers, nothing is named in it, and each point has elements
    of its own to write, as rows that add to the same elements run in tiles; else none."""
    sides = [(r.start.const, r.stop.const) for r in stmt.domain if r.step == 1 and not r.early]
    known = [(a, b) for a, b in sides if a is not None and b is not None]
    plain = len(known) == len(stmt.domain) and \
        all(not isinstance(p, Let) and is_pointwise(stmt.domain, p.index) for p in stmt.body)
    return known if plain and prod(max(0, b - a) for a, b in known) >= thresholds().cut_map else []


def _cut(first: Map, second: Map) -> list[Map] | None:
    """The second map at the points of the first one, and what is left of it around them."""
    inner, outer = _sides(first), _sides(second)
    if not inner or len(inner) != len(outer) or _touched(first) + _touched(second) > thresholds().cut_touched:
        return None
    for shift in _shifts(first, second):
        core = [(a + s, b + s) for (a, b), s in zip(inner, shift, strict=True)]
        if core != outer and all(a <= c and d <= b for (a, b), (c, d) in zip(outer, core, strict=True)) and \
                (_points(outer) - _points(core)) * thresholds().beyond_partner <= _points(outer) and \
                _point_by_point(first, second, shift):
            return [_over(second, core), *(_over(second, rim) for rim in _around(core, outer))]
    return None


def _touched(stmt: Map) -> int:
    return len({(t.array, t.index) for t in touches(stmt) if t.index})


def _points(sides: _Sides) -> int:
    return prod(b - a for a, b in sides)


def _moved(first: Map, second: Map, shift: Sequence[int]) -> Map:
    """The second map in the variables of the first one, `shift` further on."""
    names = {there.var: ix(here.var) + s for here, there, s in zip(first.domain, second.domain, shift, strict=True)}
    moved = rename_symbols((replace(second, domain=()),), names)[0]
    assert isinstance(moved, Map)
    return replace(moved, domain=first.domain)


def _shifts(first: Map, second: Map) -> Iterator[tuple[int, ...]]:
    """How far the second map has to be ahead to read, at the same point, an element that the first one reads.

    In the order of its reads: where threads have bands of rows, the first of them says which rows belong together.
    """
    moved = _moved(first, second, [0] * len(first.domain))
    mine, others = ([t for t in touches(m) if not t.written] for m in (first, moved))
    found: dict[tuple[int, ...], None] = {}
    for here in mine:
        for there in others:
            if here.array == there.array and is_pointwise(first.domain, there.index):
                shift = _shift({r.var: None for r in first.domain}, here.index, there.index)
                found.update({shift: None} if shift is not None else {})
    yield from found


def _shift(unknown: Mapping[str, None], here: Sequence[Ix], there: Sequence[Ix]) -> tuple[int, ...] | None:
    """What to add to the variables of an index to get another one."""
    known: dict[str, int | None] = dict(unknown)
    for a, b in zip(here, there, strict=True):
        gap, names = (a - b).const, known.keys() & b.symbols
        if gap is None or (gap and not names):
            return None
        for name in names:  # one, as each point has an element of its own
            if b.coefficient(name) != 1:
                return None
            known[name] = gap
    shift = tuple(s for s in known.values() if s is not None)
    return shift if len(shift) == len(known) else None


def _point_by_point(first: Map, second: Map, shift: Sequence[int]) -> bool:
    """Whether what one map writes the other one touches at the same point only."""
    moved = _moved(first, second, shift)
    places: dict[str, set[object]] = {n: set() for n in conflicts(first, moved)}
    for t in (*touches(first), *touches(moved)):
        if t.array in places:
            places[t.array].add(t.index if is_pointwise(first.domain, t.index) else None)
    return all(len(found) == 1 and None not in found for found in places.values())


def _over(stmt: Map, sides: _Sides) -> Map:
    ends = zip(stmt.domain, sides, strict=True)
    return replace(stmt, domain=tuple(Range(r.var, ix(a), ix(b)) for r, (a, b) in ends))


def _around(core: _Sides, outer: _Sides) -> Iterator[_Sides]:
    """Boxes that make up a box without a smaller one in it."""
    for d, ((a, b), (c, e)) in enumerate(zip(outer, core, strict=True)):
        yield from ([*core[:d], side, *outer[d + 1:]] for side in ((a, c), (e, b)) if side[0] < side[1])
