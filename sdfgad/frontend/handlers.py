"""`try` around what the classes of values decide, an attribute or a key that may not be there, and what data do."""
from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial

from sdfgad.errors import SdfgadError, UnsupportedError
from sdfgad.frontend.branches.branches import run_branches
from sdfgad.frontend.elements.caught import NUMBER, Watch, passed
from sdfgad.frontend.elements.elementwise import BOOL
from sdfgad.frontend.loops.exits import guarded
from sdfgad.frontend.state.context import EXITS, Context, Raised, restore_contents
from sdfgad.frontend.state.values import RunText
from sdfgad.frontend.static.ignored import CHANGES
from sdfgad.frontend.syntax.liveness import assigned, has_exit
from sdfgad.ir import expr
from sdfgad.ir.expr import Load, const
from sdfgad.ir.walk import all_writes

_OF_CLASSES = (AttributeError, LookupError, TypeError, ImportError, NameError, StopIteration, Warning)
"""What a run cannot raise of itself: translation has found the attribute, key or name, and the class of each value; an
index is inside of its array in every run, or outside, or refused; and it warns of nothing."""
_OF_DATA = (ValueError, ArithmeticError, AssertionError, RuntimeError)
"""What may be raised where data say so: by `raise` and `assert`, matrices, Python's numbers; and classes of users."""
_HELP = "check the values with if or np.where: which errors a run has is only known then"


def run_try(ctx: Context, stmt: ast.Try) -> None:
    """A `try` statement: its body, and what the handler does where the body cannot be run in Python either."""
    passed_on = bool(stmt.handlers) and all(map(_passes_on, stmt.handlers))
    handlers = [] if passed_on else [(h, _kinds(ctx, h)) for h in stmt.handlers]
    by_data = any(not issubclass(k, _OF_CLASSES) for _, kinds in handlers for k in kinds)
    if stmt.finalbody or not stmt.handlers or stmt.orelse and has_exit(stmt.body) and not by_data:
        raise ctx.refuse("a try statement with finally, or with else behind a body that may be left", "", "SG102")
    caught = tuple(k for _, kinds in handlers for k in kinds if k is not Exception)
    frame, depth = ctx.frame, len(ctx.builder.regions)
    try:
        (_attempt if by_data else _run_known)(ctx, stmt, [kinds for _, kinds in handlers], stmt.body)
    except UnsupportedError as error:
        found = ctx.raised
        here = found is not None and found.refusal is error and found.frame is frame and found.depth == depth
        if found is None or not here or not _certain(stmt.body, found):
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
    if not by_data:
        ctx.execute(ctx, stmt.orelse)


def _run_known(ctx: Context, stmt: ast.Try, kinds: Sequence[tuple[type[Exception], ...]], body: Sequence[ast.stmt]
               ) -> None:
    """A body of which translation knows whether it raises what is caught."""
    watch = Watch(kinds, "")
    ctx.watches.append(watch)
    try:
        ctx.execute(ctx, body)
    finally:
        ctx.watches.remove(watch)
    if watch.found:
        raise ctx.refuse("a try statement that catches what its body raises when data say so", _HELP, "SG102")


def _attempt(ctx: Context, stmt: ast.Try, kinds: Sequence[tuple[type[Exception], ...]],
             rest: Sequence[ast.stmt]) -> None:
    """The rest of a body, statement by statement: one that may raise goes, with what follows, into a branch.

    s ; t   ->   raised = number of the handler for what s raises ; if raised == 0: s ; t, else that handler
    """
    if not rest:
        ctx.execute(ctx, stmt.orelse)
        return
    live = ctx.frame.liveness.needed(stmt)
    watch = _looked_through(ctx, stmt, rest[0], kinds)

    def on() -> None:
        with nullcontext() if watch is None else passed(ctx, watch):
            ctx.execute(ctx, rest[:1])
        guarded(ctx, lambda: _attempt(ctx, stmt, kinds, rest[1:]), live, EXITS)

    if watch is None:
        on()
        return
    numbers = dict.fromkeys(watch.handler(f.form) for f in watch.found)
    others = [(n, partial(_run_handler, ctx, stmt.handlers[n - 1], watch, n)) for n in numbers]
    _ways(ctx, watch, [(0, on), *others], live)


def _looked_through(ctx: Context, stmt: ast.Try, part: ast.stmt, kinds: Sequence[tuple[type[Exception], ...]]
                    ) -> Watch | None:
    """What a statement of the body may raise, found by doing it ahead without a trace; None if that is nothing."""
    frame, builder, back = ctx.frame, ctx.builder, ctx.mark()
    names, contents, shared, returned = dict(frame.names), ctx.changeable(), builder.shared, len(frame.returned)
    known, start = builder.arrays.keys() - {w.raised for w in ctx.watches}, len(builder.blocks[-1])
    branched = frame.branched
    watch = Watch(kinds, builder.declare((), NUMBER, "raised").name)
    builder.store(watch.raised, (), const(0, NUMBER))
    ctx.watches.append(watch)
    try:
        with ctx.at(part):
            builder.source = ctx.here if ctx.here is not None and not frame.quiet else builder.source
            _look(ctx, part)
        builder.flush()
    finally:
        ctx.watches.remove(watch)
    if not watch.found:
        back()
        return None
    frame.names, builder.shared, frame.branched = names, shared, branched
    del frame.returned[returned:]
    restore_contents(contents)
    changed = [builder.label(a) for a in sorted(all_writes(tuple(builder.blocks[-1][start:])) & known)]
    changed += [repr(n) for n in assigned([part]) if not isinstance(part, _SIMPLE) and any(
        n in frame.liveness.at_handler[h] for h in stmt.handlers)]
    if changed:
        with ctx.at(part):
            raise ctx.refuse(f"a statement that may change {changed[0]} before it raises what a handler catches",
                             "bind it behind the try statement, or put this into the loop", "SG102")
    return watch


