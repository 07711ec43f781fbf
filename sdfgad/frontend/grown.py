"""Lists that loops have made longer, read: their items are rows of arrays."""
from __future__ import annotations

import numpy as np

from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import describe, int_value
from sdfgad.frontend.indexing import subscript
from sdfgad.frontend.sharing import refuse_stale
from sdfgad.frontend.values import (
    ArrayValue,
    Grown,
    IntValue,
    LengthNow,
    ListValue,
    Rows,
    Value,
    ViewValue,
    is_int,
    like,
)
from sdfgad.frontend.views import to_int
from sdfgad.ir.index import Ix, ix

MOST_ITEMS = 4096
FIXED = -1  # the depth of a list that nothing may change


def item_at(ctx: Context, owner: Grown, place: Value) -> Value:
    """`name[place]`."""
    _check_fresh(ctx, owner)
    if isinstance(place, slice) and owner.now.length.const is not None:
        rows = tuple(_rows(subscript(ctx, r, place), r) for r in owner.rows)
        return Grown(rows, owner.form, LengthNow(rows[0].shape[0], owner.now.depth))
    k = to_int(ctx, place) if is_int(place) or isinstance(place, ArrayValue) else None
    if k is None:
        raise ctx.refuse(f"{describe(place)} as a place in a list that a loop has made", "use an array", "SG105")
    at = k.ix if isinstance(k, IntValue) else ix(k) if k >= 0 else owner.now.length + k
    scope = ctx.builder.scope
    if not owner.rows or not scope.nonnegative(at) or not scope.nonnegative(owner.now.length - 1 - at):
        raise ctx.refuse("an item of a list that may not be there yet", "use an array", "SG105")
    return _item(ctx, owner, at)


def _rows(view: ViewValue, before: ViewValue) -> ViewValue:
    return ViewValue(view.view, weak=before.weak)


def _item(ctx: Context, owner: Grown, k: Ix) -> Value:
    def visit(form: Value) -> Value:
        if isinstance(form, (tuple, list)):
            parts = [visit(f) for f in form]
            return like(form, parts) if isinstance(form, tuple) else ListValue(parts, FIXED)
        rows = owner.rows[form]
        found = subscript(ctx, rows, (int_value(k), Ellipsis))
        return ViewValue(found.view, scalar=not found.shape, weak=rows.weak)

    return visit(owner.form)


def items(ctx: Context, owner: Grown) -> list[Value]:
    """Every item of a list that is finished."""
    _check_fresh(ctx, owner)
    count = finished(ctx, owner)
    if count > MOST_ITEMS:
        raise ctx.refuse(f"{count} items of a list one by one", "make it an array: np.array, np.stack", "SG102")
    return [_item(ctx, owner, ix(k)) for k in range(count)]


def walked(ctx: Context, owner: Grown) -> Rows:
    """What a loop over the list walks over."""
    _check_fresh(ctx, owner)
    return Rows(ix(finished(ctx, owner)), lambda k: _item(ctx, owner, k))


def stacked(ctx: Context, owner: Grown) -> ArrayValue:
    """The list as one array, its items along the first axis, as `np.array` makes it."""
    _check_fresh(ctx, owner)
    count = finished(ctx, owner)

    def visit(form: Value) -> Value:
        if not isinstance(form, (tuple, list)):
            rows = owner.rows[form]
            return subscript(ctx, ViewValue(rows.view), slice(0, count))
        return ctx.invoke(ctx, np.stack, [tuple(visit(f) for f in form)], {"axis": 1})

    if not owner.rows:
        raise ctx.refuse("an empty list where an array is needed", code="SG103")
    return visit(owner.form)


def finished(ctx: Context, owner: Grown) -> int:
    """The length of a list that no loop is making longer now."""
    count = owner.now.length.const
    if owner.now.begun is not None or count is None:
        raise ctx.refuse("a list as a whole in the loop that makes it longer", "use an array", "SG102")
    return count


def _check_fresh(ctx: Context, owner: Grown) -> None:
    shared = ctx.builder.shared
    for row in owner.rows:
        if row.view.array in shared.stale:
            raise refuse_stale(ctx.here, shared, row.view.array, "a list")
