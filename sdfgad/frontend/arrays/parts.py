"""Parts `rows[first:last:step]` of rows of which data decide how many there are."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.views import named_int, to_int
from sdfgad.frontend.bodies import choosing
from sdfgad.frontend.elements.elementwise import as_array, int_value
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.sharing import IN_LIST
from sdfgad.frontend.state.values import IntValue, Value, ViewValue, is_int
from sdfgad.ir.index import Ix


def part_of(ctx: Context, rows: Sequence[ViewValue], count: Ix, place: slice,
            copied: bool, start: Ix) -> tuple[list[ViewValue], IntValue]:
    """The rows from `first` on, one behind the other, with room for all that there may be, and how many there are.

    copied: the rows change later. Those that begin at a known place are seen where they are otherwise. start: of the
    rows that count, the first.
    """
    first, last = (None if p is None else _number(ctx, p) for p in (place.start, place.stop))
    step = 1 if place.step is None else place.step
    if not isinstance(step, int) or not step:
        raise ctx.refuse("a slice with such a step of a list whose length data have decided", "use an array", "SG105")
    begin, number = ctx.invoke(ctx, choosing.bounds_of_part, [int_value(count), first, last, step], {})
    room = _room(rows[0].shape[0].const or 0, first, last, step)
    if start.const != 0:
        begin, copied = ctx.invoke(ctx, np.add, [begin, int_value(start)], {}), True
    if step == 1 and not copied and (first is None or isinstance(first, int) and first >= 0):
        found = [subscript(ctx, r, slice(first or 0, (first or 0) + room)) for r in rows]
    else:
        found = [_gathered(ctx, r, begin, step, room) for r in rows]
    return found, named_int(ctx, ctx.builder.fresh_copy(as_array(ctx, number), "length"), "length")


def _number(ctx: Context, place: Value) -> Value:
    return place if isinstance(place, int) else to_int(ctx, place) if is_int(place) else to_int(
        ctx, as_array(ctx, place))


def _room(rows: int, first: Value, last: Value, step: int) -> int:
    """The most items that there may be."""
    known = isinstance(first, int)
    if step > 0 and known and first >= 0:
        rows -= first
        if isinstance(last, int) and last >= 0:
            rows = min(rows, last - first)
    elif step > 0 and known and last is None:
        rows = min(rows, -first)
    elif step > 0 and first is None and isinstance(last, int) and last >= 0:
        rows = min(rows, last)
    return max(-(-rows // abs(step)), 0)


def _gathered(ctx: Context, rows: ViewValue, begin: Value, step: int, room: int) -> ViewValue:
    """A copy, which can be told from the items of the list as these can from what was appended."""
    moved = ctx.invoke(ctx, choosing.rows_from, [ViewValue(rows.view), begin, step, room], {})
    shared, array = ctx.builder.shared, rows.view.array
    stored = ctx.builder.fresh_copy(as_array(ctx, moved), "part")
    ctx.builder.shared = ctx.builder.shared.copied(
        stored.view.array, {IN_LIST, array, *shared.links.get(array, ())}, stale=array in shared.stale)
    return ViewValue(stored.view, weak=rows.weak)
