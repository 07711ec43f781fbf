"""Subscripts: slices as views, integer arrays as gathers and scatters."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sdfgad.frontend.arrays.gathers import gather, scatter
from sdfgad.frontend.arrays.known import known_flags
from sdfgad.frontend.arrays.masking import (
    as_masked,
    beside_columns,
    beside_mask,
    check_cast,
    is_mask,
    is_stored,
    mask_key,
    masked,
    of_columns,
    over_mask,
    places_inside,
    same_mask,
    selected,
    side,
    write_masked,
)
from sdfgad.frontend.arrays.views import as_view, basic, check_writable, scalar_of, to_int
from sdfgad.frontend.elements.elementwise import (
    as_array,
    constant_array,
    describe,
    expand,
    shape_text,
)
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    Block,
    IntValue,
    ListValue,
    Masked,
    MaskPlaces,
    SelectedColumns,
    SliceValue,
    Value,
    ViewValue,
    is_int,
    is_number,
)
from sdfgad.frontend.static.sizes import as_integer
from sdfgad.ir.index import ix


def subscript(ctx: Context, base: ArrayValue, items: Value, any_order: bool = False) -> Value:
    """`base[items]`; `any_order`: what a mask chooses may come in an order that is not NumPy's."""
    if is_at_selected(base, items):
        return _gather_selected(ctx, base, items)
    base, items = for_flag(ctx, base, items)
    parts = expand_items(ctx, base, items)
    if any(is_mask(p) for p in parts):
        return selected(ctx, base, parts, any_order)
    if any(isinstance(p, ArrayValue) for p in parts):
        return gather(ctx, base, parts)
    view = basic(ctx, base, parts)
    if not view.shape and all(is_int(p) for p in parts) and Ellipsis not in _items(items):
        return scalar_of(ctx, view)
    return view


def for_flag(ctx: Context, base: ArrayValue, items: Value) -> tuple[ArrayValue, Value]:
    """`x[flag]`, a boolean of the run   ->   `x[None][mask]`, a mask of one element"""
    if not isinstance(items, ArrayValue) or items.dtype.kind != "b" or items.shape:
        return base, items
    known = mask_key(ctx, items)
    mask = ctx.builder.fresh_copy(as_array(ctx, ctx.invoke(ctx, np.reshape, [items, (1,)], {})), "mask")
    ctx.builder.formulas.hold(mask.view.array, known, tuple(ctx.builder.regions))
    return basic(ctx, base, (None, *[slice(None)] * base.ndim)), mask


def _is_selected(base: ArrayValue, items: tuple, k: int) -> bool:
    """Whether an index was computed from places of a mask, or is places that are not a mask for its dimensions."""
    item = items[k]
    if not isinstance(item, MaskPlaces):
        return isinstance(item, Masked)
    if item.part is not None and item.mask.ndim > 1:
        return True
    widths = [i.mask.ndim if isinstance(i, MaskPlaces) else _width(i) for i in items]
    behind = any(i is Ellipsis for i in items[:k])
    first = base.ndim - sum(widths[k:]) if behind else sum(widths[:k])
    return base.shape[first:first + item.mask.ndim] != item.mask.shape


def is_at_selected(base: Value, items: Value) -> bool:
    """Whether `base[items]` takes places that a mask has selected from others."""
    given = _items(items)
    return isinstance(base, ArrayValue) and any(_is_selected(base, given, k) for k in range(len(given)))


def at_all(ctx: Context, base: ArrayValue, items: Value) -> tuple[Masked, tuple[Value, ...]]:
    """Selected places, `x[i + 1, j]` where `i, j = np.nonzero(mask)`, as those that all would take, and one of them."""
    given = [as_masked(ctx, p) for i in _items(items) for p in (
        i.parts if isinstance(i, MaskPlaces) and i.part is None else (i,))]
    lead = next(k for k, i in enumerate(given) if isinstance(i, Masked))
    chosen = [i for i in given if isinstance(i, Masked)]
    first = chosen[0]
    if any(i.values.dtype.kind == "b" for i in chosen):
        raise ctx.refuse("a condition on data selected by a mask as a mask of something else",
                         "select that with the same mask first: y[mask][condition]", "SG105")
    apart = any(not isinstance(i, Masked) and not is_int(i) for i in given[:lead + len(chosen)])
    if apart or not all(same_mask(first, i) and i.values.ndim == i.mask.ndim for i in chosen):
        raise ctx.refuse("places of a mask combined with other indices", "index the other dimensions first", "SG105")
    plain = all(isinstance(i, (Masked, slice, SliceValue)) or is_int(i) for i in given)
    inside = [places_inside(ctx, i, n) if plain and isinstance(i, Masked) else None
              for i, n in zip(given, base.shape, strict=False)] + [None] * (len(given) - base.ndim)
    return first, tuple(i if not isinstance(i, Masked) else over_mask(ctx, i, 0) if there is None else there
                        for i, there in zip(given, inside, strict=True))


