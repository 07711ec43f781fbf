"""`with` statements: classes of the user's that say what happens before and after, and what changes nothing here."""
from __future__ import annotations

import ast
import contextlib
import inspect
import warnings
from collections.abc import Callable
from types import FunctionType

import numpy as np

from sdfgad.frontend.arithmetic import kept
from sdfgad.frontend.classes import by_rule, has_rule
from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import describe
from sdfgad.frontend.generators import once_yielding
from sdfgad.frontend.handlers import run_try
from sdfgad.frontend.liveness import extended, has_exit
from sdfgad.frontend.values import Value

_HELD = "%manager"
_HELP = "call what it does before and after"


def _run_as_loop(ctx: Context, stmt: ast.With, run_for: Callable[[Context, ast.For], None]) -> bool:
    """with manager(...) as x: body   ->   for x in generator(...): body

    Of what `contextlib.contextmanager` has made of a generator that yields once; whether it is one.
    """
    call = stmt.items[0].context_expr
    callee = ctx.evaluate(ctx, call.func) if isinstance(call, ast.Call) else None
    made = inspect.unwrap(callee) if isinstance(callee, FunctionType) and (
        callee.__code__.co_filename == contextlib.__file__) else None
    if made is None or callee is np.printoptions or len(stmt.items) > 1 or not isinstance(call, ast.Call):
        return False
    if has_exit(stmt.body):
        raise ctx.refuse("a with statement that is left early, of a function with contextlib.contextmanager",
                         "leave it behind its body", "SG102")
    target = stmt.items[0].optional_vars or ast.Name("what a with statement yields", ast.Store())
    given = ast.Call(ast.Constant(once_yielding(ctx, made)), call.args, call.keywords)
    loop = ctx.hints.setdefault(("manager", stmt, made), ast.fix_missing_locations(
        ast.copy_location(ast.For(target, given, stmt.body, []), stmt)))
    known = ctx.frame.liveness
    ctx.frame.liveness = extended(known, [loop], known.after[stmt])
    run_for(ctx, loop)
    return True


def _run_as_try(ctx: Context, stmt: ast.With) -> bool:
    """with contextlib.suppress(E): body   ->   try: body   except E: pass"""
    call = stmt.items[0].context_expr
    if len(stmt.items) > 1 or not isinstance(call, ast.Call) or ctx.evaluate(ctx, call.func) is not contextlib.suppress:
        return False
    if has_exit(stmt.body, (ast.Break, ast.Continue)):
        raise ctx.refuse("a with statement of contextlib.suppress that is left early", "write try and except", "SG102")
    handler = ast.ExceptHandler(ast.Tuple(call.args, ast.Load()), None, [ast.Pass()])
    attempt = ctx.hints.setdefault(("suppressed", stmt), ast.fix_missing_locations(
        ast.copy_location(ast.Try(stmt.body, [handler], [], []), stmt)))
    known = ctx.frame.liveness
    ctx.frame.liveness = extended(known, [attempt], known.after[stmt])
    run_try(ctx, attempt)
    return True


def run_with(ctx: Context, stmt: ast.With, assign: Callable[[ast.expr, Value], None],
             run_for: Callable[[Context, ast.For], None]) -> None:
    """A `with` statement: `__enter__`, the body, and `__exit__`, which also comes where the body is left early.

    An error that nobody catches ends the call, and with it what `__exit__` would have done.
    """
    if _run_as_loop(ctx, stmt, run_for) or _run_as_try(ctx, stmt):
        return
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
    if called is warnings.catch_warnings and not node.args and not node.keywords:  # type: ignore[attr-defined]
        return None, None
    if called is np.errstate or called is np.printoptions:
        return None, None if called is np.printoptions else ctx.evaluate(ctx, node)
    if called is contextlib.nullcontext and isinstance(node, ast.Call):
        given = [*node.args, *(k.value for k in node.keywords)]
        return None, ctx.evaluate(ctx, given[0]) if given else None
    manager = kept(ctx, ctx.evaluate(ctx, node))
    if not (has_rule(manager, "__enter__") and has_rule(manager, "__exit__")):
        raise ctx.refuse(f"a with statement of {describe(manager)}", _HELP, "SG102")
    return manager, by_rule(ctx, manager, "__enter__")
