"""Short axes, as those of the components of a vector, written out.

A point of a kernel finds in its own hands what has its own coordinates. With the component for a coordinate, a
statement that looks at two components looks at what other points did, and is a kernel of its own; and so is every one
around it.
"""
from __future__ import annotations

from dataclasses import replace
from math import prod

from sdfgad.ir.program import Block, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import rebuild, rename_symbols
from sdfgad.thresholds import thresholds


def components_apart(program: Program) -> Program:
    """Maps over each component alone: their iterations come in any order.

    map c = 0:2, i = 0:n: d[c, i] = 2 * s[c, i]
    ->   map i = 0:n: d[0, i] = 2 * s[0, i] ; map i = 0:n: d[1, i] = 2 * s[1, i]
    """
    def change(stmt: Stmt) -> Block:
        return _apart(stmt) if isinstance(stmt, Map) else (stmt,)

    body = rebuild(program.body, change)
    return program if body == program.body else program.but(body=body)


def _short(stmt: Map) -> tuple[Range, ...]:
    """The short axes of what a map stores; none where there is no other axis, or all together are long."""
    most = thresholds().device.components
    stores = [p for p in stmt.body if isinstance(p, Store)]
    found = tuple(r for r in stmt.domain if r.trips is not None and 0 < r.trips <= most and r.start.const is not None
                  and all(any(i.coefficient(r.var) for i in p.index) for p in stores))
    few = prod(r.trips or 0 for r in found) <= most
    return found if few and len(found) < len(stmt.domain) else ()


def _apart(stmt: Map) -> Block:
    short = _short(stmt)
    if not short:
        return (stmt,)
    r, *_ = short
    rest = replace(stmt, domain=tuple(o for o in stmt.domain if o.var != r.var))
    places = (r.start + k * r.step for k in range(r.trips or 0))
    return tuple(made for place in places for one in rename_symbols((rest,), {r.var: place})
                 if isinstance(one, Map) for made in _apart(one))
