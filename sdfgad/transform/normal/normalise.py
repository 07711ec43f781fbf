"""Bring a parsed program to the form the reverse sweep accepts."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from sdfgad.ir.expr import Index, Load
from sdfgad.ir.index import Elem, Ix
from sdfgad.ir.program import Array, Block, If, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import all_writes, children, expr_reads, range_elems, with_children
from sdfgad.names import numbered
from sdfgad.transform.normal.extrema import apart_from_before

_INTEGER = np.dtype(np.int64)
_BOOL = np.dtype(bool)


def normalise(program: Program) -> Program:
    """Every statement object stands once; conditions on data are recorded in flags; loop bounds are not written inside;
    what was there before an extremum is compared with it (`extrema.py`).

    if x[i] > 0: s    ->   flag = x[i] > 0 ; if flag: s
    for j in 0:n[0]: n[0] = ...    ->   bound = n[0] ; for j in 0:bound: n[0] = ...
    """
    work = _Normaliser(dict(program.arrays))
    body = work.block(program.body)
    return program.but(body=body, arrays=work.arrays)


class _Normaliser:
    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays

    def scalar(self, stem: str, dtype: np.dtype, stmt: Stmt) -> Array:
        name = numbered(stem, self.arrays)
        self.arrays[name] = Array(name, (), dtype, source=stmt.source)
        return self.arrays[name]

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            out += apart_from_before(stmt, out, self.arrays) or self.statement(stmt)
        return tuple(out)

    def statement(self, stmt: Stmt) -> list[Stmt]:
        inner = [self.block(b) for b in children(stmt)]
        if isinstance(stmt, If) and expr_reads(stmt.cond):
            flag = self.scalar("flag", _BOOL, stmt)
            keep = Map((), (Store(flag.name, (), stmt.cond),), stmt.source)
            return [keep, If(Load(flag.name, (), _BOOL), inner[0], inner[1], stmt.source)]
        if isinstance(stmt, Loop):
            return self.loop(replace(stmt, body=inner[0]))
        return [with_children(stmt, inner)] if inner else [replace(stmt)]

    def loop(self, stmt: Loop) -> list[Stmt]:
        changed = all_writes(stmt.body)
        if not any(e.array in changed for e in range_elems(stmt.range)):
            return [stmt]
        before: list[Stmt] = []

        def hoist(bound: Ix) -> Ix:
            if not any(e.array in changed for e in bound.elems):
                return bound
            held = self.scalar("bound", _INTEGER, stmt)
            before.append(Map((), (Store(held.name, (), Index(bound, _INTEGER)),), stmt.source))
            return Ix((((Elem(held.name, ()),), 1),))

        r = stmt.range
        held_range = replace(r, start=hoist(r.start), stop=hoist(r.stop))
        return [*before, replace(stmt, range=held_range)]
