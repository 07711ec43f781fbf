"""Compute masks and indices where they are used, and give the scalars of an iteration one element each."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sdfgad.analysis.access import sites
from sdfgad.analysis.block_local import BlockLocal, block_locals
from sdfgad.analysis.formula import Formula, Remake, formulas, inverse, repeatable
from sdfgad.ir.expr import Expr, Load, index_elems, loads, rewrite
from sdfgad.ir.program import Block, Let, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import range_elems, reads, rebuild, statements, writes
from sdfgad.transform.expand import expand
from sdfgad.transform.parallelise import parallelise

MOST_READERS = 4
"""So many statements may compute a value each on its own."""


def inline_masks(program: Program, seen: Iterable[str]) -> Program:
    """map i: m[i] = x[i] > 0 ; map i: n += m[i] ; map i: s += select(m[i], x[i], 0)   ->
    map i: n += x[i] > 0 ; map i: s += select(x[i] > 0, x[i], 0)

    For temporaries without derivatives (not in `seen`) of one cheap expression per element, which has the same bits
    wherever it is computed.
    """
    local = block_locals(program, sites(program.body), seen)
    for name, formula in formulas(program, local).items():
        if isinstance(formula, Remake):
            continue
        array = program.arrays[name]
        readers = [s for s in statements(program.body) if name in reads(s)]
        if array.dtype.kind in "biu" and array.shape and repeatable(formula.store.expr) and \
                0 < len(readers) <= MOST_READERS and all(_may_compute(s, name, formula) for s in readers):
            return inline_masks(_inlined(program, name, formula, readers), seen)
    return program


def _may_compute(stmt: Stmt, name: str, formula: Formula) -> bool:
    if not isinstance(stmt, Map) or id(stmt) not in formula.still or not _undisturbed(stmt, name, formula):
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


def number_scalars(program: Program, seen: Iterable[str]) -> Program:
    """for i: { s = 0 ; map j: s += f(i, j) ; y[i] = g(s) }   ->
    map i: s[i] = 0 ; map i, j: s[i] += f(i, j) ; map i: y[i] = g(s[i])

    Only where its scalars were all that kept a loop from being maps.
    """
    seen = frozenset(seen)
    local = block_locals(program, sites(program.body), seen)
    for loop in (s for s in statements(program.body) if isinstance(s, Loop)):
        scalars = _scalars(program, loop, local)
        if scalars:
            wide = expand(program, scalars, scalars)[0]
            split = parallelise(wide, seen)
            if _loops(split) < _loops(program):
                return number_scalars(split, seen)
    return program


def _scalars(program: Program, loop: Loop, local: Mapping[str, BlockLocal]) -> dict[str, BlockLocal]:
    """The scalars of each iteration of a loop of maps, when their versions take less than what is there anyway."""
    if not all(isinstance(s, Map) for s in loop.body) or not any(s.domain for s in loop.body if isinstance(s, Map)):
        return {}
    largest = max(a.bytes for a in program.arrays.values())
    found = {n: replace(b, path=b.path[-1:]) for n, b in local.items()
             if b.block == id(loop.body[0]) and not program.arrays[n].shape}
    room = sum((loop.range.trips or largest) * program.arrays[n].bytes for n in found)
    return found if room < largest else {}


def _loops(program: Program) -> int:
    return sum(isinstance(s, Loop) for s in statements(program.body))
