"""`np.ix_` of places that are found in the run: rows and columns of a matrix."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from sdfgad.frontend.arrays.grown import as_data
from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.known import known_flags
from sdfgad.frontend.arrays.masking import check_cast, is_mask, lasting, over_mask, side
from sdfgad.frontend.arrays.submatrices import selected_along, write_block
from sdfgad.frontend.bodies import choosing
from sdfgad.frontend.elements.elementwise import as_array, describe, int_value
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    Block,
    Grown,
    Masked,
    MaskPlaces,
    Opaque,
    SelectedColumns,
    Value,
    ViewValue,
)


@dataclass(frozen=True, eq=False)
class Mesh(Opaque):
    """`np.ix_(rows, columns)`: masks, of which there is one at least, and known places."""

    rows: Value
    columns: Value


def mesh(ctx: Context, parts: Sequence[Value]) -> Mesh | None:
    """`np.ix_(*parts)`, where masks whose elements are not known are among them."""
    found = [p if _is_places(p) else _mask(ctx, p) for p in parts]
    if all(m is None for m in found):
        return None
    if len(found) != 2:
        raise ctx.refuse("np.ix_ of masks for other than two dimensions", "select one dimension at a time", "SG105")
    return Mesh(*(ctx.builder.fresh_copy(as_array(ctx, p), "places") if m is None else m
                  for p, m in zip(parts, found, strict=True)))


def _mask(ctx: Context, part: Value) -> ArrayValue | None:
    mask = part.mask if isinstance(part, MaskPlaces) else part
    if not is_mask(mask) or mask.ndim != 1 or known_flags(ctx, mask) is not None:
        return None
    return lasting(ctx, mask)


def part_of_mesh(ctx: Context, base: ArrayValue, chosen: Mesh, any_order: bool = False) -> Value:
    """`base[np.ix_(rows, columns)]`."""
    if base.ndim != 2:
        raise ctx.refuse(f"np.ix_ of two masks for {describe(base)}", code="SG105")
    if _is_places(chosen.rows) or _is_places(chosen.columns):
        return _taken(ctx, base, (chosen.rows, chosen.columns))
    if not is_mask(chosen.columns):
        return subscript(ctx, as_array(ctx, subscript(ctx, base, (slice(None), chosen.columns))), chosen.rows)
    if not is_mask(chosen.rows):
        rows = as_array(ctx, subscript(ctx, base, chosen.rows))
        return subscript(ctx, rows, (slice(None), chosen.columns), any_order)
    return Block(base, side(ctx, chosen.rows, base.shape[0]), side(ctx, chosen.columns, base.shape[1]))


def _is_places(part: Value) -> TypeGuard[Masked]:
    """Whether part of a subscript are integers in a list whose length data decide."""
    return isinstance(part, Masked) and part.first is not None and part.values.ndim == 1 and (
        part.values.dtype.kind in "iu")


def _taken(ctx: Context, base: ArrayValue, parts: tuple[Value, Value]) -> Value:
    """Rows and columns at places that stand in lists: as many as there is room for, of which the first count."""
    sides: list[Masked | None] = []
    for axis, part in enumerate(parts):
        if is_mask(part):
            sides.append(side(ctx, part, base.shape[axis]))
            continue
        places = over_mask(ctx, part, 0) if isinstance(part, Masked) else part
        base = as_array(ctx, ctx.invoke(ctx, np.take, [base, places], {"axis": axis}))
        sides.append(replace(part, values=part.mask) if isinstance(part, Masked) else None)
    return selected_along(ctx, base, (sides[0], sides[1]))


def at_places(ctx: Context, base: ArrayValue, items: Value) -> Value:
    """`base[places]` of such a list, `base[:, places]` of a matrix; None where that is something else."""
    if base.ndim == 2 and isinstance(items, tuple) and len(items) == 2 and items[0] == slice(None):
        rows = at_places(ctx, as_array(ctx, ctx.invoke(ctx, np.transpose, [base], {})), items[1])
        return None if rows is None else SelectedColumns(rows)
    places = as_data(ctx, items) if isinstance(items, Grown) and items.counter is not None else None
    if not _is_places(places) or not base.ndim:
        return None
    rows = ctx.invoke(ctx, np.take, [base, over_mask(ctx, places, 0)], {"axis": 0})
    return replace(places, values=as_array(ctx, rows), table=None)


def put_at_places(ctx: Context, base: ViewValue, items: Value, value: Value) -> bool:
    """`base[places] = value` of such a list; whether it is one."""
    places = as_data(ctx, items) if isinstance(items, Grown) and items.counter is not None else None
    if not _is_places(places) or base.ndim != 1:
        return False
    given = as_data(ctx, value)
    if isinstance(given, Masked):
        if given.first is None:
            raise ctx.refuse("data selected by a mask stored at places in a list", "select them with the list", "SG105")
        ctx.invoke(ctx, choosing.check_equal, [places.first, given.first], {})
        given = ctx.invoke(ctx, choosing.sized, [over_mask(ctx, given, 0), int_value(places.mask.shape[0])], {})
    elif as_array(ctx, given).shape:
        raise ctx.refuse("an array stored at places in a list whose length data decide", "store a number", "SG105")
    check_cast(ctx, as_array(ctx, given), base)
    ctx.invoke(ctx, choosing.put_each, [base, places.values, places.first, given], {})
    return True


def write_mesh(ctx: Context, base: ViewValue, chosen: Mesh, value: Value) -> None:
    """`base[np.ix_(rows, columns)] = value`."""
    write_block(ctx, base, part_of_mesh(ctx, base, chosen), value)
