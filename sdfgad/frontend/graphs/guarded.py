"""Indices from data that nothing proves to stay inside are held inside: C++ must not touch what lies beside an array.

`x[k]` with k from data becomes `x[min(max(k, 0), n - 1)]`, but where k comes from arguments that are looked at before
each call. Conditions of DaCe read elements that only the other half of the condition protects: `i < n and x[i] > 0`.
"""
from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from sdfgad.frontend.state.accesses import MOST_LOOPS
from sdfgad.frontend.state.bounds import KnownBounds
from sdfgad.ir.expr import Expr, Load, rewrite
from sdfgad.ir.index import Ix, maximum, minimum
from sdfgad.ir.program import Array, Block, If, Let, Loop, Map, Stmt, Store, While


def guarded(block: Block, arrays: Mapping[str, Array], scope: KnownBounds, checked: Set[str],
            sure: bool = True) -> Block:
    """The statements with indices held inside. checked: arrays whose numbers are looked at before each call, as far as
    every run uses them (`sure`)."""
    work = _IndexGuard(arrays, scope, checked)
    return tuple(work.statement(s, sure) for s in block)


class _IndexGuard:
    def __init__(self, arrays: Mapping[str, Array], scope: KnownBounds, checked: Set[str]) -> None:
        self.arrays, self.scope, self.checked = arrays, scope, checked

    def statement(self, stmt: Stmt, sure: bool) -> Stmt:
        if isinstance(stmt, Map):
            depth = len(self.scope.ranges)
            self.scope.ranges.extend(stmt.domain)
            parts = tuple(self.part(p, sure) for p in stmt.body)
            del self.scope.ranges[depth:]
            return stmt if parts == stmt.body else replace(stmt, body=parts)
        if isinstance(stmt, If):
            return replace(stmt, cond=self.expr(stmt.cond, sure), then=self.block(stmt.then, False),
                           orelse=self.block(stmt.orelse, False))
        if isinstance(stmt, While):
            return replace(stmt, body=self.block(stmt.body, False))
        if isinstance(stmt, Loop):
            self.scope.ranges.append(stmt.range)
            body = self.block(stmt.body, sure and stmt.until is None)
            self.scope.ranges.pop()
            return replace(stmt, body=body)
        return stmt

    def block(self, block: Block, sure: bool) -> Block:
        return tuple(self.statement(s, sure) for s in block)

    def part(self, part: Let | Store, sure: bool) -> Let | Store:
        e = self.expr(part.expr, sure)
        if isinstance(part, Let):
            return part if e is part.expr else replace(part, expr=e)
        index = self.index(part.array, part.index, sure)
        return part if e is part.expr and index == part.index else replace(part, expr=e, index=index)

    def expr(self, e: Expr, sure: bool) -> Expr:
        def one(node: Expr) -> Expr | None:
            if isinstance(node, Load) and any(i.elems for i in node.index):
                return Load(node.array, self.index(node.array, node.index, sure), node.dtype)
            return None

        return rewrite(e, one)

    def index(self, array: str, index: tuple[Ix, ...], sure: bool) -> tuple[Ix, ...]:
        return tuple(self.inside(i, n, sure) for i, n in zip(index, self.arrays[array].shape, strict=True))

    def inside(self, i: Ix, extent: int, sure: bool) -> Ix:
        sure = sure and len(self.scope.ranges) <= MOST_LOOPS
        if not i.elems or sure and all(e.array in self.checked for e in i.elems):
            return i
        low, high = self.scope.bounds(i)
        i = i if low is not None and low >= 0 else maximum(i, 0)
        return i if high is not None and high < extent else minimum(i, extent - 1)
