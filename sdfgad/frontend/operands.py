"""Operands wait for each other: what calls in later ones bind anew, earlier ones do not see (`o.v + o.step()`)."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache

from sdfgad.frontend.context import Context, held
from sdfgad.frontend.references import references
from sdfgad.frontend.values import ListValue, Record, Value, contained


@lru_cache(maxsize=65536)
def calls(node: ast.AST) -> bool:
    """Whether a function may be called in an expression."""
    return isinstance(node, ast.Call) or any(map(calls, ast.iter_child_nodes(node)))


def waiting(ctx: Context, value: Value, *later: ast.AST | None) -> AbstractContextManager[None]:
    """Within, other operands are evaluated while `value` waits: its containers are not written anew."""
    called = any(node is not None and calls(node) for node in later)
    return held(ctx, value) if called and _only_here(ctx, value) else nullcontext()


def in_turn(ctx: Context, nodes: Sequence[ast.expr], made: Callable[[ast.expr], Value]) -> list[Value]:
    """What is made of expressions from left to right."""
    last = max((k for k, node in enumerate(nodes) if calls(node)), default=0)
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
        value is part for _, _, known in ctx.values() for part in contained(known)))
