"""`copy.copy` and `copy.deepcopy` of arrays, containers and objects."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import describe
from sdfgad.frontend.records import as_record
from sdfgad.frontend.settled import settled
from sdfgad.frontend.values import (
    ArrayValue,
    Function,
    IntValue,
    ListValue,
    Record,
    RunText,
    Value,
    is_number,
    like,
)

_UNCHANGING = (str, type, IntValue, RunText, Function, FunctionType, BuiltinFunctionType, ModuleType, np.ufunc,
               np.dtype, range, slice)
_OWN_WAYS = ("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")


def shallow(ctx: Context, x: Value) -> Value:
    """`copy.copy(x)`."""
    return _copy(ctx, x, lambda part: part)


def deep(ctx: Context, x: Value) -> Value:
    """`copy.deepcopy(x)`: what is in two places of `x` is one thing in its copy, too."""
    seen: dict[int, tuple[Value, Value]] = {}

    def inside(part: Value) -> Value:
        if id(part) not in seen:
            seen[id(part)] = (part, _copy(ctx, part, inside))
        return seen[id(part)][1]

    return inside(x)


def _copy(ctx: Context, x: Value, inside: Callable[[Value], Value]) -> Value:
    if x is None or is_number(x) or isinstance(x, _UNCHANGING) or isinstance(x, ArrayValue) and x.scalar:
        return x
    if isinstance(x, (ArrayValue, np.ndarray)):
        return ctx.invoke(ctx, np.copy, [x], {})
    if isinstance(x, ListValue):
        return ListValue([inside(v) for v in x.items], len(ctx.builder.regions), x.kind)
    if isinstance(x, tuple):
        return like(x, [inside(v) for v in x])
    if isinstance(x, partial):
        return partial(x.func, *(inside(a) for a in x.args), **{k: inside(v) for k, v in x.keywords.items()})
    if isinstance(x, dict):
        x = as_record(ctx, x)
    if isinstance(x, Record) and not any(_is_own(x.form, name) for name in _OWN_WAYS):
        return Record(x.form, {k: inside(v) for k, v in settled(ctx, x).items()}, len(ctx.builder.regions))
    raise ctx.refuse(f"a copy of {describe(x)}", "make it with its class", "SG102")


def _is_own(form: type, name: str) -> bool:
    """Whether a class written in Python says itself how it is copied."""
    held: Any = inspect.getattr_static(form, name, None)
    return isinstance(held, FunctionType)
