"""Lists that get another one of the same name in a loop: as long as nobody else knows them, they change instead.

h = h + [y]   ->   h += [y]
h = h[-m:]    ->   del h[:-m]
"""
from __future__ import annotations

import ast

from sdfgad.frontend.containers.growing import holders
from sdfgad.frontend.containers.stacks import keep_last
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Grown, Method


def joined_name(stmt: ast.stmt) -> ast.Name | None:
    """The name of `name = name + [items]`."""
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1 or not isinstance(stmt.targets[0], ast.Name):
        return None
    target, value = stmt.targets[0], stmt.value
    joins = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and isinstance(value.right, ast.List)
    return target if joins and _is(value.left, target) else None  # type: ignore[attr-defined]


def renewed(ctx: Context, stmt: ast.Assign) -> bool:
    """Change a list that a loop makes longer instead of making another one; whether that was done."""
    target, value = stmt.targets[0], stmt.value
    owner = ctx.frame.names.get(target.id) if isinstance(target, ast.Name) else None
    if not isinstance(owner, Grown) or owner.counter is None and owner.now.begun is None or (
            holders(ctx, owner) != [(ctx.frame.names, target.id)]):  # type: ignore[attr-defined]
        return False
    if joined_name(stmt):
        ctx.invoke(ctx, Method(owner, "extend"), [ctx.evaluate(ctx, value.right)], {})  # type: ignore[attr-defined]
        return True
    last = _last(value) if isinstance(value, ast.Subscript) and _is(value.value, target) else None
    most = None if last is None or owner.now.begun is None else ctx.evaluate(ctx, last)
    if not isinstance(most, int) or most < 1:
        return False
    keep_last(ctx, owner, most)
    return True


def _is(node: ast.expr, target: ast.expr) -> bool:
    return isinstance(node, ast.Name) and isinstance(target, ast.Name) and node.id == target.id


def _last(node: ast.Subscript) -> ast.expr | None:
    """What `m` is in `name[-m:]`."""
    place = node.slice
    if not isinstance(place, ast.Slice) or place.upper is not None or place.step is not None or not (
            isinstance(place.lower, ast.UnaryOp) and isinstance(place.lower.op, ast.USub)):
        return None
    return place.lower.operand
