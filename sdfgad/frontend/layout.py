"""How NumPy would have an array in memory, as far as it decides what is a view and what a copy.

Containers of the program are in C order. NumPy keeps the order of what the caller passes, and of the operands of an
elementwise result: such arrays may lie in any order, and what `reshape` makes of them is a view or a copy of them. Here
it is a copy, a twin of the array: when one of the two is updated, the other may not be read. Likewise for parts whose
sizes or steps are no numbers.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from sdfgad.frontend.builder import axes
from sdfgad.frontend.context import Context
from sdfgad.frontend.strides import regroups, steps_of, turned
from sdfgad.frontend.values import ArrayValue, Lazy, Shape, ViewValue
from sdfgad.frontend.views import origins_of, remap


def needs_no_copy(ctx: Context, value: ArrayValue, shape: Shape, flat: bool = False) -> bool:
    """Whether NumPy can show these strides in that shape without moving data; `flat`: and in C order."""
    if not isinstance(value, ViewValue) or (value.shape == shape and not flat):
        return True
    if _any_order(ctx, value, flat):
        return False
    sizes, target = [n.const for n in value.shape], [n.const for n in shape]
    steps = _strides(ctx, value)
    if steps is None or None in sizes or None in target:
        return value.whole
    if flat:
        return _flags(sizes, steps).c_contiguous
    return regroups([n or 0 for n in sizes], steps, [n or 0 for n in target])


def copied_or_shared(ctx: Context, value: ArrayValue, shape: Shape) -> ViewValue:
    """A copy to be shown in `shape`; a twin of what it is made of where NumPy might have shown that itself."""
    origins = origins_of(value) if isinstance(value, ViewValue) and _undecided(ctx, value, shape) else frozenset()
    copy = ctx.builder.fresh_copy(value, "tmp")
    if origins:
        ctx.builder.shared = ctx.builder.shared.twinned(copy.view.array, origins)
    return copy


def _undecided(ctx: Context, value: ViewValue, shape: Shape) -> bool:
    """Whether nobody knows here if NumPy shows the value in that shape where it is: of arrays in any order, and of
    parts whose sizes or steps are no numbers."""
    if _any_order(ctx, value, True) or _strides(ctx, value) is None:
        return True
    return any(n.const is None for n in (*value.shape, *shape))


def order_of(ctx: Context, value: ArrayValue) -> str:
    """The order of the elements in memory, "C" or "F"."""
    view = ctx.builder.materialise(value, "tmp")
    steps, sizes = _strides(ctx, view), [n.const for n in view.shape]
    if steps is not None and None not in sizes and not _any_order(ctx, view, True):
        flags = _flags(sizes, steps)
        if flags.c_contiguous or flags.f_contiguous:
            return "C" if flags.c_contiguous else "F"
    raise ctx.refuse("the order of elements in memory of an array that may be in any", 'use order="C"', "SG101")


def as_in_memory(ctx: Context, value: ViewValue) -> ViewValue:
    """The elements in the order in which they lie in memory, for those who look at memory alone: a[i, j] -> a[j, i]
    where the second axis is the slow one. UnsupportedError for an array that may lie in any order."""
    if _any_order(ctx, value, False):
        raise ctx.refuse("a message of an array that may lie in memory in any order, as what is made of transposes",
                         "send np.ascontiguousarray of it, or receive into an array made by np.empty", "SG101")
    steps, sizes = _strides(ctx, value), [n.const for n in value.shape]
    if steps is None or None in sizes:
        return value
    flags = _flags(sizes, steps)
    if flags.c_contiguous or not flags.f_contiguous:
        return value
    turned = remap(ctx, value, value.shape[::-1], axes(value.ndim)[::-1])
    assert isinstance(turned, ViewValue)
    return turned


def _flags(sizes: list[int | None], steps: list[int]) -> Any:
    """NumPy's flags of an array with these steps."""
    return np.lib.stride_tricks.as_strided(np.empty(1, np.int8), sizes, steps).flags  # type: ignore[arg-type]


def _any_order(ctx: Context, value: ViewValue, flat: bool) -> bool:
    """Whether the array may lie in memory in another order; that of one dimension only matters to what is `flat`."""
    return value.view.array in ctx.builder.any_order and (flat or sum(n.const != 1 for n in value.shape) > 1)


def like_order(ctx: Context, model: ArrayValue) -> bool:
    """Whether an array made like this one may lie in any order."""
    if isinstance(model, Lazy) and model.stored is None and model.any_order is not None:
        return model.any_order
    position = axes(model.ndim)
    return turned(ctx.builder.arrays, ctx.builder.any_order, model.at(position), model.shape, position)


def _strides(ctx: Context, value: ViewValue) -> list[int] | None:
    """How far the flat position in the container moves with each dimension."""
    return steps_of(ctx.builder.arrays[value.view.array], value.view.index, axes(value.ndim))
