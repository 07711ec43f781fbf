"""Scalars of an iteration with one element for each iteration (scalar expansion), so that loops may become maps."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import prod

from sdfgad.analysis.block_local import BlockLocal, block_locals
from sdfgad.analysis.elements.access import sites
from sdfgad.ir.expr import index_elems
from sdfgad.ir.program import Block, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import all_writes, children, statements
from sdfgad.thresholds import thresholds
from sdfgad.transform.normal.expand import expand


def number_scalars(program: Program, split: Callable[[Program], Program]) -> Program:
    """for i: { s = 0 ; map j: s += f(i, j) ; y[i] = g(s) }   ->
    map i: s[i] = 0 ; map i, j: s[i] += f(i, j) ; map i: y[i] = g(s[i])

    for i: for j: { s = f(i, j) ; y[i, j] = g(s) ; z[i, j] = h(s) }   ->
    map i, j: s[i, j] = f(i, j) ; map i, j: y[i, j] = g(s[i, j]) ; map i, j: z[i, j] = h(s[i, j])

    Only where its scalars were all that kept a loop from being maps, which `split` makes of it.
    """
    local = block_locals(program, sites(program.body), program.live_out)
    for nest in _nests(program.body):
        scalars = _scalars(program, nest, local)
        if scalars:
            made = split(expand(program, scalars, scalars)[0])
            if _loops(made) <= _loops(program) - len(nest):
                return number_scalars(made, split)
    return program


def _nests(block: Block) -> Iterator[tuple[Loop, ...]]:
    """Loops of maps; if all these are single points, with the loops around that hold nothing else."""
    for stmt in block:
        nest: tuple[Loop, ...] = ()
        inner: Stmt | None = stmt
        while isinstance(inner, Loop):
            nest = (*nest, inner)
            inner = inner.body[0] if len(inner.body) == 1 else None
        if nest and nest[-1].body and all(isinstance(s, Map) for s in nest[-1].body):
            yield nest if _single_points(nest[-1].body) else nest[-1:]
        for below in children(stmt):
            yield from _nests(below)


def _single_points(block: Block) -> bool:
    return not any(isinstance(s, Map) and s.domain for s in block)


def _scalars(program: Program, nest: tuple[Loop, ...], local: Mapping[str, BlockLocal]) -> dict[str, BlockLocal]:
    """The scalars of each iteration of loops of maps, when their versions take less than what is there anyway."""
    body = nest[-1].body
    found = {n: replace(b, path=b.path[-len(nest):]) for n, b in local.items()
             if b.block == id(body[0]) and not program.arrays[n].shape}
    largest = max(a.bytes for a in program.arrays.values())
    trips = [loop.range.trips for loop in nest]
    if not _single_points(body):
        return found if sum((trips[0] or largest) * program.arrays[n].bytes for n in found) < largest else {}
    if any(loop.range.trips is None or loop.until for loop in nest) or not _looked_up(body).isdisjoint(found):
        return {}
    size = prod(n or 0 for n in trips)
    stored = sum(program.arrays[n].bytes for n in all_writes(body) if n not in found)
    return found if sum(size * program.arrays[n].bytes for n in found) <= thresholds().mask_versions * stored else {}


def _looked_up(block: Block) -> set[str]:
    """The arrays that indices of maps are read from."""
    parts = [p for s in block if isinstance(s, Map) for p in s.body]
    indices = [i for p in parts if isinstance(p, Store) for i in p.index]
    return {e.array for e in (*(e for p in parts for e in index_elems(p.expr)), *(e for i in indices for e in i.elems))}


def _loops(program: Program) -> int:
    return sum(isinstance(s, Loop) for s in statements(program.body))
