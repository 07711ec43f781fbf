"""Boolean masks: data selected by a mask keeps its full shape, and the mask beside it."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sdfgad.frontend.arrays.views import as_view, basic, named_int, remap
from sdfgad.frontend.bodies import choosing
from sdfgad.frontend.elements.elementwise import (
    BOOL,
    INT,
    as_array,
    broadcast,
    convert,
    expand,
    int_value,
    same_size,
    select,
    shape_text,
)
from sdfgad.frontend.state.builder import axes
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    Block,
    Lazy,
    Masked,
    MaskPlaces,
    PlaceTable,
    SelectedColumns,
    SliceValue,
    Value,
    ViewValue,
    is_int,
)
from sdfgad.ir.expr import Index
from sdfgad.ir.index import Ix, ix

CHOSEN = (Masked, SelectedColumns, Block)
"""Data that a mask selects: numbers or rows, or columns, which are kept as the rows of the transpose, or both."""


def selected(ctx: Context, base: ArrayValue, parts: Sequence[Value], any_order: bool) -> Masked | SelectedColumns:
    """`base[parts]`, one of which is a mask. Columns `x[1:, mask]` are the transpose of rows."""
    columns = of_columns(parts)
    found = masked(ctx, *beside_mask(ctx, base, parts, any_order or columns))
    return SelectedColumns(found) if columns and not any_order else found


def of_columns(parts: Sequence[Value]) -> bool:
    """Whether `x[parts]` are columns that a mask of all other dimensions selects."""
    return len(parts) == 2 and isinstance(parts[0], (slice, SliceValue)) and is_mask(parts[1])


def makes_columns(values: Sequence[Value]) -> bool:
    """Whether an operation gives columns: one is there, or numbers of a mask meet a column, `w[:, None] * x[mask]`."""
    numbers = all(v.values.ndim == v.mask.ndim for v in values if isinstance(v, Masked))
    return any(isinstance(v, SelectedColumns) for v in values) or numbers and any(
        isinstance(v, ArrayValue) and v.ndim == 2 and v.shape[1].const == 1 != v.shape[0].const for v in values)


def beside_columns(ctx: Context, value: Value) -> Value:
    """What stands beside columns selected by a mask, for an operation on their rows instead."""
    if isinstance(value, SelectedColumns):
        return value.rows
    if isinstance(value, Masked) and value.mask.ndim == value.values.ndim:
        return Masked(as_array(ctx, ctx.invoke(ctx, np.expand_dims, [value.values, -1], {})), value.mask, value.key,
                      first=value.first)
    if isinstance(value, Masked) or isinstance(value, ArrayValue) and value.ndim not in (0, 2):
        raise ctx.refuse("columns selected by a mask combined with rows, or with an array that is not",
                         "select both with the same mask, or use np.where", "SG105")
    return ctx.invoke(ctx, np.transpose, [value], {}) if isinstance(value, ArrayValue) and value.ndim else value


def for_each_row(ctx: Context, value: Value, beside: int) -> Value:
    """An array of one row without that dimension: it goes with every selected row."""
    if not isinstance(value, ArrayValue) or value.ndim <= beside or any(
            n.const != 1 for n in value.shape[:value.ndim - beside]):
        return value
    lead = value.ndim - beside
    return remap(ctx, value, value.shape[lead:], (*[ix(0)] * lead, *axes(beside)))


def beside_mask(ctx: Context, base: ArrayValue, parts: Sequence[Value],
                any_order: bool) -> tuple[ArrayValue, ArrayValue]:
    """What a mask chooses from, and the mask: `x[i, mask, 1:]`   ->   `x[i, :, 1:]`, mask

    Numbers may stand on both sides of the mask, slices behind it, as the dimension of the chosen ones then comes
    first; slices before it, too, where the order does not matter.
    """
    k = next(k for k, p in enumerate(parts) if is_mask(p))
    mask, before, behind = parts[k], parts[:k], parts[k + 1:]
    before_fits = all(is_int(p) or (any_order and isinstance(p, (slice, SliceValue))) for p in before)
    if not before_fits or not all(is_int(p) or isinstance(p, (slice, SliceValue)) for p in behind):
        raise ctx.refuse("a boolean mask combined with other indices",
                         "index the other dimensions first: x[:, 1][mask]", "SG105")
    if any(p != slice(None) for p in (*before, *behind)):
        base = basic(ctx, base, (*before, *((slice(None),) * mask.ndim), *behind))
    leading = sum(1 for p in before if not is_int(p))
    return _mask_first(ctx, base, leading, mask.ndim), mask


def _mask_first(ctx: Context, base: ArrayValue, leading: int, count: int) -> ArrayValue:
    """The base with the dimensions of the mask before those that lead."""
    if not leading:
        return base
    shape = (*base.shape[leading:leading + count], *base.shape[:leading], *base.shape[leading + count:])
    places = axes(base.ndim)
    return remap(ctx, base, shape, (*places[count:count + leading], *places[:count], *places[leading + count:]))


def masked(ctx: Context, base: ArrayValue, mask: ArrayValue) -> Masked:
    """`base[mask]`, never stored in compressed form."""
    for n, m in zip(mask.shape, base.shape, strict=False):
        if not same_size(ctx, n, m):
            raise ctx.refuse(f"a mask of shape {shape_text(mask.shape)} for shape {shape_text(base.shape)}",
                             code="SG105")
    key = mask_key(ctx, mask)
    return Masked(base, lasting(ctx, mask), key)


def side(ctx: Context, mask: ArrayValue, size: Ix) -> Masked:
    """A mask as what selects rows, or columns, of so many."""
    found = masked(ctx, mask, mask)
    if mask.shape != (size,):
        raise ctx.refuse("a mask of another length than that of what it selects from", code="SG105")
    return found


def first_rows(ctx: Context, rows: ArrayValue, count: Value) -> Masked:
    """The first `count` rows."""
    number = named_int(ctx, ctx.builder.fresh_copy(as_array(ctx, count), "count"), "count")
    there = ctx.invoke(ctx, np.less, [ctx.invoke(ctx, np.arange, [int_value(rows.shape[0])], {}), number], {})
    return replace(masked(ctx, rows, there), first=number)


def packed(ctx: Context, value: Masked) -> Masked:
    """The same numbers or rows, of which those that are selected come first."""
    if value.first is not None or value.mask.ndim != 1:
        return value
    table = value.table or table_of(ctx, value.mask)
    places = ctx.invoke(ctx, np.ravel, [table.rows], {})
    return first_rows(ctx, as_array(ctx, ctx.invoke(ctx, np.take, [value.values, places], {"axis": 0})),
                      int_value(table.count))


def of_one_length(ctx: Context, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Operands, where those that have the first rows of something all have equally many: the run looks at that."""
    if any(isinstance(v, Masked) and v.first is not None for v in values):
        values = tuple(packed(ctx, v) if isinstance(v, Masked) else v for v in values)
    chosen = [v for v in values if isinstance(v, Masked)]
    if any(v.first is None for v in chosen) or all(same_mask(chosen[0], v) for v in chosen[1:]):
        return values
    least = min(chosen, key=lambda v: v.mask.shape[0].const or 0)
    for other in chosen:
        if other is not least and not same_mask(least, other):
            ctx.invoke(ctx, choosing.check_equal, [least.first, other.first], {})
    return tuple(_cut_like(ctx, v, least) if isinstance(v, Masked) else v for v in values)


