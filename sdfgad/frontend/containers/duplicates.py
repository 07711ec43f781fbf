"""`copy.copy` and `copy.deepcopy` of arrays, containers and objects."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from sdfgad.frontend.containers.records import as_record, make_dict
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
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
from sdfgad.frontend.static.settled import settled

_UNCHANGING = (str, type, IntValue, RunText, Function, FunctionType, BuiltinFunctionType, ModuleType, np.ufunc,
               np.dtype, range, slice)
_OWN_WAYS = ("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__",
             "__getattr__")


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


def fields_of(ctx: Context, owner: Value) -> tuple[Field[Any], ...]:
    """`dataclasses.fields(owner)`, of an object or a class."""
    form = _form(owner)
    if form is None:
        raise ctx.raises(TypeError, "must be called with a dataclass type or instance", code="SG102")
    return fields(form)


def of_dataclass(ctx: Context, obj: Value) -> bool:
    """`dataclasses.is_dataclass(obj)`."""
    return _form(obj) is not None


def as_dict(ctx: Context, obj: Value, *, dict_factory: Value = dict) -> Value:
    """`dataclasses.asdict(obj)`: copies of the fields by name, of dataclasses inside, too."""
    def made(items: list[tuple[str, Value]]) -> Value:
        whole = make_dict(ctx, items)
        return whole if dict_factory is dict else ctx.invoke(ctx, dict_factory, [ListValue(items, whole.depth)], {})

    return _taken_apart(ctx, obj, made)


def as_tuple(ctx: Context, obj: Value, *, tuple_factory: Value = tuple) -> Value:
    """`dataclasses.astuple(obj)`: copies of the fields in their order, of dataclasses inside, too."""
    def made(items: list[tuple[str, Value]]) -> Value:
        values = tuple(v for _, v in items)
        return values if tuple_factory is tuple else ctx.invoke(
            ctx, tuple_factory, [ListValue(list(values), len(ctx.builder.regions))], {})

    return _taken_apart(ctx, obj, made)


def _taken_apart(ctx: Context, obj: Value, made: Callable[[list[tuple[str, Value]]], Value]) -> Value:
    """An object of a dataclass as what is made of its fields. Nothing is remembered: each place has its own copy."""
    if isinstance(obj, type) or _form(obj) is None:
        raise ctx.raises(TypeError, "should be called on dataclass instances", code="SG102")

    def inside(x: Value) -> Value:
        form = _form(x)
        if not isinstance(x, type) and form is not None:
            return made([(f.name, inside(ctx.invoke(ctx, getattr, [x, f.name], {}))) for f in fields(form)])
        container = isinstance(x, (ListValue, tuple, dict)) or isinstance(x, Record) and issubclass(x.form, dict)
        return _copy(ctx, x, inside) if container else deep(ctx, x)

    return inside(obj)


def _form(value: Value) -> Any:
    """The dataclass that an object is of, or that a class is; None of others, as of values of the run."""
    form = value.form if isinstance(value, Record) else value if isinstance(value, type) else type(value)
    return form if is_dataclass(form) and not form.__module__.startswith("sdfgad.frontend.") else None


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
