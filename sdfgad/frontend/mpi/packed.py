"""Tuples, lists and dicts of numbers and arrays in lower case: one message of all that is in them.

    comm.send((k, x[:3], "text"), dest=0)   ->   Send([k, x[0], x[1], x[2]]) ; what it is made of is said before

The numbers go in the widest of their types, and come back in their own. What a rank knows before the call is said
there, too: an integer of Python is one on the other side where all that comes this way holds the same.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.elements.elementwise import as_array, describe
from sdfgad.frontend.mpi.given import flat_of, part_of_flat
from sdfgad.frontend.mpi.messages import same_type
from sdfgad.frontend.mpi.structures import Makeup, form_of
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Record, Value, ViewValue, is_number
from sdfgad.ranks import ObjectForm

_EXACT = 2**53
_INT = np.dtype(np.int64)


def makeup_of(ctx: Context, value: Value) -> Makeup | None:
    """What such a value is made of; None of a single number or array."""
    if isinstance(value, (ArrayValue, IntValue)) or is_number(value):
        return None
    return form_of(value)


def packed(ctx: Context, value: Value, form: Makeup) -> tuple[ViewValue, ObjectForm]:
    """All numbers of a value in a row, and what the others are told of them."""
    leaves = list(_leaves(value))
    kinds = [v.dtype if isinstance(v, ArrayValue) else as_array(ctx, v).dtype for v in leaves]
    dtype = np.result_type(*kinds) if leaves else np.dtype(float)
    for leaf, kind in zip(leaves, kinds, strict=True):
        exact = not isinstance(leaf, ArrayValue) or not leaf.shape or kind.itemsize < _INT.itemsize
        if dtype != kind == _INT and not (exact and (not is_number(leaf) or abs(leaf) <= _EXACT)):
            raise ctx.refuse(f"{describe(leaf)} in one message with numbers of {dtype}", "send it on its own", "SG104")
    if not leaves:
        row = as_array(ctx, ctx.invoke(ctx, np.zeros, [0], {}))
    else:
        parts = [flat_of(ctx, as_array(ctx, same_type(ctx, as_array(ctx, v), dtype))) for v in leaves]
        row = as_array(ctx, ctx.invoke(ctx, np.concatenate, [ListValue(parts, len(ctx.builder.regions))], {}))
    given = ctx.builder.fresh_copy(row, "message")
    return given, ObjectForm(dtype.str, tuple(n.const or 0 for n in given.shape), False, form)


def _leaves(value: Value) -> Iterator[Value]:
    """Every number and array of a value, in order."""
    if isinstance(value, (ArrayValue, IntValue)) or is_number(value):
        yield value
    inner = value.items.values() if isinstance(value, Record) else value.items if isinstance(value, ListValue) else \
        value if isinstance(value, (tuple, list)) else ()
    for part in inner:
        yield from _leaves(part)


def form_of_all(forms: set[ObjectForm]) -> ObjectForm | None:
    """What all messages of one way have in common; None where they are not made alike."""
    first, *others = forms
    for one in others:
        if not isinstance(first.value, Makeup) or not isinstance(one.value, Makeup):
            return None
        value = _in_common(first.value, one.value)
        if value is None or replace(first, value=None) != replace(one, value=None):
            return None
        first = replace(first, value=value)
    return first


def _in_common(one: Makeup, other: Makeup) -> Makeup | None:
    """Numbers that are not the same are read from the message."""
    if one == other:
        return one
    kinds = {_number(one), _number(other)}
    if len(kinds) == 1 and None not in kinds:
        return Makeup("number", (), (kinds.pop(),))
    if (one.kind, one.keys, len(one.parts)) != (other.kind, other.keys, len(other.parts)) or one.kind in (
            "known", "data"):
        return None
    parts = [_in_common(a, b) for a, b in zip(one.parts, other.parts, strict=True)]
    return None if None in parts else replace(one, parts=tuple(parts))


def _number(form: Makeup) -> str | None:
    """The type of a number, if this is one."""
    if form.kind == "number":
        return str(form.keys[0])
    if form.kind != "known" or not is_number(form.parts[0]):
        return None
    return np.asarray(form.parts[0]).dtype.str


def unpacked(ctx: Context, form: Makeup, row: ViewValue) -> Value:
    """The value of which the numbers have come."""
    return _taken(ctx, form, row, [0])


def _taken(ctx: Context, form: Makeup, row: ViewValue, place: list[int]) -> Value:
    """place: how many numbers have been taken."""
    if form.kind == "known":
        place[0] += 1 if is_number(form.parts[0]) else 0
        return form.parts[0]
    if form.kind in ("data", "number"):
        shape = form.parts
        part = part_of_flat(ctx, row, place[0], prod(shape))
        place[0] += prod(shape)
        return _as_before(ctx, form, part)
    parts, depth = [_taken(ctx, one, row, place) for one in form.parts], len(ctx.builder.regions)
    if form.kind == "dict":
        return Record(dict, dict(zip(form.keys, parts, strict=True)), depth)
    return tuple(parts) if form.kind == "tuple" else ListValue(parts, depth)


def _as_before(ctx: Context, form: Makeup, part: ViewValue) -> Value:
    dtype = np.dtype(form.keys[0])
    value = as_array(ctx, same_type(ctx, part, dtype))
    if form.parts:
        return ctx.invoke(ctx, np.reshape, [value, form.parts], {})
    one = subscript(ctx, value, 0)
    if dtype.kind not in "iu":
        return one
    found = to_int(ctx, ctx.builder.fresh_copy(as_array(ctx, one), "told"))
    return replace(found, dtype=None) if isinstance(found, IntValue) else found
