"""`with` statements: classes of the user's that say what happens before and after, and what changes nothing here."""
from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable

import numpy as np

from sdfgad.frontend.arithmetic import kept
from sdfgad.frontend.classes import by_rule, has_rule
from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import describe
from sdfgad.frontend.values import Value

_HELD = "%manager"
_HELP = "call what it does before and after"


def run_with(ctx: Context, stmt: ast.With, assign: Callable[[ast.expr, Value], None]) -> None:
    """A `with` statement: `__enter__`, the body, and `__exit__`, which also comes where the body is left early.

    An error that nobody catches ends the call, and with it what `__exit__` would have done.
    """
    frame = ctx.frame
    level = sum(name.startswith(_HELD) for name in frame.names)
    for k, item in enumerate(stmt.items):
        manager, entered = _begun(ctx, item.context_expr)
        frame.names[f"{_HELD} {level + k}"] = manager  # its data are needed behind the body
        if item.optional_vars is not None:
            assign(item.optional_vars, kept(ctx, entered))
    ctx.execute(ctx, stmt.body)
    for k in reversed(range(len(stmt.items))):
        manager = frame.names.pop(f"{_HELD} {level + k}")
        if manager is not None:
            swallows = by_rule(ctx, manager, "__exit__", None, None, None)
            if swallows is not None and swallows is not False:
                raise ctx.refuse("a with statement whose __exit__ may stop an error", _HELP, "SG102")


def _begun(ctx: Context, node: ast.expr) -> tuple[Value, Value]:
    """What stands behind `with`, None where nothing has to be done behind the body, and what it gives."""
    called = ctx.evaluate(ctx, node.func) if isinstance(node, ast.Call) else None
    if called is np.errstate or called is np.printoptions:
        return None, None if called is np.printoptions else ctx.evaluate(ctx, node)
    if called is contextlib.nullcontext and isinstance(node, ast.Call):
        given = [*node.args, *(k.value for k in node.keywords)]
        return None, ctx.evaluate(ctx, given[0]) if given else None
    manager = kept(ctx, ctx.evaluate(ctx, node))
    if called is contextlib.suppress or not (has_rule(manager, "__enter__") and has_rule(manager, "__exit__")):
        raise ctx.refuse(f"a with statement of {describe(manager)}", _HELP, "SG102")
    return manager, by_rule(ctx, manager, "__enter__")
