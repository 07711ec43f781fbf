"""Products that are guarded against 0 * inf: without the guard where their other factors are finite, and with fewer
choices elsewhere."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import numpy as np

from sdfgad.analysis.rounding import unsigned
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.cost import map_work
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Load, rewrite, walk
from sdfgad.ir.program import If, Map, Stmt
from sdfgad.ir.walk import expr_reads, writes
from sdfgad.thresholds import thresholds


def without_guards(frame: Frame, stmt: Map) -> Stmt:
    """map i: x[i] = select(y[i] == 0, 0, k * y[i])
    ->   if isfinite(k): map i: x[i] = k * y[i]  else: map i: x[i] = select(y[i] == 0, 0, k * y[i])

    For numbers that are the same at all points of the map. The result is the same but for the sign of a zero, which
    simplifications of sums do not keep either.
    """
    if map_work(stmt, frame.bounds) < thresholds().second_body:
        return stmt
    factors: dict[Expr, None] = {}
    same = same_everywhere(stmt)
    plain = replace(stmt, body=tuple(replace(p, expr=rewrite(p.expr, lambda e: _product(e, same, factors)))
                                     for p in stmt.body))
    if plain == stmt:
        return stmt
    checks: list[Expr] = [Call("isfinite", (k,), np.dtype(bool)) for k in factors]
    return If(reduce(algebra.both, checks), (plain,), (stmt,), stmt.source) if checks else plain


def merge_guards(stmt: Map) -> Map:
    """map i: x[i] = select(c[i], select(y[i] == 0, 0, k[i] * y[i]), y[i])
    ->   map i: x[i] = select(c[i] and y[i] != 0, k[i] * y[i], y[i])

    One choice for two: a zero is left as it is, with its sign. Where a choice says that a number is positive, it is its
    own absolute value.
    """
    return replace(stmt, body=tuple(replace(p, expr=rewrite(p.expr, _one_choice)) for p in stmt.body))


def _one_choice(node: Expr) -> Expr | None:
    """A choice that does without another one, or an absolute value, inside."""
    if not isinstance(node, Call) or node.fn != "select":
        return None
    test, value, other = node.args
    if isinstance(test, Call) and test.fn == "gt" and algebra.is_number(test.args[1], 0):
        positive = test.args[0]
        alike = Call("abs", (positive,), positive.dtype)
        value = rewrite(value, lambda e: positive if e == alike else None)
    guarded = _guarded(value)
    if guarded is not None and unsigned(guarded[0]) == unsigned(other):
        base, value = guarded
        test = algebra.both(test, Call("ne", (base, algebra.number(0, base.dtype)), np.dtype(bool)))
    return replace(node, args=(test, value, other)) if (test, value) != node.args[:2] else None


def same_everywhere(stmt: Map) -> Callable[[Expr], bool]:
    """Whether an expression has the same value at all points, wherever it is computed."""
    changed = writes(stmt)

    def same(e: Expr) -> bool:
        return changed.isdisjoint(expr_reads(e)) and all(_is_number(n) for n in walk(e))

    return same


def _is_number(e: Expr) -> bool:
    """Whether a node is a number of floating point, or computed from such."""
    return e.dtype.kind == "f" and (isinstance(e, (Call, Const)) or (isinstance(e, Load) and not e.index))


def _product(node: Expr, same: Callable[[Expr], bool], factors: dict[Expr, None]) -> Expr | None:
    """The product that a choice guards; adds to `factors` what has to be finite for it."""
    guarded = _guarded(node)
    if guarded is None:
        return None
    base, value = guarded
    found = _others(value, unsigned(base), same)
    if found is None or any(isinstance(k, Const) and not np.isfinite(k.value) for k in found):
        return None
    factors.update(dict.fromkeys(k for k in found if not isinstance(k, Const)))
    return value


def _guarded(node: Expr) -> tuple[Expr, Expr] | None:
    """What is compared with zero, and what a choice takes unless it is zero; zero otherwise."""
    if not isinstance(node, Call) or node.fn != "select" or node.dtype.kind != "f":
        return None
    test, zero, value = node.args
    if not algebra.is_number(zero, 0) or not isinstance(test, Call) or test.fn != "eq" or \
            test.args[0].dtype != node.dtype or not algebra.is_number(test.args[1], 0):
        return None
    return test.args[0], value


def _others(value: Expr, base: Expr, same: Callable[[Expr], bool]) -> tuple[Expr, ...] | None:
    """The factors beside `base` of a product, or of its negative; None where it is something else."""
    value = unsigned(value)
    if value == base:
        return ()
    if not isinstance(value, Call) or value.fn != "mul" or value.dtype != base.dtype:
        return None
    for one, other in (value.args, value.args[::-1]):
        found = _others(one, base, same) if same(other) else None
        if found is not None:
            return (*found, other)
    return None
