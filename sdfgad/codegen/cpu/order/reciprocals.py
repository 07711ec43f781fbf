"""Quotients by a number that a whole map shares: products with its reciprocal, where a last digit changes nothing."""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property, reduce

import numpy as np

from sdfgad.analysis.rounding import rewrite_rounded, roundable
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.cost import map_work
from sdfgad.codegen.cpu.order.pieces import Group, Item, Kernel, kernel_frame
from sdfgad.codegen.cpu.order.unguarded import same_everywhere
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, walk
from sdfgad.ir.program import Block, If, Let, Loop, Map, Program, Stmt, Store
from sdfgad.ir.walk import children, with_children
from sdfgad.thresholds import thresholds


class Reciprocals:
    """map i: g[i] = y[i] / h
    ->   if 1 / h is a normal number: map i: g[i] = y[i] * (1 / h)  else: map i: g[i] = y[i] / h

    For what is stored into arrays whose last digit decides nothing and that are not `seen`, and where the expression
    itself decides nothing by it: `floor(y[i] / h)` stays. The product is within two units in the last place of the
    quotient; infinities, NaN and overflow are the same.
    """

    def __init__(self, program: Program, seen: Collection[str]) -> None:
        self.program = program
        self.seen = seen

    @cached_property
    def targets(self) -> frozenset[str]:
        """The arrays that products may go to; looked for only when there is a quotient."""
        return roundable(self.program, self.seen)

    def items(self, items: tuple[Item, ...], frame: Frame) -> tuple[Item, ...]:
        """The pieces of a schedule with products in place of quotients."""
        return tuple(self._item(item, frame) for item in items)

    def _item(self, item: Item, frame: Frame) -> Item:
        if isinstance(item, Group):
            return replace(item, body=self.block(frame, item.body))
        if isinstance(item, Kernel):
            return replace(item, body=self.block(kernel_frame(frame, item), item.body))
        inner = frame.inside([item.stmt.range]) if isinstance(item.stmt, Loop) else frame
        return replace(item, parts=tuple(self.items(part, inner) for part in item.parts))

    def block(self, frame: Frame, block: Block) -> Block:
        """A block that one thread runs."""
        return tuple(self._statement(frame, s) for s in block)

    def _statement(self, frame: Frame, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Map):
            return self._map(frame, stmt)
        inner = frame.inside([stmt.range]) if isinstance(stmt, Loop) else frame
        blocks = [self.block(inner, b) for b in children(stmt)]
        if isinstance(stmt, If) and _is_usual(stmt.cond):
            blocks[1] = stmt.orelse
        return with_children(stmt, blocks) if blocks else stmt

    def _map(self, frame: Frame, stmt: Map) -> Stmt:
        if map_work(stmt, frame.bounds) < thresholds().second_body or not any(_quotients(p.expr) for p in stmt.body):
            return stmt
        divisors: dict[Expr, None] = {}
        made = replace(stmt, body=tuple(self._part(stmt, p, divisors) for p in stmt.body))
        if made == stmt:
            return stmt
        checks = [_is_normal(_inverse(d)) for d in divisors if not isinstance(d, Const)]
        return If(reduce(algebra.both, checks), (made,), (stmt,), stmt.source) if checks else made

    def _part(self, stmt: Map, part: Let | Store, divisors: dict[Expr, None]) -> Let | Store:
        """A part of a map with products; adds to `divisors` what is inverted."""
        if not isinstance(part, Store) or part.array not in self.targets:
            return part
        same = same_everywhere(stmt)

        def product(node: Expr) -> Expr | None:
            if not isinstance(node, Call) or not _is_quotient(node):
                return None
            value, divisor = node.args
            if not same(divisor) or same(value) or isinstance(divisor, Const) and not _inverts(divisor):
                return None
            divisors[divisor] = None
            return algebra.mul(value, _inverse(divisor))

        return replace(part, expr=rewrite_rounded(part.expr, product))


def _is_usual(cond: Expr) -> bool:
    """Whether a condition fails only for numbers that are out of the ordinary."""
    return any(isinstance(n, Call) and n.fn == "isfinite" for n in walk(cond))


def _quotients(e: Expr) -> bool:
    return any(_is_quotient(n) for n in walk(e))


def _is_quotient(e: Expr) -> bool:
    return isinstance(e, Call) and e.fn == "div" and e.dtype.kind == "f" and all(a.dtype == e.dtype for a in e.args)


def _inverse(divisor: Expr) -> Expr:
    return algebra.div(algebra.number(1, divisor.dtype), divisor)


def _inverts(divisor: Const) -> bool:
    """Whether the reciprocal of a literal is a normal number."""
    with np.errstate(all="ignore"):
        inverse = divisor.dtype.type(1) / divisor.dtype.type(divisor.value)
    return bool(np.isfinite(inverse) and abs(inverse) >= np.finfo(divisor.dtype).tiny)


def _is_normal(inverse: Expr) -> Expr:
    """Neither zero nor denormal, infinite or NaN."""
    boolean, least = np.dtype(bool), algebra.number(np.finfo(inverse.dtype).tiny, inverse.dtype)
    return algebra.both(Call("isfinite", (inverse,), boolean),
                        Call("le", (least, Call("abs", (inverse,), inverse.dtype)), boolean))