def _look(ctx: Context, part: ast.stmt) -> None:
    """Evaluate what a statement evaluates before it changes something."""
    if not isinstance(part, _SIMPLE):
        ctx.execute(ctx, [part])
        return
    parts = [] if part.value is None else [part.value]
    if isinstance(part, ast.AugAssign):
        old = copy.copy(part.target)
        old.ctx = ast.Load()
        parts = [ast.copy_location(ast.BinOp(old, part.op, part.value), part)]
    elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
        call = part.value
        changes = isinstance(call.func, ast.Attribute) and call.func.attr in CHANGES
        parts = [*call.args, *(k.value for k in call.keywords)] if changes else parts
    elif isinstance(part, ast.Assign):
        parts += [t.slice for t in part.targets if isinstance(t, ast.Subscript)]
    for node in parts:
        ctx.evaluate(ctx, node)


def _run_handler(ctx: Context, handler: ast.ExceptHandler, watch: Watch, number: int) -> None:
    """The body of a handler."""
    ctx.handled.append([f for f in watch.found if watch.handler(f.form) == number])
    if handler.name is not None:
        ctx.frame.names[handler.name] = RunText("{" + handler.name + "}")
    ctx.execute(ctx, handler.body)
    ctx.frame.names.pop(handler.name or "", None)
    ctx.handled.pop()


def _ways(ctx: Context, watch: Watch, ways: Sequence[tuple[int, Callable[[], None]]], live: frozenset[str]) -> None:
    """The way for the number that a watch has found."""
    (number, first), *others = ways
    if not others:
        first()
        return
    here = expr.call("eq", Load(watch.raised, (), NUMBER), const(number, NUMBER), dtype=BOOL)
    run_branches(ctx, here, first, lambda: _ways(ctx, watch, others, live), live)


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler tells somebody and lets the exception go on."""
    *told, last = handler.body
    return isinstance(last, ast.Raise) and last.exc is None and all(isinstance(s, ast.Expr) for s in told)


def _kinds(ctx: Context, handler: ast.ExceptHandler) -> tuple[type[Exception], ...]:
    """The classes a handler is for."""
    form = Exception if handler.type is None else ctx.evaluate(ctx, handler.type)
    kinds: Sequence[type] = form if isinstance(form, tuple) else (form,)
    if not all(isinstance(k, type) and (issubclass(k, (*_OF_CLASSES, *_OF_DATA)) or _of_user(k)) for k in kinds):
        told = ast.unparse(handler.type or ast.Constant(...))
        raise ctx.refuse(f"a try statement that catches {told}", _HELP, "SG102")
    if any(issubclass(FloatingPointError, k) for k in kinds) and any(map(_makes_errors, ctx.frame.code.body)):
        raise ctx.refuse("a try statement that catches what np.errstate makes errors of", _HELP, "SG102")
    return tuple(kinds)


def _makes_errors(node: ast.AST) -> bool:
    """Whether infinite or invalid numbers are errors somewhere below."""
    return any(isinstance(n, ast.Call) and "err" in ast.unparse(n.func) and "'raise'" in ast.unparse(n)
               for n in ast.walk(node))


def _of_user(kind: type) -> bool:
    """Whether only a `raise` of a program raises this, or whether it is everything."""
    home = kind.__module__.split(".")[0]
    return kind is Exception or issubclass(kind, Exception) and home not in ("builtins", "numpy", "scipy", "sdfgad")


def _certain(body: Sequence[ast.stmt], found: Raised) -> bool:
    """Whether all that stands in the line is done once, in order: what failed in it fails in every run.

    Loops, branches and comprehensions are translated several times, or for all of their runs at once. What a loop goes
    over may give items before it fails, unless it is nothing to go over.
    """
    line = found.line
    around = [ast.Expr(s.iter) if isinstance(s, ast.For) and found.ahead and line < s.body[0].lineno else s
              for s in body if s.lineno <= line <= (s.end_lineno or line)]
    return bool(around) and all(isinstance(s, (*_SIMPLE, *_IMPORTS)) for s in around) and not any(
        isinstance(n, _REPEATED) for s in around for n in ast.walk(s))


_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_IMPORTS = (ast.Import, ast.ImportFrom)
_REPEATED = (ast.BoolOp, ast.IfExp, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp, ast.Lambda)
