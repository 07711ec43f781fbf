"""Calls of functions that stay Python: a trial tells what they return, the program calls them back."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sdfgad.frontend.elements.elementwise import as_array
from sdfgad.frontend.merging.structures import form_of, leaves_of, rebuilt
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    IntValue,
    ListValue,
    Masked,
    Record,
    SelectedColumns,
    Value,
    ViewValue,
    contained,
)
from sdfgad.ir.called import ADDRESS, PYTHON, PythonCall
from sdfgad.ir.index import ix
from sdfgad.ir.program import FAILED, Lib, View
from sdfgad.trees import assembled, contents, is_named, leaves, mapped


def called(ctx: Context, function: Callable[..., Any], arguments: Sequence[Value], like: Any, name: str) -> Value:
    """What a function gives that is called back at run time. like: a value of the form, shapes and dtypes."""
    builder = ctx.builder
    places = [v for a in arguments for _, v in leaves_of(a)]
    operands = [_operand(ctx, v) for v in places if _is_data(v)]
    outs = [builder.declare(tuple(map(ix, np.shape(v))), np.asarray(v).dtype, "returned") for v in leaves(like)
            if _is_number(v)]
    call = PythonCall(_Run(function, _python(arguments), like, name), [_kind(ctx, v) for v in operands],
                      [(a.shape, a.dtype) for a in outs])
    failed = View(FAILED, (ix(1),), (ix("_0"),), np.dtype(np.int64))
    address = builder.constant(np.array([call.address], np.int64), ADDRESS)
    ins = (address.view, *(v.view for v in operands), failed)
    builder.flush()
    builder.emit(Lib(PYTHON, (*(a.whole for a in outs), failed), ins, {"which": len(builder.failures)}, builder.source))
    builder.failures.append(call)
    found = iter([builder.view(a, scalar=not a.shape) for a in outs])
    return _value(ctx, like, found)


def whole(ctx: Context, arguments: Sequence[Value], name: str) -> Sequence[Value]:
    """The arguments of a function with a rule of its own, which are arrays of a known length."""
    if any(isinstance(v, (Masked, SelectedColumns)) for a in arguments for v in contained(a)):
        raise ctx.refuse(f"data selected by a mask, whose length depends on the data, as an argument of {name}",
                         "give it the whole array, and select from what it returns", "SG135")
    return arguments


def ones_of(ctx: Context, arguments: Sequence[Value]) -> tuple[Any, ...]:
    """Arguments for a trial: ones of the shapes and dtypes."""
    made = _python(arguments)
    return made([np.ones(*_kind(ctx, _operand(ctx, v))) for a in arguments for _, v in leaves_of(a) if _is_data(v)])


def _is_data(value: Value) -> bool:
    return isinstance(value, (ArrayValue, IntValue))


def _is_number(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, bool, int, float, complex))


def _operand(ctx: Context, value: Value) -> ViewValue:
    return ctx.builder.materialise(as_array(ctx, value), "operand")


def _kind(ctx: Context, value: ViewValue) -> tuple[tuple[int, ...], np.dtype]:
    extents = [n.const for n in value.shape]
    if None in extents:
        raise ctx.refuse("an array whose size changes in a loop, given to a function that stays Python", code="SG135")
    return tuple(n or 0 for n in extents), value.dtype


def _python(arguments: Sequence[Value]) -> Callable[[Sequence[np.ndarray]], tuple[Any, ...]]:
    """How the arguments of the call are made of its operands."""
    forms = [form_of(a) for a in arguments]
    marks = [leaf for a in arguments for _, leaf in leaves_of(a)]

    def made(operands: Sequence[np.ndarray]) -> tuple[Any, ...]:
        rest = iter(operands)
        given = iter([_number(v, next(rest)) if _is_data(v) else v for v in marks])
        return tuple(_plain(rebuilt(form, given, 0)) for form in forms)

    return made


def _number(value: Value, array: np.ndarray) -> Any:
    """A Python number for one, one of NumPy's for those, else the array."""
    if isinstance(value, IntValue):
        return array.item() if value.dtype is None else array[()]
    return array.item() if value.weak else array[()] if value.scalar else array


def _plain(value: Value) -> Any:
    """Lists and dicts of the front end as Python's own."""
    if isinstance(value, ListValue):
        return [_plain(v) for v in value.items]
    if isinstance(value, Record):
        return assembled(value.form, {k: _plain(v) for k, v in value.items.items()})
    return tuple(map(_plain, value)) if type(value) is tuple else value


def _value(ctx: Context, like: Any, found: Iterator[Value]) -> Value:
    inside = contents(like)
    if inside is None:
        return next(found) if _is_number(like) else like
    items = {k: _value(ctx, v, found) for k, v in inside.items()}
    depth = len(ctx.builder.regions)
    if isinstance(like, tuple):
        return assembled(type(like) if is_named(type(like)) else tuple, items)
    return ListValue(list(items.values()), depth) if isinstance(like, list) else Record(type(like), items, depth)


class _Run:
    """From the operands of a call to its results."""

    def __init__(self, function: Callable[..., Any], arguments: Callable[[Sequence[np.ndarray]], tuple[Any, ...]],
                 like: Any, name: str) -> None:
        self.function, self.arguments, self.name = function, arguments, name
        self.like = [_described(v) for v in leaves(like)]
        self.form = mapped(lambda v: None, like)

    def __call__(self, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
        found = self.function(*self.arguments(operands))
        if mapped(lambda v: None, found) != self.form or [_described(v) for v in leaves(found)] != self.like:
            told = ", ".join(map(str, map(_described, leaves(found))))
            raise TypeError(f"{self.name} returned {told}, and {', '.join(map(str, self.like))} in its trial")
        return [np.asarray(v) for v in leaves(found) if _is_number(v)]


def _described(value: Any) -> Any:
    """A number or array by shape and dtype, anything else as it is."""
    return f"{np.asarray(value).dtype}{list(np.shape(value))}" if _is_number(value) else value


def tried(ctx: Context, function: Callable[..., Any], arguments: Sequence[Value], name: str) -> Any:
    """What a function returns for ones."""
    found = function(*ones_of(ctx, arguments))
    for leaf in leaves(found):
        if not _is_number(leaf) and not (leaf is None or isinstance(leaf, str)):
            raise ctx.refuse(f"{name}, which stays Python and returns a {type(leaf).__name__}",
                             "let it return numbers, arrays, or containers of them", "SG135")
    return found


def filled(like: Any, found: Any) -> Any:
    """What a rule returns, with zeros in place of None, in the dtypes of `like`."""
    inside = contents(like)
    if inside is None:
        zero = like is None or found is None
        return like if zero else np.asarray(found).astype(np.asarray(like).dtype, casting="same_kind")
    given = contents(found)
    items = {k: filled(v, None if found is None else given[k] if given is not None and k in given else found)
             for k, v in inside.items()}
    return assembled(type(like), items)


def zeros_of(ctx: Context, value: Value) -> Any:
    """Zeros like the floats in a value, None in place of everything else."""
    leaves_in = iter([np.zeros(*_kind(ctx, _operand(ctx, v))) if isinstance(v, ArrayValue) and v.dtype.kind in "fc"
                      else None for _, v in leaves_of(value)])
    return _plain(rebuilt(form_of(value), leaves_in, 0))
