"""Arrays joined along an axis."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sdfgad.arrays import native
from sdfgad.frontend.arrays.casting import check_casting
from sdfgad.frontend.arrays.views import remap
from sdfgad.frontend.elements.elementwise import as_array, expand, promote, same_size, shape_text
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.functions.shaping import axis_number, elements_of, expand_dims, reshaped
from sdfgad.frontend.state.attempts import of_sizes
from sdfgad.frontend.state.builder import axes
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Grown, Value
from sdfgad.ir.index import ix


def concatenate(ctx: Context, arrays: Value, axis: Value = 0, dtype: Value = None,
                casting: str = "same_kind") -> Value:
    if isinstance(arrays, (ArrayValue, Grown)):
        return _joined_rows(ctx, as_array(ctx, arrays), axis, dtype)
    parts = [as_array(ctx, v) for v in items_of(ctx, arrays)]
    if axis is None:
        parts, axis = [reshaped(ctx, p, (elements_of(p.shape),)) for p in parts], 0
    if not parts or any(p.ndim != parts[0].ndim or not p.shape for p in parts):
        raise ctx.refuse("arrays of different dimensions joined", code="SG103")
    where = axis_number(ctx, axis, parts[0].ndim)
    total = ix(0)
    for part in parts:
        total = total + part.shape[where]
    shape = (*parts[0].shape[:where], total, *parts[0].shape[where + 1:])
    _check_sizes(ctx, parts, where)
    kind = promote(ctx, parts) if dtype is None else _kind(ctx, parts, dtype, casting)
    target = ctx.builder.view(ctx.builder.declare(shape, kind, ctx.label or "joined"), shape)
    start = ix(0)
    for part in parts:
        extents = (*shape[:where], part.shape[where], *shape[where + 1:])
        index = tuple(i + start if k == where else i for k, i in enumerate(axes(len(shape))))
        place = remap(ctx, target, extents, index)
        ctx.builder.assign(place, expand(ctx, part, extents))  # type: ignore[arg-type]
        ctx.builder.consume(part)
        start = start + part.shape[where]
    return target


def _check_sizes(ctx: Context, parts: Sequence[ArrayValue], where: int) -> None:
    """Refuse arrays that differ along other axes than that along which they are joined, as NumPy does."""
    for part in parts[1:]:
        for k, pair in enumerate(zip(parts[0].shape, part.shape, strict=True)):
            if k != where and not same_size(ctx, *pair):
                raise of_sizes(pair, ctx.refuse(
                    f"arrays of shapes {shape_text(parts[0].shape)} and {shape_text(part.shape)} joined",
                    "all sizes but those along the axis have to be equal", "SG103"))


def _kind(ctx: Context, parts: Sequence[ArrayValue], dtype: Value, casting: str) -> np.dtype:
    kind = native(np.dtype(dtype))
    for part in parts:
        check_casting(ctx, part, kind, casting)
    return kind


def _joined_rows(ctx: Context, rows: ArrayValue, axis: Value, dtype: Value) -> Value:
    """The items of an array one behind the other along an axis of theirs."""
    if rows.ndim < 2:
        raise ctx.refuse("numbers joined as if they were arrays", "use np.stack", "SG103")
    where = 0 if axis is None else axis_number(ctx, axis, rows.ndim - 1)
    moved = ctx.invoke(ctx, np.moveaxis, [rows, 0, where], {})
    shape = moved.shape if axis is not None else (elements_of(moved.shape),)
    if axis is not None:
        shape = (*shape[:where], shape[where] * shape[where + 1], *shape[where + 2:])
    return ctx.builder.fresh_copy(reshaped(ctx, moved, shape), ctx.label or "joined", dtype and native(np.dtype(dtype)))


def stack(ctx: Context, arrays: Value, axis: Value = 0) -> Value:
    if isinstance(arrays, (ArrayValue, Grown)):
        return ctx.invoke(ctx, np.copy, [ctx.invoke(ctx, np.moveaxis, [as_array(ctx, arrays), 0, axis], {})], {})
    parts = [as_array(ctx, v) for v in items_of(ctx, arrays)]
    where = axis_number(ctx, axis, parts[0].ndim + 1)
    kind = np.result_type(*(p.dtype for p in parts))  # numbers of Python's are arrays of their own dtype here
    return concatenate(ctx, tuple(expand_dims(ctx, p, where) for p in parts), where, kind)
