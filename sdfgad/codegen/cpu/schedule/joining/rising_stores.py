"""Maps that store from the last element to the first one, turned round."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.ir.expr import loads
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, Let, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import rebuild, rename_symbols

Index = tuple[Ix, ...]


def rising_stores(program: Program) -> Program:
    """map d = 0:n: x[n - 1 - d] += y[d]   ->   map d = 0:n: x[d] += y[n - 1 - d]

    For maps with one store in which no more accesses fall so than before: a sum, which loads and stores its element,
    counts as two. Statements over the same elements find each other then.
    """
    return program.but(body=rebuild(program.body, _block))


def _block(stmt: Stmt) -> Block:
    if isinstance(stmt, Map):
        for r in stmt.domain:
            stmt = _turned(stmt, r) or stmt
    return (stmt,)


def _turned(stmt: Map, r: Range) -> Map | None:
    """The map with one of its ranges counted from the other end, where the store falls along it."""
    stores = [p for p in stmt.body if isinstance(p, Store)]
    ends = {s for o in stmt.domain for s in o.start.symbols | o.stop.symbols}
    along = [i for i in stores[0].index if r.var in i.symbols]
    if len(stores) != 1 or len(along) != 1 or along[0].affine is None or along[0].coefficient(r.var) != -1 or \
            r.step != 1 or r.early or r.var in ends:
        return None
    last = along[0] + r.var
    if any(o.var in last.symbols for o in stmt.domain) or _falling(stmt, r.var, 1) > _falling(stmt, r.var, -1):
        return None
    turned = Range(r.var, last - r.stop + 1, last - r.start + 1)
    body = rename_symbols((Map((), stmt.body),), {r.var: last - ix(r.var)})[0]
    if not isinstance(body, Map):
        raise TypeError("renaming changes no statement into another")
    return replace(stmt, domain=tuple(turned if o is r else o for o in stmt.domain), body=body.body)


def _falling(stmt: Map, var: str, factor: int) -> int:
    """How often elements are loaded or stored in falling order, where `factor` in an index stands for that."""
    found: list[Index] = []
    for part in stmt.body:
        found += [n.index for n in loads(part.expr)]
        if not isinstance(part, Let):
            found += [part.index] * (1 if part.op is None else 2)
    return sum(any(i.coefficient(var) == factor for i in index) for index in found)
