"""Replace arrays that hold one number everywhere by the number."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from sdfgad.analysis.block_local import covers
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Load, rewrite
from sdfgad.ir.program import Block, If, Let, Map, Program, Stmt, Store
from sdfgad.ir.walk import children, reads, statements, with_children, writes


def propagate_constants(program: Program, seen: Iterable[str]) -> Program:
    """map i: g[i] = 1 ; map j: y[j] = g[j] * x[j]   ->   map j: y[j] = 1 * x[j]

    For transient arrays outside `seen` that one top-level map fills whole before anybody looks; the seed of a summed
    output is such an array. The filling itself is left to dead code removal.
    """
    numbers = _constant_arrays(program, frozenset(seen))
    return program.but(body=_block(program.body, numbers)) if numbers else program


def _constant_arrays(program: Program, seen: frozenset[str]) -> dict[str, Const]:
    makers: dict[str, list[Stmt]] = {}
    for stmt in statements(program.body):
        for name in writes(stmt):
            makers.setdefault(name, []).append(stmt)
    found = {}
    touched: set[str] = set()
    for stmt in program.body:
        if isinstance(stmt, Map) and len(stmt.body) == 1 and isinstance(stmt.body[0], Store):
            store = stmt.body[0]
            array = program.arrays[store.array]
            fresh = array.role == "transient" and array.name not in seen | touched and len(makers[array.name]) == 1
            if fresh and isinstance(store.expr, Const) and covers(stmt, store, array):
                found[array.name] = store.expr
        touched |= {n for s in statements((stmt,)) for n in reads(s) | writes(s)}
    return found


def _simpler(node: Expr) -> Expr | None:
    """Drop a factor of one, decide a comparison of numbers and what hangs on it."""
    if not isinstance(node, Call):
        return None
    if node.fn == "mul":
        return next((node.args[1 - k] for k in (0, 1) if algebra.is_number(node.args[k], 1)), None)
    if node.fn == "eq" and all(isinstance(a, Const) for a in node.args):
        return Const(bool(node.args[0].value == node.args[1].value), node.dtype)  # type: ignore[union-attr]
    return algebra.select(*node.args) if node.fn == "select" and isinstance(node.args[0], Const) else None


def _block(block: Block, numbers: Mapping[str, Const]) -> Block:
    return tuple(_statement(s, numbers) for s in block)


def _statement(stmt: Stmt, numbers: Mapping[str, Const]) -> Stmt:
    def put(e: Expr) -> Expr:
        return rewrite(e, lambda n: numbers.get(n.array) if isinstance(n, Load) else _simpler(n))

    if isinstance(stmt, Map):
        body = tuple(Let(p.name, put(p.expr)) if isinstance(p, Let) else Store(p.array, p.index, put(p.expr), p.op)
                     for p in stmt.body)
        return Map(stmt.domain, body, stmt.source)
    if children(stmt):
        stmt = with_children(stmt, [_block(b, numbers) for b in children(stmt)])
    return If(put(stmt.cond), stmt.then, stmt.orelse, stmt.source) if isinstance(stmt, If) else stmt