def _gather_selected(ctx: Context, base: ArrayValue, items: Value) -> Masked:
    """Selected by the mask from what all places would take."""
    first, places = at_all(ctx, base, items)
    return Masked(subscript(ctx, base, places), first.mask, first.key, first.table)


def _write_selected(ctx: Context, base: ViewValue, items: Value, value: Value) -> None:
    """`base[i[mask]] = x[mask]`, one after the other: other elements stay what they are."""
    first, places = at_all(ctx, base, items)
    if isinstance(value, Masked) and not same_mask(first, value):
        raise ctx.refuse("data selected by one mask stored at places that another one selects",
                         "use the same mask variable on both sides", "SG105")
    source = value.values if isinstance(value, Masked) else as_array(ctx, value)
    parts = expand_items(ctx, base, places)
    beside = sum(isinstance(p, (slice, SliceValue)) for p in parts)
    if not isinstance(value, Masked) and source.ndim > beside:
        raise ctx.refuse("an array stored at places that a mask selects: which elements go where depends on the data",
                         "use the same mask on both sides", "SG105")
    check_cast(ctx, source, base)
    scatter(ctx, base, parts, source, first.mask)


def masked_part(ctx: Context, base: Masked, items: Value) -> Masked | SelectedColumns | Block:
    """`base[mask][:, rest]`   ->   `base[..., rest][mask]`: the dimensions beside the mask are known."""
    first, *rest = _items(items)
    if first is None and rest == [slice(None)] and base.values.ndim == base.mask.ndim == 1:
        column = subscript(ctx, base.values, (slice(None), None))
        return SelectedColumns(replace(base, values=as_array(ctx, column), table=None, own=False))
    if first == slice(None) and len(rest) == base.mask.ndim == 1 and base.values.ndim == 2 and is_mask(
            mask := _item(ctx, rest[0])):
        rows = replace(base, values=base.mask, table=None, own=False)
        return Block(base.values, rows, side(ctx, mask, base.values.shape[1]))
    chosen = [p for p in rest if isinstance(_item(ctx, p), ArrayValue)]
    moved = len(chosen) > 1 or (chosen and any(is_int(p) for p in rest))
    if first != slice(None) or Ellipsis in rest or moved or any(is_mask(_item(ctx, p)) for p in chosen):
        raise ctx.refuse("a subscript of data selected by a mask, whose length depends on the data,",
                         "take parts of the other dimensions before the mask", "SG105")
    values = subscript(ctx, base.values, (*(slice(None),) * base.mask.ndim, *rest))
    stored = is_stored(base)
    return replace(base, values=as_array(ctx, values), table=base.table if stored else None, own=stored and base.own)


def _items(items: Value) -> tuple:
    return _whole_masks(items) if isinstance(items, tuple) else (items,)


def _whole_masks(items: tuple) -> tuple:
    """`x[i, j]` where `i, j = np.nonzero(mask)`   ->   `x[mask]`"""
    found: list[Value] = []
    for k, item in enumerate(items):
        count = item.mask.ndim if isinstance(item, MaskPlaces) and item.part == 0 else 0
        here = [p for p in items[k:k + count] if isinstance(p, MaskPlaces) and p.mask is item.mask]
        if count > 1 and [p.part for p in here] == list(range(count)):
            return (*found, replace(item, part=None), *_whole_masks(items[k + count:]))
        found.append(item)
    return tuple(found)


def expand_items(ctx: Context, base: ArrayValue, items: Value) -> list[Value]:
    """One entry per dimension of the base (None for new ones), ellipsis and missing ones filled in."""
    parts = [_item(ctx, i) for i in _items(items)]
    used = sum(_width(p) for p in parts)
    if used > base.ndim:
        raise ctx.refuse(f"{used} indices for {describe(base)}", code="SG105")
    fill = [slice(None)] * (base.ndim - used)
    if any(p is Ellipsis for p in parts):
        k = next(k for k, p in enumerate(parts) if p is Ellipsis)
        if any(p is Ellipsis for p in parts[k + 1:]):
            raise ctx.refuse("an index with more than one ellipsis", code="SG105")
        if not fill and _parts_places(parts, k):
            raise ctx.refuse("an ellipsis that stands for no dimension, between places that arrays say",
                             "leave it out, or write the result's dimensions in the order that you want", "SG105")
        return _with_places(ctx, base, [*parts[:k], *fill, *parts[k + 1:]])
    return _with_places(ctx, base, [*parts, *fill])


