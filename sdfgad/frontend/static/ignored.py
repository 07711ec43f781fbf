"""Calls without a part in any result: text for people, which is left out, and clocks, whose readings stay apart."""
from __future__ import annotations

import ast
import logging
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

from sdfgad.callers import warn
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Method, Reading, Value

_LEVELS = frozenset({"debug", "info", "warning", "error", "critical", "exception", "log"})
_FILTERS = (warnings.simplefilter, warnings.filterwarnings, warnings.resetwarnings)
CHANGES = frozenset({
    "append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "sort", "reverse", "fill", "put",
    "resize", "partition", "at", "copyto", "fill_diagonal", "putmask", "place", "put_along_axis", "itemset"})
"""Functions and methods that do something beside giving a result."""


def is_ignored(callee: Value) -> bool:
    """Whether a call only tells somebody something: `print`, loggers, `warnings.warn`, writing to the terminal."""
    if any(callee is f for f in (print, warnings.warn, *_FILTERS)):  # objects may have an equality of their own
        return True
    name, owner = getattr(callee, "__name__", ""), getattr(callee, "__self__", None)
    if isinstance(owner, (logging.Logger, logging.LoggerAdapter)):
        return name in _LEVELS
    if isinstance(callee, FunctionType) and callee.__module__ == "logging":
        return name in _LEVELS
    return owner is not None and any(owner is f for f in (sys.stdout, sys.stderr)) and name in ("write", "flush")


def ignore(ctx: Context, node: ast.Call, callee: Value) -> None:
    """Leave out a call; what its arguments do beside giving a value is done."""
    if callee in _FILTERS:
        if any(isinstance(n, ast.Constant) and n.value == "error" for n in ast.walk(node)):
            raise ctx.refuse("warnings as errors", "compare with numbers, or look at the result", "SG102")
        return
    for part in (*node.args, *(k.value for k in node.keywords)):
        if not all(_harmless(ctx, n) for n in ast.walk(part)):
            ctx.evaluate(ctx, part)
    if ctx.here is not None and not ctx.builder.quiet:
        ctx.ignored[f"{getattr(callee, '__name__', 'a call')} (line {ctx.here.line})"] = None


def _harmless(ctx: Context, node: ast.AST) -> bool:
    """Whether nobody notices that an expression has not been evaluated."""
    if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
        return False
    if not isinstance(node, ast.Call):
        return True
    if any(k.arg == "out" for k in node.keywords):
        return False
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, (ast.Constant, ast.JoinedStr)):
        return True  # text.format(...)
    if isinstance(node.func, ast.Attribute) and isinstance(ctx.evaluate(ctx, node.func.value), ArrayValue):
        return node.func.attr not in CHANGES
    callee = ctx.evaluate(ctx, node.func)
    if isinstance(callee, Method):
        return callee.name not in CHANGES
    library = (getattr(callee, "__module__", None) or "").split(".")[0] in ("numpy", "math", "time")
    return getattr(callee, "__name__", "") not in CHANGES and (
        library or isinstance(callee, (BuiltinFunctionType, type, np.ufunc)))


_BARS: Mapping[str, str] = MappingProxyType({
    "tqdm": "tqdm", "trange": "tqdm", "tqdm_notebook": "tqdm", "tnrange": "tqdm", "track": "rich", "prange": "numba"})
"""What is looped over through something that shows how far it is, or by threads: names, and their packages."""


def is_loop_of(callee: Value) -> bool:
    """Whether a call gives what it is given, to be looped over."""
    name = getattr(callee, "__name__", None)
    return isinstance(name, str) and name in _BARS and (
        str(getattr(callee, "__module__", "")).split(".")[0] == _BARS[name])


def looped(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """What is looped over; nobody is told how far it is."""
    name = callee.__name__
    if name != "prange" and ctx.here is not None and not ctx.builder.quiet:
        ctx.ignored[f"{name} (line {ctx.here.line})"] = None
    if name.endswith("range"):
        return ctx.invoke(ctx, range, arguments, {})
    items = [*arguments[:1], *(keywords[n] for n in ("iterable", "sequence") if n in keywords)]
    if not items or items[0] is None:
        raise ctx.refuse(f"a {name} of nothing", f"loop over it: for item in {name}(items)", "SG102")
    return items[0]


def tell(ignored: Mapping[str, None], name: str) -> None:
    """One warning for all calls that have been left out, at the line that asked for the derivative."""
    if not ignored:
        return
    warn(f"{name}: a compiled function prints and logs nothing, these calls are left out: {', '.join(ignored)}",
         UserWarning)


def clock(ctx: Context, *arguments: Value) -> Value:
    """`time.perf_counter()` and the like: nothing that is computed with it may reach a result."""
    return Reading()


def of_readings(callee: Value, arguments: Any) -> bool:
    """Whether a function of numbers or text gets the reading of a clock: what it gives is one as well."""
    own = isinstance(callee, (FunctionType, MethodType, Method, ModuleType)) or type(callee).__module__.startswith(
        "sdfgad.frontend.")
    return not own and any(isinstance(a, Reading) for a in arguments)


CLOCKS: Mapping[Any, Callable[..., Value]] = MappingProxyType(dict.fromkeys((
    time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns,
    time.process_time, time.process_time_ns, time.thread_time, time.thread_time_ns), clock))
"""Clocks, with their rule."""