def _cut_like(ctx: Context, value: Masked, least: Masked) -> Masked:
    rows = ctx.invoke(ctx, choosing.first_of, [value.values, least.mask.shape[0].const], {})
    return replace(least, values=as_array(ctx, rows), table=None, own=False, origins=frozenset())


def lasting(ctx: Context, mask: ArrayValue) -> ViewValue:
    """The mask as it is now: copied where the program changes its array later, so that the two differ."""
    stored = ctx.builder.materialise(mask, "mask")
    if stored.view.array in ctx.builder.assumed.fragile:
        return ctx.builder.fresh_copy(stored, "mask")
    ctx.builder.frozen.add(stored.view.array)
    return stored


def mask_key(ctx: Context, mask: ArrayValue) -> int:
    """Two masks with equal keys are equal: same formula over unchanged arrays, in one straight line of code."""
    if isinstance(mask, Lazy) and mask.stored is not None:
        mask = mask.stored
    formulas, here = ctx.builder.formulas, tuple(ctx.builder.regions)
    if isinstance(mask, ViewValue) and mask.view == ctx.builder.arrays[mask.view.array].whole:
        known = formulas.holds(mask.view.array, here)
        if known is not None:
            return known
    return formulas.of(mask.at(axes(mask.ndim)), mask.shape, here)


def as_masked(ctx: Context, value: Value) -> Value:
    """The numbers of an index array of `np.nonzero` as data selected by its mask; anything else as it is."""
    if not isinstance(value, MaskPlaces) or value.part is None:
        return value
    part = value.part
    numbers = ctx.builder.lazy(value.mask.shape, INT, lambda p: Index(p[part], INT), frozenset())
    return masked(ctx, numbers, value.mask)


def table_of(ctx: Context, mask: ArrayValue) -> PlaceTable:
    """The places where a mask holds, counted and listed."""
    rows, count = ctx.invoke(ctx, choosing.table_of_places, [mask], {})
    counted = ctx.builder.fresh_copy(as_array(ctx, count), "found")
    if mask.ndim == 1:
        ctx.builder.counted[counted.view.array] = masked(ctx, mask, mask)
    return PlaceTable(ctx.builder.materialise(rows, "table"), named_int(ctx, counted, "found").ix)


def is_stored(m: Masked) -> bool:
    """Whether the values have an array of their own, which all names of this value share."""
    return (m.table is not None or m.own) and isinstance(m.values, ViewValue)


