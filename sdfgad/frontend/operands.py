"""Operands wait for each other: what later ones bind anew, earlier ones do not see (`o.v + o.step()`)."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache

from sdfgad.frontend.containers.classes import own_class
from sdfgad.frontend.state.context import Context, held
from sdfgad.frontend.state.frames import CallFrame
from sdfgad.frontend.state.references import references
from sdfgad.frontend.state.values import ListValue, Record, Value, contained
from sdfgad.frontend.syntax.liveness import load_names

_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.BoolOp, ast.IfExp)
"""What calls nothing, unless it is of objects of classes that say what it is."""


@lru_cache(maxsize=65536)
def calls(node: ast.AST) -> bool:
    """Whether a function may be called in an expression: attributes may be properties."""
    return isinstance(node, (ast.Call, ast.Attribute)) or any(map(calls, ast.iter_child_nodes(node)))


@lru_cache(maxsize=65536)
def _operated_on(node: ast.AST) -> frozenset[str]:
    """The names in an expression with operators."""
    return frozenset(load_names(node)) if any(isinstance(n, _OPERATIONS) for n in ast.walk(node)) else frozenset()


def _may_call(ctx: Context, node: ast.AST) -> bool:
    """Whether an expression runs code of the user's, as far as can be told before it is evaluated."""
    if calls(node):
        return True
    for name in _operated_on(node):
        frame: CallFrame | None = ctx.frame
        while frame is not None and name not in frame.names:
            frame = frame.enclosing
        if frame is not None and any(own_class(part) for part in contained(frame.names[name])):
            return True
    return False


def waiting(ctx: Context, value: Value, *later: ast.AST | None) -> AbstractContextManager[None]:
    """Within, other operands are evaluated while `value` waits: its containers are not written anew."""
    called = any(node is not None and _may_call(ctx, node) for node in later)
    return held(ctx, value) if called and _only_here(ctx, value) else nullcontext()


def in_turn(ctx: Context, nodes: Sequence[ast.expr], made: Callable[[ast.expr], Value]) -> list[Value]:
    """What is made of expressions from left to right."""
    last = next((k for k in range(len(nodes) - 1, 0, -1) if _may_call(ctx, nodes[k])), 0)
    values: list[Value] = []
    wait: list[Value] = []
    with held(ctx, wait) if last else nullcontext():
        for k, node in enumerate(nodes):
            values.append(made(node))
            if k < last and _only_here(ctx, values[-1]):
                wait.append(values[-1])
    return values


def _only_here(ctx: Context, value: Value) -> bool:
    """Whether the containers of a value have to be held: lists and objects with a name show what becomes of them."""
    return bool(references(value)) and not (isinstance(value, (ListValue, Record)) and any(
        value is part for _, _, known in ctx.values(False) for part in contained(known)))
