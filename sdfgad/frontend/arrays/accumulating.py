"""`ufunc.at`: several contributions to one element count, each of them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.gathers import Gather, nest, plan_gather, store_at
from sdfgad.frontend.arrays.indexing import at_all, expand_items
from sdfgad.frontend.arrays.masking import as_masked, check_cast, is_mask, same_mask
from sdfgad.frontend.arrays.views import as_view, basic, check_writable, remap, template
from sdfgad.frontend.elements.elementwise import as_array, convert, describe, expand, select
from sdfgad.frontend.state.builder import axes, cast
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Masked, MaskPlaces, SliceValue, Value, ViewValue
from sdfgad.ir.index import ix


def accumulation(op: str, ufunc: np.ufunc) -> Callable[..., None]:
    """The rule of `ufunc.at`."""

    def rule(ctx: Context, a: Value, indices: Value, b: Value) -> None:
        if not isinstance(a, ViewValue) or a.scalar:
            raise ctx.refuse(f"numpy.{ufunc.__name__}.at on {describe(a)}", "pass an array", "SG105")
        check_writable(ctx, a)
        if ufunc is np.divide and a.dtype.kind not in "fc":
            raise ctx.refuse(f"a quotient stored in an array of dtype {a.dtype}", "NumPy refuses it", "SG104")
        value = b
        if ufunc in (np.subtract, np.divide):
            value = ctx.invoke(ctx, np.negative, [b], {}) if ufunc is np.subtract else ctx.invoke(
                ctx, np.divide, [1, b], {})
        indices = tuple(_places(ctx, i) for i in (indices if isinstance(indices, tuple) else (indices,)))
        if any(isinstance(i, (MaskPlaces, Masked)) for i in indices):
            indices, value = _else_nothing(ctx, a, indices, as_masked(ctx, value), op)
        source = as_array(ctx, value)
        _check_kind(ctx, source, a, op)
        _accumulate(ctx, a, indices, source, op)

    return rule


def _places(ctx: Context, item: Value) -> Value:
    """A mask as the places that it selects."""
    return ctx.invoke(ctx, np.nonzero, [item], {}) if is_mask(item) else item


def _else_nothing(ctx: Context, target: ViewValue, items: tuple[Value, ...],
                  value: Value, op: str) -> tuple[tuple[Value, ...], ArrayValue]:
    """Places that a mask selects as those that all would take, and what is added there; where the mask is off a number
    that changes no element."""
    first, places = at_all(ctx, target, items)
    if isinstance(value, Masked) and not same_mask(first, value):
        raise ctx.refuse("data selected by one mask added at places that another one selects",
                         "use the same mask variable on both sides", "SG105")
    source = value.values if isinstance(value, Masked) else as_array(ctx, value)
    beside = sum(isinstance(p, (slice, SliceValue)) for p in expand_items(ctx, target, places))
    if source.ndim > beside if not isinstance(value, Masked) else source.ndim != first.mask.ndim + beside:
        raise ctx.refuse("an array added at places that a mask selects: which elements go where depends on the data",
                         "select it with the same mask", "SG105")
    _check_kind(ctx, source, target, op)
    mask = remap(ctx, first.mask, (*first.mask.shape, *(ix(1),) * beside), axes(first.mask.ndim))
    source = convert(ctx, source, target.dtype)
    return places, select(ctx, mask, source, neutral(op, target.dtype))


def _check_kind(ctx: Context, value: ArrayValue, target: ViewValue, op: str) -> None:
    """What is added has to be of the array's dtype: NumPy adds in a wider one, and then cuts every sum. Of integers,
    sums and products are the same either way."""
    check_cast(ctx, value, target)
    whole = target.dtype.kind in "iu" and value.dtype.kind in "iub"
    if whole and (op in "+*" or value.weak):
        return
    if not np.can_cast(value.dtype, target.dtype, "safe" if whole else "same_kind"):
        raise ctx.refuse(f"numbers of dtype {value.dtype} added, one by one, to an array of dtype {target.dtype}",
                         "convert one of them", "SG104")


def neutral(op: str, dtype: np.dtype) -> Any:
    """What changes nothing: 0 of sums, 1 of products, the least or largest number of an extremum."""
    if op in "+*":
        return dtype.type(op == "*")
    if dtype.kind in "fc":
        return dtype.type(-np.inf if op == "max" else np.inf)
    if dtype.kind == "b":
        return dtype.type(op == "min")
    return dtype.type(getattr(np.iinfo(dtype), "min" if op == "max" else "max"))


def _accumulate(ctx: Context, target: ViewValue, items: Value, value: ArrayValue, op: str) -> None:
    """`np.add.at(target, items, value)`: the contributions may come in any order, but for products: of these a
    derivative needs what was there before, one by one."""
    parts = expand_items(ctx, target, items)
    if not any(isinstance(p, ArrayValue) for p in parts):
        target = as_view(basic(ctx, target, parts))
        plan = Gather(target.shape, lambda p: p, range(0), frozenset(), True)
    else:
        plan = plan_gather(ctx, target, parts)
    spread = expand(ctx, value, plan.shape)
    if target.view.array in (spread.reads | plan.sources):
        spread = ctx.builder.materialise(spread, "tmp")
    if op == "*":
        element, dims = template(spread), () if plan.distinct else tuple(plan.arrays)
        ctx.builder.consume(value)
        nest(ctx, dims, plan, lambda at: store_at(ctx, target, plan, element, at, "mul"))
        return
    domain, position = ctx.builder.domain(plan.shape)
    e = cast(spread.at(position), target.dtype)
    ctx.builder.consume(value)
    ctx.builder.store(target.view.array, target.view.at(plan.index(position)), e, domain, op)