def shown_by(m: Masked) -> frozenset[str]:
    """The containers of which NumPy has a view of the value, `m.real` or `m[1:]`, as a view: what a mask selects is a
    copy, until it has a name."""
    return frozenset({as_view(m.values).view.array}) if is_stored(m) else m.origins


def same_mask(a: Masked, b: Masked) -> bool:
    """Whether two compressed values surely have the same mask."""
    views = isinstance(a.mask, ViewValue) and isinstance(b.mask, ViewValue)
    return a.key == b.key or views and (a.mask.view.array, a.mask.view.index) == (
        b.mask.view.array, b.mask.view.index)


def over_mask(ctx: Context, m: Masked, outside: Value) -> ArrayValue:
    """The masked value in full shape, with `outside` where the mask is off."""
    return select(ctx, mask_view(ctx, m), m.values, outside)


def stored_numbers(ctx: Context, m: Masked, label: str) -> ViewValue:
    """The values in an array: zero where the mask is off if they are computed. What has an array stays there as long
    as the program does not change it, as nobody looks where the mask is off."""
    values, builder = m.values, ctx.builder
    if not isinstance(values, ViewValue) or m.origins:
        made = builder.fresh_copy(over_mask(ctx, m, values.dtype.type(0)), label)
        builder.twin(made, m.origins)
        return made
    array = values.view.array
    if array in builder.assumed.fragile:
        return builder.fresh_copy(values, label)
    builder.frozen.add(array)
    builder.selected[array] = builder.versions.get(array, 0)
    return replace(values, readonly=False, copied=True)


def places_inside(ctx: Context, m: Masked, extent: Ix) -> ArrayValue | None:
    """Selected places as they are, where those that are not selected lie in the array, too; None otherwise."""
    builder, size = ctx.builder, extent.const
    if not isinstance(m.values, ViewValue) or m.values.view.array in builder.assumed.fragile:
        return None
    array = m.values.view.array
    low, high = builder.held.bounds(array, m.values.view.index)
    if size is None or low is None or high is None or not -size <= low <= high < size:
        return None
    builder.frozen.add(array)
    if m.values.whole:
        builder.know(array, (low, high))
    builder.selected[array] = builder.versions.get(array, 0)
    return m.values


def mask_view(ctx: Context, m: Masked) -> ArrayValue:
    """The mask, extended by the dimensions that only the values have."""
    extra = m.values.ndim - m.mask.ndim
    return remap(ctx, m.mask, (*m.mask.shape, *((ix(1),) * extra)), axes(m.mask.ndim)) if extra else m.mask


def check_cast(ctx: Context, value: ArrayValue, target: ArrayValue) -> None:
    """NumPy refuses, or warns about, complex numbers stored as real ones."""
    if value.dtype.kind == "c" and target.dtype.kind != "c":
        raise ctx.refuse(f"complex numbers stored in an array of dtype {target.dtype}", "take .real first", "SG104")


def only_where(ctx: Context, where: Value, value: Value, other: Value, array: ArrayValue) -> ArrayValue:
    """`value` where the flags of `where=` are on: booleans, as NumPy wants them, and no more than there are elements
    in the array that they are for."""
    flags = as_array(ctx, where)
    if flags.dtype != BOOL:
        raise ctx.refuse(f"where= of dtype {flags.dtype}", "NumPy takes booleans alone: where=mask != 0", "SG104")
    whole = broadcast(ctx, (array.shape, flags.shape))
    if len(whole) != array.ndim or not all(same_size(ctx, n, m) for n, m in zip(whole, array.shape, strict=True)):
        raise ctx.refuse(f"where= of shape {shape_text(flags.shape)} for an array of shape {shape_text(array.shape)}",
                         "NumPy does not repeat the array for it: use np.broadcast_to", "SG103")
    return select(ctx, flags, value, other)


def is_mask(part: Value) -> bool:
    """Whether part of a subscript is a boolean mask."""
    return isinstance(part, ArrayValue) and part.dtype.kind == "b" and part.shape != ()


def write_masked(ctx: Context, base: ViewValue, place: Masked, value: Value) -> None:
    """`base[mask] = value`."""
    if isinstance(value, Masked):
        if value.first is not None and not same_mask(place, value):
            raise ctx.refuse("what a mask selects, in another order or only in part, stored through a mask",
                             "loop over the places: for k, v in zip(np.flatnonzero(mask), values)", "SG105")
        if not same_mask(place, value):
            raise ctx.refuse("data selected by one mask stored through another mask",
                             "use the same mask variable on both sides, or np.where", "SG105")
        source = value.values
    else:
        trailing = base.ndim - place.mask.ndim
        source = as_array(ctx, for_each_row(ctx, value, trailing))
        if source.ndim > trailing:
            raise ctx.refuse("an array stored through a mask: which elements go where depends on the data",
                             "use np.where", "SG105")
    check_cast(ctx, source, base)
    source = source if source.dtype == base.dtype else convert(ctx, source, base.dtype)
    chosen = select(ctx, mask_view(ctx, place), source, base)
    ctx.builder.assign(base, expand(ctx, chosen, base.shape))
