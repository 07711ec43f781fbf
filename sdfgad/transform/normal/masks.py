"""Compute masks and indices where they are used, and give the scalars of an iteration one element each."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from sdfgad.analysis.block_local import BlockLocal, block_locals
from sdfgad.analysis.elements.access import sites
from sdfgad.analysis.formula import Formula, Remake, formulas, inverse, repeatable
from sdfgad.ir.expr import Expr, Load, index_elems, loads, rewrite
from sdfgad.ir.program import Block, Let, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import all_writes, children, range_elems, reads, rebuild, statements, writes
from sdfgad.thresholds import thresholds
from sdfgad.transform.normal.expand import expand
from sdfgad.transform.normal.parallelise import parallelise


def inline_masks(program: Program) -> Program:
    """map i: m[i] = x[i] > 0 ; map i: n += m[i] ; map i: s += select(m[i], x[i], 0)   ->
    map i: n += x[i] > 0 ; map i: s += select(x[i] > 0, x[i], 0)

    For temporaries without derivatives (not in `seen`) of one cheap expression per element, which has the same bits
    wherever it is computed.
    """
    local = block_locals(program, sites(program.body), program.live_out)
    reading: dict[str, list[Stmt]] = {}
    for stmt in statements(program.body):
        for name in reads(stmt):
            reading.setdefault(name, []).append(stmt)
    for name, formula in formulas(program, local).items():
        if isinstance(formula, Remake):
            continue
        array = program.arrays[name]
        readers = reading.get(name, [])
        if array.dtype.kind in "biu" and array.shape and repeatable(formula.store.expr) and \
                0 < len(readers) <= thresholds().mask_readers and all(_may_compute(s, name, formula) for s in readers):
            return inline_masks(_inlined(program, name, formula, readers))
    return program


def _may_compute(stmt: Stmt, name: str, formula: Formula) -> bool:
    if not isinstance(stmt, Map) or stmt not in formula.still or not _undisturbed(stmt, name, formula):
        return False
    elems = [e for p in stmt.body for e in index_elems(p.expr)]
    elems += [e for p in stmt.body if isinstance(p, Store) for i in p.index for e in i.elems]
    return all(e.array != name for e in (*elems, *(e for r in stmt.domain for e in range_elems(r)))) and \
        not any(isinstance(p, Let) for p in stmt.body)


def _undisturbed(stmt: Map, name: str, formula: Formula) -> bool:
    """The map writes nothing the formula reads, other than the very element it has just read: z[i] = g(m[i], z[i])."""
    changed = formula.inputs & writes(stmt)
    if not changed:
        return True
    part = stmt.body[0]
    if len(stmt.body) > 1 or not isinstance(part, Store) or part.op is not None or inverse(stmt, part) is None:
        return False
    uses = [n for n in loads(part.expr) if n.array == name]
    inputs = [n for u in uses for n in loads(formula.at(u, formula.store.expr))]
    return all(n.array not in changed or n.index == part.index for n in inputs) and \
        not any(e.array in changed for e in index_elems(formula.store.expr))


def _inlined(program: Program, name: str, formula: Formula, readers: list[Stmt]) -> Program:
    def put(n: Expr) -> Expr | None:
        return formula.at(n, formula.store.expr) if isinstance(n, Load) and n.array == name else None

    def change(stmt: Stmt) -> Block:
        if name in writes(stmt):
            return ()
        if not isinstance(stmt, Map) or name not in reads(stmt):
            return (stmt,)
        body = tuple(Store(p.array, p.index, rewrite(p.expr, put), p.op) for p in stmt.body if isinstance(p, Store))
        return (Map(stmt.domain, body, stmt.source),)

    arrays = {n: a for n, a in program.arrays.items() if n != name}
    return program.but(body=rebuild(program.body, change), arrays=arrays)


def number_scalars(program: Program) -> Program:
    """for i: { s = 0 ; map j: s += f(i, j) ; y[i] = g(s) }   ->
    map i: s[i] = 0 ; map i, j: s[i] += f(i, j) ; map i: y[i] = g(s[i])

    for i: for j: { s = f(i, j) ; y[i, j] = g(s) ; z[i, j] = h(s) }   ->
    map i, j: s[i, j] = f(i, j) ; map i, j: y[i, j] = g(s[i, j]) ; map i, j: z[i, j] = h(s[i, j])

    Only where its scalars were all that kept a loop from being maps.
    """
    seen = program.live_out
    local = block_locals(program, sites(program.body), seen)
    for nest in _nests(program.body):
        scalars = _scalars(program, nest, local)
        if scalars:
            wide = expand(program, scalars, scalars)[0]
            split = parallelise(wide)
            if _loops(split) <= _loops(program) - len(nest):
                return number_scalars(split)
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