def _parts_places(parts: Sequence[Value], k: int) -> bool:
    """Whether the dimension of the places comes first because of what stands at k, and would not without it."""
    without = [*parts[:k], *parts[k + 1:]]
    places = [j for j, p in enumerate(without) if isinstance(p, (ArrayValue, np.ndarray)) or is_int(p)]
    together = places == list(range(places[0], places[-1] + 1)) if places else False
    arrays = any(isinstance(p, (ArrayValue, np.ndarray)) for p in without)
    return arrays and together and places[0] < k <= places[-1] and len(places) < len(without)


def _with_places(ctx: Context, base: ArrayValue, parts: list[Value]) -> list[Value]:
    """The same with the places that a mask chooses in place of one whose elements are known."""
    found: list[Value] = []
    for part in parts:
        if not isinstance(part, np.ndarray):
            found.append(part)
            continue
        first = sum(map(_width, found))
        sizes = base.shape[first:first + part.ndim]
        if tuple(n.const for n in sizes) != part.shape:
            raise ctx.refuse(f"a mask of shape {shape_text(tuple(map(ix, part.shape)))} for shape {shape_text(sizes)}",
                             code="SG105")
        found += [constant_array(ctx, places) for places in np.nonzero(part)]
    return found


def _width(part: Value) -> int:
    return 0 if part is None or part is Ellipsis else part.ndim if isinstance(part, np.ndarray) or is_mask(part) else 1


def _item(ctx: Context, item: Value) -> Value:
    if isinstance(item, (list, tuple, ListValue, np.ndarray)):
        values = item.items if isinstance(item, ListValue) else item
        if all(isinstance(v, (bool, int, np.integer, np.bool_)) for v in np.asarray(values, dtype=object).ravel()):
            array = np.asarray(values)
            if array.dtype.kind == "b" and array.ndim:
                return array
            return constant_array(ctx, array if array.size else array.astype(np.int64))
        return as_array(ctx, item)
    if isinstance(item, MaskPlaces) and (item.part is None or item.mask.ndim == 1):
        return item.mask
    if isinstance(item, range):
        return constant_array(ctx, np.array(item, dtype=np.int64))
    if isinstance(item, (bool, np.bool_)):
        raise ctx.refuse("a boolean as an index", "use an if statement", "SG105")
    if isinstance(item, ArrayValue):
        if item.dtype.kind not in "iub":
            help = "convert it with astype(int)" if item.shape else as_integer(ctx, item, "convert it with int(...)")
            raise ctx.refuse(f"an index of dtype {item.dtype}", help, "SG105")
        known = known_flags(ctx, item) if item.dtype.kind == "b" and item.shape else None
        return known if known is not None else item if item.shape else to_int(ctx, item)
    if is_int(item) or item is None or item is Ellipsis or isinstance(item, (slice, SliceValue)):
        return item
    raise ctx.refuse(f"{describe(item)} as an index", code="SG105")


def write(ctx: Context, base: Value, items: Value, value: Value, any_order: bool = False) -> None:
    """`base[items] = value`; `any_order`: the value is a number, or was read with `any_order` from there."""
    if not isinstance(base, ViewValue) or base.scalar:
        number = is_number(base) or isinstance(base, IntValue) or isinstance(base, ArrayValue) and base.scalar
        told = f"an assignment into {describe(base)}", "assign to an element or slice of a named array", "SG105"
        raise ctx.raises(TypeError, *told) if number else ctx.refuse(*told)
    check_writable(ctx, base)
    if is_at_selected(base, items):
        _write_selected(ctx, base, items, value)
        return
    base, items = for_flag(ctx, base, items)
    parts = expand_items(ctx, base, items)
    if any(is_mask(p) for p in parts):
        columns = of_columns(parts)
        value = beside_columns(ctx, value) if columns and not any_order else value
        chosen, mask = beside_mask(ctx, base, parts, any_order or columns or is_number(value))
        write_masked(ctx, as_view(chosen), masked(ctx, chosen, mask), value)
        return
    if isinstance(value, Masked):
        raise ctx.refuse("data selected by a mask stored outside that mask", "use np.where", "SG105")
    source = as_array(ctx, value)
    check_cast(ctx, source, base)
    if any(isinstance(p, ArrayValue) for p in parts):
        scatter(ctx, base, parts, source)
        return
    view = as_view(basic(ctx, base, parts))
    ctx.builder.assign(view, expand(ctx, source, view.shape))
    ctx.builder.consume(source)
