"""Lists that loops have made longer, read: their items are rows of arrays."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from types import SimpleNamespace

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.masking import first_rows
from sdfgad.frontend.arrays.parts import part_of
from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.bodies import choosing
from sdfgad.frontend.elements.elementwise import as_array, describe, int_value
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import Numbered
from sdfgad.frontend.state.sharing import refuse_stale
from sdfgad.frontend.state.values import (
    ArrayValue,
    Block,
    Grown,
    IntValue,
    LengthNow,
    ListValue,
    Masked,
    Record,
    Rows,
    SliceValue,
    Value,
    ViewValue,
    contained,
    is_int,
    is_number,
    like,
)
from sdfgad.frontend.static.settled import growing
from sdfgad.ir.index import Ix, elem, ix

MOST_ITEMS = 4096
SHORT = 16
"""Items at the end of a list that are taken one by one."""
FIXED = -1  # the depth of a list that nothing may change


def first_row(owner: Grown) -> Ix:
    """The row of the first item: those before it are of items that have been taken away."""
    found = 0 if owner.counter is None else owner.counter.items.get("start", 0)
    return found.ix if isinstance(found, IntValue) else ix(found)


def item_at(ctx: Context, owner: Grown, place: Value) -> Value:
    """`name[place]`."""
    check_fresh_rows(ctx, owner)
    if isinstance(place, slice) and owner.length.const is not None:
        rows = tuple(_rows(subscript(ctx, r, place), r) for r in owner.rows)
        return Grown(rows, owner.form, LengthNow(rows[0].shape[0], owner.now.depth))
    if isinstance(place, (slice, SliceValue)):
        return _part(ctx, owner, slice(place.start, place.stop, place.step))
    k = to_int(ctx, place) if is_int(place) or isinstance(place, ArrayValue) else None
    if k is None:
        raise ctx.refuse(f"{describe(place)} as a place in a list that a loop has made", "use an array", "SG105")
    at = k.ix if isinstance(k, IntValue) else ix(k) if k >= 0 else owner.length + k
    scope, sure = ctx.builder.scope, owner.counter is not None  # looked at in the run
    if not owner.rows or not sure and not (scope.nonnegative(at) and scope.nonnegative(owner.length - 1 - at)):
        raise ctx.refuse("an item of a list that may not be there yet", "use an array", "SG105")
    return _item(ctx, owner, at)


def _part(ctx: Context, owner: Grown, place: slice) -> Value:
    """`name[first:last]`, where the length is known to the run alone."""
    step, first = place.step in (None, 1), place.start
    if owner.counter is None and step and place.stop is None and isinstance(first, int) and \
            -SHORT <= first < 0 and ctx.builder.scope.nonnegative(owner.length + first):
        return ListValue([_item(ctx, owner, owner.length + k) for k in range(first, 0)], len(ctx.builder.regions))
    if not owner.rows:
        raise ctx.refuse("a part of a list that has no items yet", "use an array", "SG105")
    rows, count = part_of(ctx, owner.rows, owner.length, place, owner.now.begun is not None, first_row(owner))
    if not rows[0].shape[0].const:
        return ListValue([], len(ctx.builder.regions))
    depth = len(ctx.builder.regions)
    return Grown(tuple(rows), owner.form, LengthNow(ix(0), depth), list,
                 Record(SimpleNamespace, {"length": count}, depth))


def _rows(view: ViewValue, before: ViewValue) -> ViewValue:
    return ViewValue(view.view, weak=before.weak)


def _item(ctx: Context, owner: Grown, k: Ix) -> Value:
    # `pop` may make room for another number in the same place.
    return one_item(ctx, owner, first_row(owner) + k, owner.counter is not None and owner.now.begun is not None)


def one_item(ctx: Context, owner: Grown | Numbered, row: Ix, copied: bool = True) -> Value:
    """What is in a row. copied: numbers stay what they are when others come in their place."""
    def visit(form: Value) -> Value:
        if isinstance(form, (tuple, list)):
            parts = [visit(f) for f in form]
            return like(form, parts) if isinstance(form, tuple) else ListValue(parts, FIXED)
        rows = owner.rows[form]
        found = subscript(ctx, rows, (int_value(row), Ellipsis))
        item = ViewValue(found.view, scalar=not found.shape, weak=rows.weak)
        return ctx.builder.fresh_copy(item, "item") if item.scalar and copied else item

    return visit(owner.form)


def items(ctx: Context, owner: Grown) -> list[Value]:
    """Every item of a list that is finished."""
    check_fresh_rows(ctx, owner)
    count = 0 if owner.length.const == 0 else finished(ctx, owner)
    if count > MOST_ITEMS:
        raise ctx.refuse(f"{count} items of a list one by one", "make it an array: np.array, np.stack", "SG102")
    return [_item(ctx, owner, ix(k)) for k in range(count)]


def columns(ctx: Context, owner: Value) -> tuple[Grown, ...]:
    """`zip(*name)` of a list of tuples whose length data decide: a list for each of their places; none of others."""
    if not isinstance(owner, Grown) or owner.counter is None or not isinstance(owner.form, (tuple, list)):
        return ()
    whole = item_at(ctx, owner, slice(None)) if owner.now.begun is not None else owner
    return tuple(replace(whole, form=f, kind=list, place="") for f in whole.form)


def walked(ctx: Context, owner: Grown) -> Rows:
    """What a loop over the list walks over."""
    check_fresh_rows(ctx, owner)
    if owner.counter is not None:
        room = owner.rows[0].shape[0].const if owner.rows else 0
        return Rows(owner.length, lambda k: _item(ctx, owner, k), held=(owner,), most=room)
    return Rows(ix(finished(ctx, owner)), lambda k: _item(ctx, owner, k))


def stacked(ctx: Context, owner: Grown) -> ArrayValue:
    """The list as one array, its items along the first axis, as `np.array` makes it."""
    check_fresh_rows(ctx, owner)
    count = finished(ctx, owner) if owner.counter is None else None  # all there is room for

    def visit(form: Value) -> Value:
        if not isinstance(form, (tuple, list)):
            rows = owner.rows[form]
            return subscript(ctx, ViewValue(rows.view), slice(0, count))
        return ctx.invoke(ctx, np.stack, [tuple(visit(f) for f in form)], {"axis": 1})

    if not owner.rows:
        raise ctx.refuse("an empty list where an array is needed", code="SG103")
    return visit(owner.form)


def as_data(ctx: Context, value: Value) -> Value:
    """A list that a loop has made as an array, or as what is selected of one; anything else as it is."""
    if not isinstance(value, Grown):
        return value
    return stacked(ctx, value) if value.counter is None else as_selected(ctx, value)


def as_selected(ctx: Context, owner: Grown) -> Masked:
    """A list whose length data have decided as an array: the first of its rows, as a mask selects them."""
    if first_row(owner).const != 0:
        owner = item_at(ctx, owner, slice(0, getattr(owner.kind, "most", None)))
    rows = stacked(ctx, owner)
    if owner.now.begun is not None:  # what is appended later is none of it
        rows = ctx.builder.fresh_copy(rows, "rows")
    return first_rows(ctx, rows, int_value(owner.length))


def as_long(rule: Callable[..., Value]) -> Callable[..., Value]:
    """A maker of arrays, which makes one as long as a list whose length data have decided, too: np.arange(len(h))."""

    @wraps(rule)
    def made(ctx: Context, size: Value, *others: Value, **keywords: Value) -> Value:
        name = rule.__name__
        if name == "arange" and any(v is not None for v in others[:2]):
            return rule(ctx, size, *others, **keywords)
        plain = is_number(others[0]) if name == "full" and others else len(others) <= (name in ("zeros", "ones"))
        chosen = _counted(ctx, size) if plain and keywords.keys() <= {"dtype"} else None
        if chosen is not None:
            full = as_array(ctx, rule(ctx, int_value(chosen.mask.shape[0]), *others, **keywords))
            if name == "arange":
                full = as_array(ctx, ctx.invoke(ctx, choosing.numbered, [full, chosen.mask], {}))
            return replace(chosen, values=full) if full.ndim == 1 else Block(full, chosen, chosen)
        room = _room(ctx, size) if isinstance(size, IntValue) else None
        if room is None:
            return rule(ctx, size, *others, **keywords)
        rows = first_rows(ctx, as_array(ctx, rule(ctx, room, *others, **keywords)), size)
        side = replace(rows, values=rows.mask)
        return rows if rows.values.ndim == 1 else Block(rows.values, side, side)

    return made


def _room(ctx: Context, size: IntValue) -> int | None:
    """How long a list can be that has so many items now."""
    parts = [part for _, _, value in ctx.values(False) for part in contained(value)]
    lists = [p for p in parts if isinstance(p, Grown) and p.rows and p.counter is not None and p.length == size.ix]
    rooms = [p.rows[0].shape[0].const for p in lists]
    rooms += [p.mask.shape[0].const for p in parts if isinstance(p, Masked) and p.first and p.first.ix == size.ix]
    return rooms[0] if rooms else None


def _counted(ctx: Context, size: Value) -> Masked | None:
    """What a mask selects, of which there is so much."""
    if isinstance(size, tuple) and len(size) == 1:
        return _counted(ctx, size[0])
    if isinstance(size, IntValue):
        return next((ctx.builder.counted.get(e.array) for e in size.ix.elems if size.ix == elem(e.array, ())), None)
    return ctx.builder.counted.get(size.view.array) if isinstance(size, ViewValue) and not size.shape else None


def check_finished(ctx: Context, owner: Grown) -> None:
    """Whether no loop is making a list longer."""
    if owner.now.begun is not None:
        raise growing(ctx.refuse("a list as a whole in the loop that makes it longer", "use an array", "SG102"), owner)


def finished(ctx: Context, owner: Grown) -> int:
    """The length of a list that no loop is making longer now."""
    check_finished(ctx, owner)
    if (count := owner.length.const) is None or owner.counter is not None:
        raise ctx.refuse("a list whose length data decide, where it has to be known",
                         "loop over it, or use np.array of it", "SG103")
    return count


def check_fresh_rows(ctx: Context, owner: Grown | Numbered) -> None:
    shared = ctx.builder.shared
    for row in owner.rows:
        if row.view.array in shared.stale:
            raise refuse_stale(ctx.here, shared, row.view.array, "a list")
