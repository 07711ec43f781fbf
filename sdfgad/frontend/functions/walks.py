"""What a `for` walks over at run time."""
from __future__ import annotations

from sdfgad.frontend.arrays.grown import walked
from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.bodies import choosing
from sdfgad.frontend.elements.chosen_ranges import ChosenRange
from sdfgad.frontend.elements.elementwise import int_ix, int_value
from sdfgad.frontend.functions import places
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import SELECTED, ArrayValue, Grown, Lazy, RangeValue, Rows, Value
from sdfgad.ir.expr import Index
from sdfgad.ir.index import Ix, ix


def rows_of(ctx: Context, iterable: Value) -> Rows | None:
    """What a loop walks over when that is no fixed list of items."""
    if isinstance(iterable, Rows):
        return iterable
    if isinstance(iterable, Grown):
        return walked(ctx, iterable)
    if isinstance(iterable, SELECTED):
        return places.walked(ctx, iterable)
    if isinstance(iterable, (range, RangeValue)):
        start, stop, step = ix(iterable.start), ix(iterable.stop), iterable.step
        gap = stop - start if step > 0 else start - stop
        count = ctx.builder.scope.greatest((gap + (abs(step) - 1)) // abs(step), ix(0))
        return Rows(count, lambda k: int_value(k * step + start), (start, stop, step))
    if isinstance(iterable, ChosenRange):
        start, step = iterable.start, iterable.step
        return Rows(int_ix(iterable.count), lambda k: ctx.invoke(
            ctx, choosing.item_of_range, [start, step, int_value(k)], {}), held=iterable.held)
    counted = _counted(iterable)
    if counted is not None:
        return counted
    if isinstance(iterable, ArrayValue):
        if not iterable.shape:
            raise ctx.refuse("a loop over a number", "loop over range(n)", "SG102")
        stored = ctx.builder.materialise(iterable, "items")
        return Rows(stored.shape[0], lambda k: subscript(ctx, stored, int_value(k)), held=(stored,))
    return None


def _counted(iterable: Value) -> Rows | None:
    """The integers of `np.arange`: each is known where its place is."""
    if not isinstance(iterable, Lazy) or iterable.ndim != 1:
        return None
    first = iterable.at((ix(0),))
    if not isinstance(first, Index) or first.ix.elems:
        return None

    def item(k: Ix) -> Value:
        element = iterable.at((k,))
        assert isinstance(element, Index)
        return int_value(element.ix, iterable.dtype)

    return Rows(iterable.shape[0], item)


def most_rows(rows: Rows) -> int | None:
    """The most items that there may be, where that is known."""
    return rows.most if rows.count.const is None else rows.count.const
