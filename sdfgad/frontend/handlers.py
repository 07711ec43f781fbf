"""`try` around what the classes of values decide, not the data: an attribute or a key that may not be there."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from sdfgad.errors import SdfgadError, UnsupportedError
from sdfgad.frontend.context import Context
from sdfgad.frontend.liveness import has_exit

_OF_CLASSES = (AttributeError, KeyError, TypeError, ImportError, NameError)
"""What a run cannot raise of itself: translation has found the attribute, key or name, and the class of each value."""
_HELP = "check the values with if or np.where: which errors a run has is only known then"


def run_try(ctx: Context, stmt: ast.Try) -> None:
    """A `try` statement: its body, and what the handler does where the body cannot be run in Python either."""
    passed_on = bool(stmt.handlers) and all(map(_passes_on, stmt.handlers))
    handlers = [] if passed_on else [(h, _kinds(ctx, h)) for h in stmt.handlers]
    if stmt.finalbody or not stmt.handlers or stmt.orelse and has_exit(stmt.body):
        raise ctx.refuse("a try statement with finally, or with else behind a body that may be left", "", "SG102")
    caught = tuple(k for _, kinds in handlers for k in kinds)
    frame, depth, failures = ctx.frame, len(ctx.builder.regions), len(ctx.builder.failures)
    try:
        ctx.execute(ctx, stmt.body)
    except UnsupportedError as error:
        found = ctx.raised
        here = found is not None and found.refusal is error and found.frame is frame and found.depth == depth
        if found is None or not here or not _certain(stmt.body, error.line):
            raise
        handler = next((h for h, kinds in handlers if issubclass(found.kind, kinds)), None)
        if handler is None:
            raise
        ctx.execute(ctx, handler.body)
        return
    except caught as error:
        if isinstance(error, SdfgadError):
            raise
        told = f"a try statement whose body raises {type(error).__name__} itself"
        raise ctx.refuse(told, "use if", "SG102") from error
    if any(issubclass(getattr(f, "form", Exception), caught) for f in ctx.builder.failures[failures:]):
        raise ctx.refuse("a try statement that catches what its body raises when data say so", _HELP, "SG102")
    ctx.execute(ctx, stmt.orelse)


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler tells somebody and lets the exception go on."""
    *told, last = handler.body
    return isinstance(last, ast.Raise) and last.exc is None and all(isinstance(s, ast.Expr) for s in told)


def _kinds(ctx: Context, handler: ast.ExceptHandler) -> tuple[type[Exception], ...]:
    """The classes a handler is for."""
    form = None if handler.type is None else ctx.evaluate(ctx, handler.type)
    kinds: Sequence[type] = form if isinstance(form, tuple) else (form,)
    if not all(isinstance(k, type) and issubclass(k, _OF_CLASSES) for k in kinds):
        what = "everything" if handler.type is None else ast.unparse(handler.type)
        raise ctx.refuse(f"a try statement that catches {what}", _HELP, "SG102")
    return tuple(kinds)


def _certain(body: Sequence[ast.stmt], line: int) -> bool:
    """Whether all that stands in this line is done once, in order: what failed in it fails in every run.

    Loops, branches and comprehensions are translated several times, or for all of their runs at once.
    """
    around = [s for s in body if s.lineno <= line <= (s.end_lineno or line)]
    return bool(around) and all(isinstance(s, _SIMPLE) and not any(isinstance(n, _REPEATED) for n in ast.walk(s))
                                for s in around)


_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_REPEATED = (ast.BoolOp, ast.IfExp, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp, ast.Lambda)
