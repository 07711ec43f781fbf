"""`with` statements: classes of the user's that say what happens before and after, and what changes nothing here."""
from __future__ import annotations

import ast
import contextlib
import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType

import numpy as np

from sdfgad.frontend.containers.classes import by_rule, has_rule
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.handlers import run_try
from sdfgad.frontend.merging.generators import once_yielding
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Function, Opaque, Value
from sdfgad.frontend.syntax.liveness import extended, has_exit

_HELD = "%manager"
_LEFT_WITH = "what is returned from a with statement"
_HELP = "call what it does before and after"


def _run_as_loop(ctx: Context, stmt: ast.With, run_for: Callable[[Context, ast.For], None]) -> bool:
    """with manager(...) as x: body; return e   ->   for x in generator(...): body; r = e
                                                     return r

    Of what `contextlib.contextmanager` has made of a generator that yields once; whether it is one.
    """
    call = stmt.items[0].context_expr
    made = _generator_of(ctx, call)
    if made is None or not isinstance(call, ast.Call):
        return False
    returns = has_exit(stmt.body)
    body = _noted(stmt.body) if returns else stmt.body
    if has_exit(body):
        raise ctx.refuse("a with statement that is left early, of a function with contextlib.contextmanager",
                         "leave it behind its body", "SG102")
    target = stmt.items[0].optional_vars or ast.Name("what a with statement yields", ast.Store())
    given = ast.Call(generator := ast.Constant(None), call.args, call.keywords)
    key = ("manager", stmt, made.code if isinstance(made, Function) else made)
    if key not in ctx.hints:
        behind = [ast.Return(ast.Name(_LEFT_WITH, ast.Load()))] if returns else []
        ctx.hints[key] = [ast.fix_missing_locations(ast.copy_location(s, stmt)) for s in (
            ast.For(target, given, body, []), *behind)], generator
    (loop, *behind), generator = ctx.hints[key]
    generator.value = once_yielding(ctx, made)  # one that is defined inside is another in every call
    known = ctx.frame.liveness
    ctx.frame.liveness = extended(known, [loop, *behind], known.after[stmt])
    run_for(ctx, loop)
    ctx.execute(ctx, behind)
    return True


@dataclass(frozen=True, eq=False)
class Managing(Opaque):
    """What `contextlib.contextmanager` makes of a generator function that is defined inside of the program."""

    function: Function


def _generator_of(ctx: Context, call: ast.expr) -> FunctionType | Function | None:
    """The generator function behind a call of what `contextlib.contextmanager` has made of it."""
    callee = ctx.evaluate(ctx, call.func) if isinstance(call, ast.Call) else None
    if isinstance(callee, Managing):
        return callee.function
    if not isinstance(callee, FunctionType) or callee.__code__.co_filename != contextlib.__file__:
        return None
    return None if callee is np.printoptions else inspect.unwrap(callee)


def _noted(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """What a `return` at the end of a block gives, under a name: it is returned behind what comes behind the block."""
    *first, last = body
    if isinstance(last, ast.Return):
        made: ast.stmt = ast.Assign([ast.Name(_LEFT_WITH, ast.Store())], last.value or ast.Constant(None))
    elif isinstance(last, ast.With):
        made = ast.With(last.items, _noted(last.body))
    else:
        return [*body]
    return [*first, ast.copy_location(made, last)]


def _one_by_one(ctx: Context, stmt: ast.With) -> ast.With:
    """with a, b: body   ->   with a: with b: body"""
    if len(stmt.items) < 2:
        return stmt
    key = ("one by one", stmt)
    if key not in ctx.hints:
        inner = ast.copy_location(ast.With(stmt.items[1:], stmt.body), stmt)
        ctx.hints[key] = ast.copy_location(ast.With(stmt.items[:1], [inner]), stmt)
    outer: ast.With = ctx.hints[key]
    after = ctx.frame.liveness.after
    after.update(dict.fromkeys((outer, outer.body[0]), after[stmt]))
    return outer


def _run_as_try(ctx: Context, stmt: ast.With) -> bool:
    """with contextlib.suppress(E): body   ->   try: body   except E: pass"""
    call = stmt.items[0].context_expr
    if not isinstance(call, ast.Call) or ctx.evaluate(ctx, call.func) is not contextlib.suppress:
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
    stmt = _one_by_one(ctx, stmt)
    if _run_as_loop(ctx, stmt, run_for) or _run_as_try(ctx, stmt):
        return
    frame, item = ctx.frame, stmt.items[0]
    held = f"{_HELD} {sum(name.startswith(_HELD) for name in frame.names)}"
    manager, entered = _begun(ctx, item.context_expr)
    frame.names[held] = manager  # its data are needed behind the body
    if item.optional_vars is not None:
        assign(item.optional_vars, kept(ctx, entered))
    ctx.execute(ctx, stmt.body)
    manager = frame.names.pop(held)
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
