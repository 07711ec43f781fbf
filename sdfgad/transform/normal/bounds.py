"""Conditions on loop variables as bounds of the loops."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from sdfgad.ir.expr import Call, Expr
from sdfgad.ir.index import Ix, ix, maximum, minimum
from sdfgad.ir.program import If, Loop, Program, Range, Stmt
from sdfgad.ir.walk import rebuild
from sdfgad.transform.normal.split_loops import integer_of, split_loops

_EXCESS: Mapping[str, tuple[int, int]] = MappingProxyType({"ge": (1, 0), "gt": (1, -1), "le": (-1, 0), "lt": (-1, -1)})
"""`a op b` for integers is `sign * (a - b) + shift >= 0`."""


def bound_loops(program: Program) -> Program:
    """for w = 0:n: for a = 0:m: if t - w >= 0: x   ->   for w = 0:min(n, t + 1): for a = 0:m: x

    For loops that hold nothing but the condition, or loops around it that it does not depend on.

    for i = 0:n: if i > 0: x else: y; z   ->   for i = 0:1: y; z   for i = 1:n: x; z

    For loops over single elements.
    """
    program = split_loops(program)
    return program.but(body=rebuild(program.body, lambda s: (_statement(s),)))


def _statement(stmt: Stmt) -> Stmt:
    while isinstance(stmt, Loop) and (better := _bounded(stmt)) is not None:
        stmt = better
    return _lifted(stmt) if isinstance(stmt, Loop) else stmt


def _condition(loop: Loop) -> tuple[If, tuple[Ix, ...]] | None:
    """The statement `if i >= 0 and ...: ...` that is all a loop does, and its left-hand sides."""
    inner = loop.body[0] if len(loop.body) == 1 else None
    if not isinstance(inner, If) or inner.orelse or loop.until is not None:
        return None
    sides = _sides(inner.cond)
    return None if sides is None else (inner, sides)


def _sides(cond: Expr) -> tuple[Ix, ...] | None:
    """The affine indices that a condition says are not negative; None when it says more than that."""
    if isinstance(cond, Call) and cond.fn == "and":
        parts = [_sides(a) for a in cond.args]
        return None if any(p is None for p in parts) else tuple(i for p in parts for i in p or ())
    if not isinstance(cond, Call) or cond.fn not in _EXCESS:
        return None
    left, right = (integer_of(a) for a in cond.args)
    if left is None or right is None:
        return None
    sign, shift = _EXCESS[cond.fn]
    return ((left - right) * sign + shift,)


def _bounded(loop: Loop) -> Loop | None:
    """The loop with one part of the condition moved into its bounds."""
    found = _condition(loop)
    if found is None or abs(loop.range.step) != 1:
        return None
    inner, sides = found
    chosen = next((i for i in sides if abs(i.coefficient(loop.range.var) or 0) == 1), None)
    if chosen is None or inner.orelse:
        return None
    rest = [a for a in _conjuncts(inner.cond) if (_sides(a) or ())[0] != chosen]
    body = inner.then
    if rest:
        cond = rest[0]
        for other in rest[1:]:
            cond = Call("and", (cond, other), inner.cond.dtype)
        body = (replace(inner, cond=cond),)
    return replace(loop, range=_narrowed(loop.range, chosen), body=body)


def _conjuncts(cond: Expr) -> list[Expr]:
    if isinstance(cond, Call) and cond.fn == "and":
        return [c for a in cond.args for c in _conjuncts(a)]
    return [cond]


def _narrowed(r: Range, side: Ix) -> Range:
    """The values of a range where `side`, which counts its variable by one, is not negative."""
    if side.coefficient(r.var) == 1:  # var >= low
        low = ix(r.var) - side
        return replace(r, start=maximum(r.start, low)) if r.step > 0 else replace(r, stop=maximum(r.stop, low - 1))
    high = side + r.var  # var <= high
    return replace(r, stop=minimum(r.stop, high + 1)) if r.step > 0 else replace(r, start=minimum(r.start, high))


def _lifted(loop: Loop) -> Stmt:
    """for a: if c: x   ->   if c: for a: x, for conditions that do not depend on a."""
    found = _condition(loop)
    if found is None or any(loop.range.var in i.symbols for i in found[1]):
        return loop
    return replace(found[0], then=(replace(loop, body=found[0].then),))
