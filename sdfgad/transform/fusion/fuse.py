"""Compute a temporary where it is used, when that is one place, or a few beside each other."""
from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sdfgad.analysis.cost import operations_of
from sdfgad.analysis.formula import inverse
from sdfgad.ir.expr import Expr, Load, index_elems, loads, moved, rewrite
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Block, Let, Map, Program, Stmt, Store
from sdfgad.ir.walk import expr_reads, in_indices, reads, rebuild_blocks, statements, writes
from sdfgad.thresholds import thresholds

# How large an expression may get in which a value stands more than once: a chain of such values doubles at every link,
# as `select(a > b, a, b)` does.


def fuse_pointwise(program: Program, operations: int = 0) -> Program:
    """map i: t[i] = f(i) ; map j: y[j] = g(t[j])   ->   map j: y[j] = g(f(j))

    For temporaries (not in `seen`) that one statement of the same block reads, each element once. What f reads must not
    change in between. operations: a statement may read an element more often, if computing it each time takes so many
    operations at the most.

    map i: t[i] = f(i) ; map j: y[j] = t[j + 1] - t[j]   ->   map j: y[j] = f(j + 1) - f(j)
    """
    while True:
        uses = _uses(program.body, program.live_out, program)
        body = rebuild_blocks(program.body, partial(_fused, uses=uses, operations=operations))
        if body == program.body:
            return program
        program = program.but(body=body)


def _uses(body: Block, seen: frozenset[str], program: Program) -> dict[str, int]:
    """Temporaries with one writing and one reading statement."""
    readers: dict[str, int] = {}
    writers: dict[str, int] = {}
    for stmt in statements(body):
        for name in reads(stmt):
            readers[name] = readers.get(name, 0) + 1
        for name in writes(stmt):
            writers[name] = writers.get(name, 0) + 1
    return {n: 1 for n, a in program.arrays.items()
            if a.role == "transient" and n not in seen and writers.get(n) == 1 and readers.get(n) == 1}


def _fused(work: list[Stmt], uses: Mapping[str, int], operations: int) -> Block:
    """The rule inside one block."""
    k = 0
    while k < len(work):
        found = _consumer(work, k, uses, operations)
        if found is None:
            k += 1
            continue
        position, fused = found
        work[position] = fused
        del work[k]
    return tuple(work)


def _consumer(work: list[Stmt], k: int, uses: Mapping[str, int], operations: int) -> tuple[int, Map] | None:
    """The statement the value made by `work[k]` can move into, after the move."""
    maker = work[k]
    if not isinstance(maker, Map) or len(maker.body) != 1 or not isinstance(maker.body[0], Store):
        return None
    store = maker.body[0]
    if store.array not in uses or store.op is not None:
        return None
    place = inverse(maker, store)
    for position in range(k + 1, len(work)):
        stmt = work[position]
        if store.array in reads(stmt):
            fused = _inlined(stmt, store, place, operations) if place is not None and isinstance(stmt, Map) else None
            return None if fused is None else (position, fused)
        changed = {n for s in statements((stmt,)) for n in writes(s)}
        if not changed.isdisjoint(expr_reads(store.expr)) or any(store.array in reads(s) for s in statements((stmt,))):
            return None
    return None


def _inlined(stmt: Map, store: Store, place: Mapping[str, tuple[int, Ix]], operations: int) -> Map | None:
    """The reading map with the maker's expression in place of the loads."""
    found = {n for part in stmt.body for n in loads(part.expr) if n.array == store.array}
    often = len(found) > 1 and len(found) * operations_of((store.expr,)) > operations
    if not found or often or in_indices(stmt, store.array):
        return None
    table: dict[Expr, Expr] = {}
    for use in found:
        e = table[use] = moved(store.expr, {var: use.index[k] - offset for var, (k, offset) in place.items()})
        if not _each_once(stmt, use) or not _undisturbed(stmt, e):
            return None

    def put(expr: Expr) -> Expr:
        return rewrite(expr, table.get)

    body = tuple(Let(p.name, put(p.expr)) if isinstance(p, Let) else Store(p.array, p.index, put(p.expr), p.op)
                 for p in stmt.body)
    if any(_too_large(old.expr, new.expr, e) for old, new in zip(stmt.body, body, strict=True)):
        return None
    return Map(stmt.domain, body, stmt.source)


def _too_large(old: Expr, new: Expr, put: Expr) -> bool:
    """Whether an expression in which `put` stands more than once has become too long to write out, or too deep for
    those who look into it level by level."""
    return new.depth > thresholds().fused_depth and new.depth > old.depth or \
        new.size > thresholds().fused_nodes and new.size > old.size + put.size - 1


def _each_once(stmt: Map, use: Load) -> bool:
    """Every domain variable appears alone, with factor one, in some dimension of the load."""
    alone = {next(iter(i.symbols)) for i in use.index if len(i.symbols) == 1 and i.affine is not None}
    return all(r.var in alone for r in stmt.domain) and not any(i.elems for i in use.index)


def _undisturbed(stmt: Map, e: Expr) -> bool:
    """The map writes nothing the expression reads, other than the very element it writes.

    An accumulation may come back to an element, which then has another value.
    """
    targets = {p.array: p.index for p in stmt.body if isinstance(p, Store)}
    if any(a.array in targets for a in index_elems(e)):
        return False
    alone = len(stmt.body) == 1 and all(p.op is None for p in stmt.body if isinstance(p, Store))
    return all(n.array not in targets or (n.index == targets[n.array] and alone) for n in loads(e))
