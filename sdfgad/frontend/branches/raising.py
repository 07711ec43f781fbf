"""raise and assert on values known at run time only: the call stops there, and Python raises the exception."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sdfgad.frontend.arrays.grown import as_data
from sdfgad.frontend.elements.elementwise import BOOL, as_array, describe
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.functions.arithmetic import known_truth, truth_value
from sdfgad.frontend.merging.none_or import asked, tell
from sdfgad.frontend.state.chosen_texts import IN_BRANCHES, ChosenText
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    Grown,
    Iterated,
    ListValue,
    NoneOr,
    Record,
    RunText,
    Unbound,
    Value,
    contained,
    like,
)
from sdfgad.frontend.static.run_texts import known
from sdfgad.frontend.syntax.liveness import always_exits, has_exit
from sdfgad.frontend.syntax.surroundings import LIBRARIES
from sdfgad.ir.expr import Expr, call
from sdfgad.ir.program import Failure


def always_raises(body: Sequence[ast.stmt]) -> bool:
    """Whether every way through a block ends in raise."""
    return always_exits(body) and not has_exit(body)


def opposite(condition: Expr) -> Expr:
    return call("not", condition, dtype=BOOL)


def run_raise(ctx: Context, stmt: ast.Raise) -> None:
    """A `raise` statement. In the body of a library function ValueError says what is refused; others are raised."""
    if stmt.exc is None and ctx.handled:
        fail(ctx, _handled(ctx))
        return
    if stmt.exc is None or ctx.frame.quiet and _refuses(stmt.exc):
        why = ast.unparse(stmt.exc.args[0]) if isinstance(stmt.exc, ast.Call) and stmt.exc.args else ""
        raise ctx.refuse(f"these arguments of a library function: {why.strip(chr(39))}" if why else "a bare raise",
                         "" if why else "name the exception", "SG102")
    fail(ctx, _failure(ctx, stmt.exc))


def _handled(ctx: Context) -> Failure:
    """What a handler lets go on."""
    first, *others = ctx.handled[-1]
    if any(replace(f, source=None) != replace(first, source=None) for f in others):
        raise ctx.refuse("a bare raise of one of several exceptions", "name the exception", "SG102")
    return first


def _refuses(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ValueError"


def run_assert(ctx: Context, stmt: ast.Assert) -> None:
    """An `assert` statement."""
    test = ctx.evaluate(ctx, stmt.test)
    decided = known_truth(ctx, test)
    if decided:
        return

    def failing() -> None:
        fail(ctx, Failure(AssertionError, () if stmt.msg is None else (_argument(ctx, stmt.msg),)))

    if decided is False:
        failing()
        return
    with ctx.at(stmt.test):
        value = truth_value(ctx, test)
    condition = value.at(())
    ctx.builder.consume(value)
    ctx.builder.flush()
    raise_if(ctx, opposite(condition), failing)
    tell(ctx, stmt.test, True)


def definite(ctx: Context, value: Value) -> Value:
    """A value that is used: Python's error where it is None."""
    value = asked(value)
    if not isinstance(value, NoneOr):
        return value
    return _there(ctx, value, Failure(TypeError, ("None where a value is needed",)))


def bound(ctx: Context, name: str, value: Unbound) -> Value:
    """The value of a name that some ways bind: Python's error on others."""
    ctx.missed.append((len(ctx.frames), name))
    return _there(ctx, value, Failure(UnboundLocalError, (
        f"cannot access local variable {name!r} where it is not associated with a value",)))


def _there(ctx: Context, value: NoneOr, failure: Failure) -> Value:
    ctx.builder.check_quiet()
    ctx.builder.flush()
    raise_if(ctx, opposite(as_array(ctx, value.there).at(())), lambda: fail(ctx, failure))
    return value.value


def definite_parts(ctx: Context, value: Value) -> Value:
    """A result, of which nothing may be None in some runs alone."""
    if not any(isinstance(p, NoneOr) for p in contained(value)):
        return value
    if isinstance(value, (ListValue, Record)):
        items = value.items.items() if isinstance(value, Record) else enumerate(value.items)
        for key, item in list(items):
            value.items[key] = definite_parts(ctx, item)
        return value
    return like(value, [definite_parts(ctx, v) for v in value]) if isinstance(value, tuple) else definite(ctx, value)


def definite_arguments(ctx: Context, callee: Value, arguments: Sequence[Value],
                       keywords: Mapping[str, Value]) -> Sequence[Value]:
    """The arguments of a call: functions of a library may take None for some of them, but not for the first."""
    home = (getattr(callee, "__module__", None) or "").split(".")[0]
    if home == "numpy" or isinstance(callee, np.ufunc):
        arguments = [as_data(ctx, a) if isinstance(a, Grown) and a.counter is not None else a for a in arguments]
    if home not in LIBRARIES | {"math"} or callee in _HANDING_ON:
        return arguments
    everywhere = isinstance(callee, np.ufunc) or home == "math" or callee in _OF_NUMBERS
    made = [definite(ctx, a) if everywhere or k == 0 and home in ("numpy", "scipy") else a
            for k, a in enumerate(arguments)]
    odd = next((p for v in (*made, *keywords.values()) for p in contained(v) if isinstance(p, NoneOr) or isinstance(
        p, ChosenText) and not isinstance(v, Iterated)), None)  # an iterator's items are looked at when they are there
    if odd is not None:
        raise ctx.refuse(f"{describe(odd)} as an argument of this function", (
            "ask first whether it is None" if isinstance(odd, NoneOr) else IN_BRANCHES), "SG102")
    return made


_OF_NUMBERS = (abs, float, int, round, max, min, sum, len, range, pow)
_HANDING_ON = (list, tuple, dict, zip, enumerate, reversed, setattr, getattr, hasattr)



def _failure(ctx: Context, node: ast.expr) -> Failure:
    form = ctx.evaluate(ctx, node.func if isinstance(node, ast.Call) else node)
    if not isinstance(form, type) or not issubclass(form, Exception):
        raise ctx.refuse("a raise of something other than an exception class or a call of one",
                         "write raise ValueError('...')", "SG102")
    if not isinstance(node, ast.Call):
        return _made(ctx, Failure(form))
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        raise ctx.refuse("an exception whose arguments stand behind a star", "write them one by one", "SG102")
    return _made(ctx, Failure(form, tuple(_argument(ctx, a) for a in node.args), keywords=tuple(
        (str(k.arg), _argument(ctx, k.value)) for k in node.keywords)))


def _made(ctx: Context, failure: Failure) -> Failure:
    """A failure, where Python can make the exception."""
    try:
        failure.error()
    except TypeError as error:
        raise ctx.refuse(f"an exception that cannot be made: {error}", code="SG102") from error
    return failure


def _argument(ctx: Context, node: ast.expr) -> Value:
    """What an exception is made of: a constant, or text in which values of the run stand as they do in the source."""
    value = known(ctx, node)
    if isinstance(value, RunText):
        return value.text
    return ast.unparse(node) if value is None and not _is_none(node) else value


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
