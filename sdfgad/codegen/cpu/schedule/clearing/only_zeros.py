"""Temporaries that never hold anything but zeros."""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Load, index_elems, rewrite
from sdfgad.ir.program import Map, Program, Stmt, Store
from sdfgad.ir.walk import expr_reads, range_elems, reads, rebuild, statements, writes
from sdfgad.transform.clearing.clearings import is_zero
from sdfgad.transform.dropping.dead import without_dead_code


def drop_zeros(program: Program) -> Program:
    """map i: z[i] = 0 ; map i: y[i] = z[i] + x[i]   ->   map i: y[i] = x[i]

    For temporaries that maps alone touch, and clear.
    """
    zeros = _zeros(program, program.live_out)
    if not zeros:
        return program
    body = rebuild(program.body, lambda s: (_without(s, zeros),))
    return without_dead_code(program.but(body=body), {*program.live_out, *program.arguments})


def _zeros(program: Program, keep: Collection[str]) -> set[str]:
    maps = [s for s in statements(program.body) if isinstance(s, Map)]
    stores = [p for m in maps for p in m.body if isinstance(p, Store)]
    filled = {p.array for p in stores if not is_zero(p)}
    cleared = {p.array for p in stores if is_zero(p)} - filled - {*keep, *program.arguments, *program.live}
    read = {n for m in maps for p in m.body for n in expr_reads(p.expr)} & cleared
    places = {e.array for m in maps for r in m.domain for e in range_elems(r)}
    places |= {e.array for m in maps for p in m.body for e in index_elems(p.expr)}
    places |= {e.array for p in stores for i in p.index for e in i.elems}
    others = {n for s in statements(program.body) if not isinstance(s, Map) for n in reads(s) | writes(s)}
    return {n for n in read - places - others
            if program.arrays[n].role == "transient" and program.arrays[n].dtype.kind in "fc"}


def _without(stmt: Stmt, zeros: set[str]) -> Stmt:
    def simpler(e: Expr) -> Expr | None:
        if isinstance(e, Load):
            return algebra.zero(e.dtype) if e.array in zeros else None
        if isinstance(e, Call) and e.fn in ("add", "sub") and any(algebra.is_number(a, 0) for a in e.args):
            return (algebra.add if e.fn == "add" else algebra.sub)(*e.args)
        return None

    if not isinstance(stmt, Map) or zeros.isdisjoint(n for p in stmt.body for n in expr_reads(p.expr)):
        return stmt
    return replace(stmt, body=tuple(replace(p, expr=rewrite(p.expr, simpler)) for p in stmt.body))
