"""The places where a mask holds: `np.nonzero` and its kin. How many there are depends on the data.

As a subscript they are the mask, and numbers computed with them are data selected by it. To be counted, taken one by
one or walked over they are listed in a table.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sdfgad.frontend.arrays.indexing import masked_part, subscript
from sdfgad.frontend.arrays.known import is_known, known_flags, known_now, settled
from sdfgad.frontend.arrays.masking import (
    as_masked,
    first_rows,
    mask_key,
    masked,
    packed,
    same_mask,
    shown_by,
    table_of,
)
from sdfgad.frontend.arrays.parts import part_of
from sdfgad.frontend.arrays.submatrices import item_of_block, transposed
from sdfgad.frontend.arrays.views import is_range, to_int
from sdfgad.frontend.bodies import choosing, order
from sdfgad.frontend.elements.comparisons import compare
from sdfgad.frontend.elements.elementwise import (
    BOOL,
    INT,
    as_array,
    constant_array,
    convert,
    describe,
    int_ix,
    int_value,
    select,
)
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    Block,
    Masked,
    MaskPlaces,
    PlaceTable,
    Rows,
    SelectedColumns,
    SliceValue,
    Value,
    ViewValue,
    is_int,
)
from sdfgad.ir.index import Ix, ix


def nonzero(ctx: Context, a: Value) -> MaskPlaces | tuple[ArrayValue, ...]:
    """`np.nonzero`: a tuple of index arrays, which are known where what is looked at is."""
    value = as_array(ctx, a)
    if not value.shape:
        raise ctx.refuse(f"np.nonzero of {describe(value)}", code="SG103")
    known = settled(ctx, a)
    known = known_flags(ctx, value) if known is None else known
    if known is not None and np.ndim(known) == value.ndim:
        return tuple(constant_array(ctx, k) for k in np.nonzero(known))
    mask = value if value.dtype.kind == "b" else compare(ctx, np.not_equal, value, 0)
    number = mask_key(ctx, as_array(ctx, mask))
    stored = ctx.builder.fresh_copy(as_array(ctx, mask), "places")
    ctx.builder.formulas.hold(stored.view.array, number, tuple(ctx.builder.regions))
    return MaskPlaces(stored, table_of(ctx, stored))


def flatnonzero(ctx: Context, a: Value) -> Value:
    """`np.flatnonzero`: one index array."""
    found = nonzero(ctx, ctx.invoke(ctx, np.ravel, [a], {}))
    return found.parts[0] if isinstance(found, MaskPlaces) else found[0]


def setdiff1d(ctx: Context, ar1: Value, ar2: Value, assume_unique: Value = False) -> ArrayValue | MaskPlaces:
    """`np.setdiff1d(np.arange(n), places)`: those among n places that are not given; known ones as a table."""
    known, left_out = (known_now(ctx, np.setdiff1d, a) for a in (ar1, ar2))
    if is_known(known) and is_known(left_out):
        return constant_array(ctx, np.setdiff1d(known, left_out, bool(assume_unique)))
    first = as_array(ctx, ar1)
    if not is_range(first):
        raise ctx.refuse("np.setdiff1d of data", "np.setdiff1d(np.arange(n), places) is understood", "SG101")
    if isinstance(ar2, MaskPlaces) and ar2.mask.shape == first.shape:
        return flatnonzero(ctx, ctx.invoke(ctx, np.logical_not, [ar2.mask], {}))
    return flatnonzero(ctx, ctx.invoke(ctx, np.isin, [first, ar2], {"invert": True}))


def unique(ctx: Context, ar: Value, return_index: Value = False, return_inverse: Value = False,
           return_counts: Value = False, axis: Value = None, equal_nan: Value = True) -> Value:
    """`np.unique`: of what is known now what NumPy gives, and of data those selected of all in order."""
    known, how = known_now(ctx, np.unique, ar), (return_index, return_inverse, return_counts, axis)
    if not is_known(known):
        return ctx.invoke(ctx, order.unique, [ar, *how, equal_nan], {})
    try:
        found = np.unique(known, *how, equal_nan=bool(equal_nan))
    except (TypeError, ValueError) as error:
        raise ctx.refuse(f"a call that fails: {error}", code="SG102") from error
    return tuple(constant_array(ctx, f) for f in found) if isinstance(found, tuple) else constant_array(ctx, found)


def argwhere(ctx: Context, a: Value) -> PlaceTable | ArrayValue:
    """`np.argwhere`: one row per place."""
    found = nonzero(ctx, a)
    return found.table if isinstance(found, MaskPlaces) else as_array(ctx, ctx.invoke(ctx, np.stack, [found, 1], {}))


def walked(ctx: Context, value: Value) -> Rows | None:
    """What a loop over places, or over data selected by a mask, walks over; None for anything else."""
    if isinstance(value, Block):
        whole, rows = kept(ctx, value, "items"), value.rows
        count = (rows.table or table_of(ctx, rows.mask)).count
        return Rows(count, lambda k: item_at(ctx, whole, int_value(k)), held=(whole,))
    if isinstance(value, Masked):
        value = kept(ctx, value, "items")
    made = _listed(ctx, value)
    return None if made is None else Rows(made[0], made[1])


def item_at(ctx: Context, value: Value, items: Value) -> Value:
    """`value[items]` of places, or of data selected by a mask."""
    if items == ():
        return value
    if isinstance(value, Block):
        return item_of_block(ctx, value, items, lambda side, k: _place_of(ctx, side, k))
    first, *rest = items if isinstance(items, tuple) else (items,)
    if isinstance(value, SelectedColumns) and len(rest) < 2:
        found = item_at(ctx, value.rows, (*rest, first) if rest else (slice(None), first))
        return ctx.invoke(ctx, np.transpose, [found], {}) if isinstance(found, ArrayValue) else transposed(ctx, found)
    if isinstance(first, ArrayValue) and not first.shape and first.dtype.kind in "iu":
        first = to_int(ctx, first)
    made = _listed(ctx, value) if is_int(first) else None
    if made is not None:
        item = made[1](place(ctx, made[0], first))
        return subscript(ctx, item, tuple(rest)) if rest else item
    if isinstance(value, Masked) and isinstance(first, Masked) and first.values.dtype == BOOL:
        found = _selected_again(ctx, value, first)
        return masked_part(ctx, found, (slice(None), *rest)) if rest else found
    origins = shown_by(value) if isinstance(value, Masked) else frozenset()
    if isinstance(value, Masked) and isinstance(first, (slice, SliceValue)) and first != slice(None):
        value = packed(ctx, value)
    if isinstance(value, Masked) and value.first is not None and isinstance(first, (slice, SliceValue)):
        value = replace(_part(ctx, value, slice(first.start, first.stop, first.step)), origins=origins)
        return masked_part(ctx, value, (slice(None), *rest)) if rest else value
    if isinstance(value, Masked):
        return masked_part(ctx, value, items)
    if isinstance(value, MaskPlaces) and value.part == 0 and value.mask.ndim == 1 and not rest and isinstance(
            first, Masked) and first.values.dtype == BOOL:
        return flatnonzero(ctx, _both(ctx, as_masked(ctx, value), first))
    if isinstance(value, MaskPlaces) and value.part is not None:
        return masked_part(ctx, as_masked(ctx, value), items)
    column = rest[0] if isinstance(value, PlaceTable) and first == slice(None) and len(rest) == 1 else None
    if isinstance(column, int):
        return subscript(ctx, value.rows, (slice(None), column))
    raise ctx.refuse(f"a subscript of {describe(value)}", "take one place, or loop over them", "SG105")


def _place_of(ctx: Context, side: Masked, k: Value) -> Value:
    """Where the row is that is selected at place k."""
    table = side.table or table_of(ctx, side.mask)
    return to_int(ctx, subscript(ctx, table.rows, (int_value(place(ctx, table.count, k)), 0)))


def _part(ctx: Context, value: Masked, place: slice) -> Masked:
    """`a[first:last]`, where data decide how many rows `a` has."""
    assert value.first is not None
    if place == slice(None):
        return value
    rows = ctx.builder.materialise(value.values, "rows")
    (part,), count = part_of(ctx, [rows], value.first.ix, place, False, ix(0))
    return first_rows(ctx, part, count)


def _selected_again(ctx: Context, value: Masked, condition: Masked) -> Masked:
    """`x[mask][condition]`, the condition computed from what the mask selects."""
    return masked(ctx, value.values, ctx.builder.materialise(_both(ctx, value, condition), "mask"))


def _both(ctx: Context, value: Masked, condition: Masked) -> ArrayValue:
    """Where the mask of a value holds, and the condition."""
    if not same_mask(value, condition) or condition.values.ndim != condition.mask.ndim:
        raise ctx.refuse("data selected by a mask and then by another condition", "use np.where", "SG105")
    return select(ctx, condition.mask, condition.values, np.bool_(False))


def _listed(ctx: Context, value: Value) -> tuple[Ix, Callable[[Ix], Value]] | None:
    """How many items there are, and each of them."""
    if isinstance(value, PlaceTable):
        return value.count, lambda k: subscript(ctx, value.rows, int_value(k))
    if isinstance(value, MaskPlaces) and value.part is not None:
        return value.table.count, lambda k: subscript(ctx, value.table.rows, (int_value(k), value.part))
    if not isinstance(value, Masked):
        return None
    table = value.table or table_of(ctx, value.mask)
    places = range(value.mask.ndim)
    return table.count, lambda k: subscript(ctx, value.values, tuple(
        subscript(ctx, table.rows, (int_value(k), d)) for d in places))


def place(ctx: Context, count: Ix, given: Value) -> Ix:
    """A place among `count`: looked at in the run unless it is one for certain."""
    k, scope = int_ix(given), ctx.builder.scope
    if scope.nonnegative(k) and scope.nonnegative(count - 1 - k):
        return k
    return int_ix(to_int(ctx, ctx.invoke(ctx, choosing.place_in_table, [int_value(count), given], {})))


def length(ctx: Context, value: Value) -> Value:
    """`len(value)` of places, or of data selected by a mask."""
    table = value if isinstance(value, PlaceTable) else value.table
    return number_of(ctx, value.mask) if table is None else int_value(table.count)


def number_of(ctx: Context, mask: Value) -> Value:
    """How many a mask selects: an integer of Python's, which keeps single precision, and not one of NumPy's."""
    found = ctx.invoke(ctx, np.count_nonzero, [mask], {})
    return ViewValue(found.view, scalar=True, weak=True) if isinstance(found, ViewValue) else convert(
        ctx, found, INT, weak=True)
