"""Take out of a sweep what keeps it from running row by row."""
from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import groupby, product

from sdfgad.analysis.elements.dependence import Edge, edges
from sdfgad.analysis.loops.numbering import Numberings
from sdfgad.analysis.loops.rows import RowNumbering, points, reach, seeds, touches, trips
from sdfgad.ir.program import Block, Let, Loop, Map, Program, Range, Stmt, While
from sdfgad.ir.walk import children, range_elems, with_children, writes
from sdfgad.thresholds import thresholds


def distribute_sweeps(program: Program) -> Program:
    """for j: { y[:, j] += h(q[:, j]) across rows ; q[:, j - 1] += f(q[:, j]) ; q[:, j] = 0 }
    ->   for j: q[:, j - 1] += f(q[:, j]) ; map j: y[:, j] += h(q[:, j]) ; map j: q[:, j] = 0

    For loops of maps in which a recurrence stays in its row and other statements do not. What depends on each other in
    a circle stays together, the rest follows in an order that keeps every dependence.
    """
    return program.but(body=_block(program, program.body, ()))


def _block(program: Program, block: Block, path: tuple[Range, ...]) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, Loop) and (parts := _distributed(program, stmt, path)):
            out += parts
        elif isinstance(stmt, While):
            out.append(stmt)
        else:
            inner = (*path, stmt.range) if isinstance(stmt, Loop) else path
            out.append(with_children(stmt, [_block(program, b, inner) for b in children(stmt)]))
    return tuple(out)


def _distributed(program: Program, loop: Loop, path: tuple[Range, ...]) -> list[Stmt]:
    """The loop in parts, or nothing when it stays whole."""
    maps = [m for s in loop.body if isinstance(s, Map) for m in _one_store_each(s)]
    if not maps or not all(isinstance(s, Map) for s in loop.body) or loop.until is not None or loop.parallel or \
            range_elems(loop.range) or _pairs(maps) > thresholds().distributed_pairs or \
            sum(points(m) * len(touches(m)) for m in maps) * trips(loop.range) < thresholds().distributed_work:
        return []
    written = {name for m in maps for name in writes(m)}
    rows = _best_rows(program, tuple(maps), written)
    good = [rows is not None and _stays(written, m, rows) for m in maps]
    if rows is None or all(good) or not any(good):
        return []
    around, pairs = (*path, loop.range), list(product(range(len(maps)), range(len(maps))))
    found = edges(maps, around, [(a, b) for a, b in pairs if good[a] and good[b]])
    if not any(e.carried for e in found):
        return []
    found += edges(maps, around, [(a, b) for a, b in pairs if not (good[a] and good[b])])
    groups = _groups(good, _circles(len(maps), found), found)
    if len(groups) < 2 or not any(_recurs(g, found) and all(good[k] for k in g) for g in groups):
        return []
    return [part for g in groups for part in _parts(loop, [maps[k] for k in g], _recurs(g, found))]


def _one_store_each(stmt: Map) -> list[Map]:
    """Points of a map are independent, so that its stores may follow each other for all of them."""
    if any(isinstance(p, Let) for p in stmt.body):
        return [stmt]
    return [replace(stmt, body=(p,)) for p in stmt.body]


def _best_rows(program: Program, maps: tuple[Map, ...], written: Container[str]) -> RowNumbering | None:
    """The numbering under which the most statements keep to their rows; None when the loop as a whole does."""
    rows = Numberings(maps)
    found = [rows.numbered(name, dim) for name, dim in seeds(maps, program.arrays)]
    return max(found, key=lambda rows: sum(_stays(written, m, rows) for m in maps), default=None)


def _stays(written: Container[str], stmt: Map, rows: RowNumbering) -> bool:
    """Whether a statement touches what any of them writes in its own row only."""
    part = reach(stmt, rows)
    return part is not None and not any(name in written for name in part.stray)


def _pairs(maps: Sequence[Map]) -> int:
    count: dict[str, int] = {}
    for m in maps:
        for t in touches(m):
            count[t.array] = count.get(t.array, 0) + 1
    written = {t.array for m in maps for t in touches(m) if t.written}
    return sum(n * n for name, n in count.items() if name in written)


def _circles(count: int, found: Sequence[Edge]) -> list[int]:
    """For each statement the first one it depends on in a circle: the name of its component."""
    after = [{k} for k in range(count)]
    grown = True
    while grown:
        grown = False
        for e in found:
            more = after[e.after] - after[e.before]
            after[e.before] |= more
            grown |= bool(more)
    return [min(j for j in range(count) if j in after[k] and k in after[j]) for k in range(count)]


def _groups(good: Sequence[bool], component: Sequence[int], found: Sequence[Edge]) -> list[list[int]]:
    """Components in an order that keeps every edge; neighbouring recurrences of one kind stay in one loop."""
    members = {c: [k for k, d in enumerate(component) if d == c] for c in component}
    kind = {c: int(all(good[k] for k in ks)) - 2 if _recurs(ks, found) else c for c, ks in members.items()}
    before = {c: {component[e.before] for e in found if component[e.after] == c} - {c} for c in members}
    out: list[int] = []
    while len(out) < len(members):
        ready = [c for c in members if c not in out and before[c] <= set(out)]
        same = [c for c in ready if out and kind[c] == kind[out[-1]]]
        out.append((same or ready)[0])
    return [[k for c in run for k in members[c]] for _, run in groupby(out, key=lambda c: kind[c])]


def _recurs(group: Sequence[int], found: Sequence[Edge]) -> bool:
    return any(e.carried and e.before in group and e.after in group for e in found)


def _parts(loop: Loop, maps: list[Map], recurs: bool) -> list[Stmt]:
    """One loop when iterations depend on each other, else one map per statement."""
    if recurs:
        return [replace(loop, body=tuple(maps))]
    return [replace(m, domain=(loop.range.upwards, *m.domain)) for m in maps]
