"""Compute masks and indices where they are used."""
from __future__ import annotations

from sdfgad.analysis.block_local import block_locals
from sdfgad.analysis.elements.access import sites
from sdfgad.analysis.formula import Formula, Remake, formulas, inverse, repeatable
from sdfgad.ir.expr import Expr, Load, index_elems, loads, rewrite
from sdfgad.ir.program import Array, Block, Let, Map, Program, Stmt, Store
from sdfgad.ir.walk import range_elems, reads, rebuild, statements, writes
from sdfgad.thresholds import thresholds


def inline_masks(program: Program) -> Program:
    """map i: m[i] = x[i] > 0 ; map i: n += m[i] ; map i: s += select(m[i], x[i], 0)   ->
    map i: n += x[i] > 0 ; map i: s += select(x[i] > 0, x[i], 0)

    For temporaries without derivatives (not in `seen`) of one cheap expression per element, which has the same bits
    wherever it is computed.
    """
    while masks := _masks(program):
        program = _inlined(program, masks)
    return program


def _masks(program: Program) -> dict[str, Formula]:
    """Those that may go at once: no statement that computes or reads one of them computes or reads another."""
    local = block_locals(program, sites(program.body), program.live_out)
    using: dict[str, list[Stmt]] = {}
    for stmt in statements(program.body):
        for name in reads(stmt):
            using.setdefault(name, []).append(stmt)
    masks: dict[str, Formula] = {}
    taken: set[int] = set()
    for name, formula in formulas(program, local).items():
        readers = using.get(name, [])
        places = {id(s) for s in (*readers, *local[name].makers)}
        if not isinstance(formula, Remake) and taken.isdisjoint(places) and \
                _is_mask(program.arrays[name], formula) and 0 < len(readers) <= thresholds().mask_readers and \
                all(_may_compute(s, name, formula) for s in readers):
            masks[name] = formula
            taken |= places
    return masks


def _is_mask(array: Array, formula: Formula) -> bool:
    return array.dtype.kind in "biu" and bool(array.shape) and repeatable(formula.store.expr)


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


def _inlined(program: Program, masks: dict[str, Formula]) -> Program:
    def put(n: Expr) -> Expr | None:
        if not isinstance(n, Load) or n.array not in masks:
            return None
        formula = masks[n.array]
        return formula.at(n, formula.store.expr)

    def change(stmt: Stmt) -> Block:
        if not masks.keys().isdisjoint(writes(stmt)):
            return ()
        if not isinstance(stmt, Map) or masks.keys().isdisjoint(reads(stmt)):
            return (stmt,)
        body = tuple(Store(p.array, p.index, rewrite(p.expr, put), p.op) for p in stmt.body if isinstance(p, Store))
        return (Map(stmt.domain, body, stmt.source),)

    arrays = {n: a for n, a in program.arrays.items() if n not in masks}
    return program.but(body=rebuild(program.body, change), arrays=arrays)
