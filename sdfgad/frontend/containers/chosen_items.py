"""Items of lists and tuples at places that data choose."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.bodies import choosing
from sdfgad.frontend.branches.raising import opposite
from sdfgad.frontend.containers.numbered import counted_item
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.functions.arithmetic import comparison, kept, truth_value
from sdfgad.frontend.state.attempts import UNROLL_TRIPS, of_kind
from sdfgad.frontend.state.chosen_texts import ChosenText
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Value
from sdfgad.frontend.static.settled import ItemRefusal
from sdfgad.frontend.static.sizes import as_integer
from sdfgad.ir.program import Failure

MOST_COMPARED = 64
"""Items of a list of which data choose one: each is compared with the place."""


def item_chosen(ctx: Context, items: ListValue | tuple, k: IntValue) -> Value:
    """The item of a list or tuple at a place that data choose: it is compared with all of them, where they differ."""
    held = items.items if isinstance(items, ListValue) else items
    low, high = ctx.builder.scope.bounds(k.ix)
    inside = low is not None and high is not None and -len(held) <= low and high < len(held)
    if inside and isinstance(held[0], ArrayValue) and all(v is held[0] for v in held):  # [F] * n
        return held[0]
    few = _few(ctx, items, k)
    try:
        return ctx.invoke(ctx, choosing.item_of_list, [few, k], {})
    except UnsupportedError as error:
        if isinstance(items, ListValue):
            counted_item(ctx, items, k)
        raise ctx.refuse("an item chosen at run time among items of different kinds or shapes", "use an array",
                         "SG105") from error


def item_by_text(ctx: Context, form: type, items: Mapping[Any, Value], chosen: ChosenText) -> Value:
    """The item of a dict of a key that data choose: a KeyError of the run where it has none. form: of the dict."""
    if not items or hasattr(form, "__missing__"):
        raise ctx.refuse("a key that data choose, of a dict that makes items or has none",
                         "use a dict that holds every key from the start", "SG105")
    tests = [comparison(ctx, np.equal, key, chosen) for key in items]
    row = ctx.invoke(ctx, np.array, [tuple(tests)], {})
    there = kept(ctx, row)
    raise_if(ctx, opposite(truth_value(ctx, ctx.invoke(ctx, np.any, [there], {})).at(())),
             lambda: fail(ctx, Failure(KeyError, ("the key that data choose",))))
    place = to_int(ctx, ctx.invoke(ctx, np.argmax, [there], {}))
    values = tuple(items.values())
    return item_chosen(ctx, values, place) if isinstance(place, IntValue) else values[int(place)]


def put_chosen(ctx: Context, items: ListValue, k: IntValue, value: Value) -> None:
    """`items[k] = value` at a place that data choose."""
    few = _few(ctx, items, k, value)
    try:
        ctx.invoke(ctx, choosing.put_into_list, [few, k, value], {})
    except UnsupportedError:
        counted_item(ctx, items, k, value)
        raise


def _few(ctx: Context, items: ListValue | tuple, k: IntValue, *new: Value) -> ListValue | tuple:
    """The items, unless they are too many, or the place is known where short loops are written out."""
    held = items.items if isinstance(items, ListValue) else items
    counting = [r.trips for r in ctx.builder.scope.ranges if r.var in k.ix.symbols]
    short = not ctx.comparing and counting and all(n is None or n <= UNROLL_TRIPS for n in counting)
    if short or not 0 < len(held) <= MOST_COMPARED:
        if isinstance(items, ListValue):
            counted_item(ctx, items, k, *new)
        refusal = ctx.refuse("an item of a tuple or list chosen at run time", as_integer(
            ctx, k, "use an array, or a loop over a fixed number of items"), "SG105")
        raise of_kind(ItemRefusal, refusal) if short else refusal
    return items
