"""Loops of which each iteration is done by a thread of its own."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.analysis.elements.cover import replaced
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cuda.maps import held_sums
from sdfgad.codegen.cuda.points import Points
from sdfgad.codegen.cuda.work import DeviceKernel, Part, PointWork, Side, ThreadLoop, coordinate
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, Loop, Map, Range, Stmt, Store
from sdfgad.ir.walk import reads, rename_symbols, statements, writes


def in_threads(stmt: Loop, frame: Frame) -> DeviceKernel:
    """The kernel with a point for each iteration, whose thread does what the loop says in its order."""
    r, count = stmt.range, stmt.range.trips or 0
    box = (Side(coordinate(0), r.start, count),) if count != 1 else ()
    names: dict[str, Ix | str | int] = {r.var: ix(coordinate(0)) if box else r.start}
    # Without a range the points of a larger kernel that this one is joined to would go on behind the end.
    own = tuple(Range(s.var, s.start, s.start + s.count) for s in box)
    around = (*frame.ranges.values(), *own)
    parts = tuple(_part(s, box, own, around) for s in rename_symbols(stmt.body, names))
    return DeviceKernel(box, parts, (), _filled(stmt.body, r, frame))


def _part(stmt: Stmt, box: tuple[Side, ...], own: tuple[Range, ...], path: tuple[Range, ...]) -> Part:
    if isinstance(stmt, Loop):
        inner = (*path, stmt.range)
        return ThreadLoop(stmt.range, tuple(_part(s, box, own, inner) for s in stmt.body))
    assert isinstance(stmt, Map), "a thread does maps and loops"
    outer, inner = _apart(stmt)
    seen = Points(box, replace(stmt, domain=inner), tuple(r.var for r in inner))
    held = held_sums(seen, (*path, *outer)) if inner else frozenset[int]()
    part: Part = PointWork((*own, *inner), stmt.body, held)
    for r in reversed(outer):
        part = ThreadLoop(r, (part,))
    return part


def _apart(stmt: Map) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """The ranges of a map that tell apart what it adds to, and those of the terms; all are the latter where it adds
    nothing up, or the former depend on them."""
    stores = [p for p in stmt.body if isinstance(p, Store)]
    outer = tuple(r for r in stmt.domain if all(any(i.coefficient(r.var) for i in p.index) for p in stores))
    inner = tuple(r for r in stmt.domain if r not in outer)
    names = {r.var for r in inner}
    if not any(p.op for p in stores) or any(not names.isdisjoint(r.start.symbols | r.stop.symbols) for r in outer):
        return (), stmt.domain
    return outer, inner


def _filled(body: Block, r: Range, frame: Frame) -> frozenset[str]:
    """Arrays that the threads fill before they look at them."""
    seen, found = set[str](), set[str]()
    for stmt in body:
        if isinstance(stmt, Map):
            whole = replaced(replace(stmt, domain=(r, *stmt.domain)), frame.arrays)
            found |= whole - seen - reads(stmt)
        seen |= {n for s in statements((stmt,)) for n in reads(s) | writes(s)}
    return frozenset(found)
