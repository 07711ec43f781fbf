"""`functools.reduce` and the functions of `itertools` that numerical programs loop over."""
from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.tables import column_of, item_of_column, stored_column
from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.bodies import choosing
from sdfgad.frontend.elements.elementwise import as_array, convert, describe, int_ix, int_value
from sdfgad.frontend.elements.of_numpy import called
from sdfgad.frontend.functions.arithmetic import items_of, kept, known_truth
from sdfgad.frontend.functions.walks import rows_of
from sdfgad.frontend.merging.ahead import picked
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    Applied,
    ArrayValue,
    Grown,
    Iterated,
    Rows,
    Value,
    ViewValue,
    contained,
    is_number,
)
from sdfgad.frontend.static.picked import Picked
from sdfgad.frontend.static.settled import Endless, begin_to_use, taken
from sdfgad.ir.index import Ix, floordiv, ix, mod

Rule = Callable[..., Value]
STORED = 16
"""`functools.reduce` stores a value so often: what is not stored is written into what is made of it."""


def product(ctx: Context, *iterables: Value, repeat: Value = 1) -> Value:
    given = tuple(_as_now(ctx, i) for i in iterables) * int(to_int(ctx, repeat))
    rows = [rows_of(ctx, i) for i in given]
    if any(r is None for r in rows):
        return Picked(itertools.product(*(items_of(ctx, i) for i in given)))

    def item(k: Ix) -> Value:
        found: list[Value] = []
        for r in reversed(rows):
            found.insert(0, r.item(mod(k, r.count)))  # type: ignore[union-attr]
            k = floordiv(k, r.count)  # type: ignore[union-attr]
        return tuple(found)

    held = tuple(v for r in rows for v in r.held)  # type: ignore[union-attr]
    return Rows(math.prod((r.count for r in rows), start=ix(1)), item, held=held)  # type: ignore[union-attr]


def _as_now(ctx: Context, iterable: Value) -> Value:
    """What gives the items that there are now: the numbers of an array may change later."""
    numbers = isinstance(iterable, ViewValue) and iterable.ndim == 1
    return ctx.builder.fresh_copy(iterable, "items") if numbers else iterable


def count(ctx: Context, start: Value = 0, step: Value = 1) -> Value:
    first, by = to_int(ctx, start), to_int(ctx, step)
    return Endless(lambda k: int_value(k * int_ix(by) + int_ix(first)))


def cycle(ctx: Context, iterable: Value) -> Value:
    items = [kept(ctx, v) for v in items_of(ctx, iterable)]
    if not items:
        return ()
    column = column_of(items)  # of numbers of Python's
    table = stored_column(ctx, column) if column is not None else None
    row = ctx.builder.materialise(as_array(ctx, ctx.invoke(ctx, np.array, [tuple(items)], {})), "cycle") if (
        table is None and all(is_number(v) or isinstance(v, ArrayValue) and v.scalar for v in items)) else None
    weak = all(as_array(ctx, v).weak for v in items) if row is not None else False

    def item(k: Ix) -> Value:
        place = mod(k, ix(len(items)))
        if place.const is not None:
            return items[place.const]
        if table is not None:
            return item_of_column(ctx, table, place)
        if row is None:
            raise ctx.refuse("itertools.cycle of other things than numbers in a long loop", "use an array", "SG102")
        found = as_array(ctx, subscript(ctx, row, int_value(place)))
        return convert(ctx, found, found.dtype, weak=True) if weak else found

    return Endless(item, tuple(items))


def repeat(ctx: Context, object: Value, times: Value = None) -> Value:
    if times is None:
        return Endless(lambda k: object, (object,))
    return Rows(ctx.builder.scope.greatest(int_ix(to_int(ctx, times)), ix(0)), lambda k: object, held=(object,))


def reduce(ctx: Context, function: Value, iterable: Value, *initial: Value) -> Value:
    items = [*initial, *items_of(ctx, iterable)]
    if not items:
        raise ctx.refuse("functools.reduce of nothing", "give an initial value", "SG102")
    value = items[0]
    for k, item in enumerate(items[1:], start=1):
        value = called(ctx, function, [value, item])
        if k % STORED == 0:
            value = kept(ctx, value)
    return value


def accumulate(ctx: Context, iterable: Value, func: Value = None, *, initial: Value = None) -> Value:
    items = [kept(ctx, v) for v in (() if initial is None else (initial,)) + tuple(items_of(ctx, iterable))]
    step = operator.add if func is None else func
    return picked(ctx, lambda: itertools.accumulate(items, lambda a, b: kept(ctx, called(ctx, step, [a, b]))),
                  (iterable,))


def of_items(made: Callable[..., Any], whole: bool = True) -> Rule:
    """A function of `itertools` that only picks items: what it picks is known while translating. whole: it takes all
    items before it gives the first one."""

    def rule(ctx: Context, iterable: Value, *counts: Value) -> Value:
        numbers = [None if c is None else int(to_int(ctx, c)) for c in counts]
        return picked(ctx, lambda: made(items_of(ctx, iterable), *numbers), () if whole else (iterable,))

    return rule


def islice(ctx: Context, iterable: Value, *counts: Value) -> Value:
    """`itertools.islice`, of iterators without an end, too."""
    if not isinstance(iterable, Endless):
        return of_items(itertools.islice, False)(ctx, iterable, *counts)
    places = slice(*(None if c is None else int(to_int(ctx, c)) for c in counts))
    if places.stop is None:
        raise ctx.refuse("itertools.islice without an end of an iterator without an end", "say where it ends", "SG102")
    return Picked(iterable.item(ix(k)) for k in range(places.start or 0, places.stop, places.step or 1))


def following(ctx: Context, iterator: Value, *default: Value) -> Value:
    """`next(iterator)`, and `next(iterator, default)`: one item, the others are left."""
    if not isinstance(iterator, Iterated):
        raise ctx.refuse(f"next of {describe(iterator)}", "next takes what iter(...) gives", "SG102")
    given = taken(ctx, iterator, True)
    if isinstance(given, Endless):
        iterator.items.append(lambda: Endless(lambda k: given.item(k + 1), given.held))
        return given.item(ix(0))
    if isinstance(given, Grown) and given.counter is not None:
        begin_to_use(iterator)
        return ctx.invoke(ctx, choosing.next_or if default else choosing.next_of, [given, *default], {})
    rows = rows_of(ctx, given) if isinstance(given, (ArrayValue, Rows)) else None
    items = [] if rows is not None else items_of(ctx, given)
    if rows.count.const if rows is not None else items:
        left = picked(ctx, lambda: items[1:], (given,)) if rows is None else Rows(
            rows.count - 1, lambda k: rows.item(k + 1), held=rows.held)
        iterator.items.append(lambda: left)
        return items[0] if rows is None else rows.item(ix(0))
    if rows is not None and rows.count.const is None or not default:
        refuse = ctx.refuse if rows is not None and rows.count.const is None else partial(ctx.raises, StopIteration)
        raise refuse("next of an iterator that may have come to its end", "loop over it", "SG102")
    return default[0]


def tee(ctx: Context, iterable: Value, n: Value = 2) -> Value:
    """`itertools.tee`: iterators over the same items, each at a place of its own."""
    items = [kept(ctx, v) for v in items_of(ctx, iterable)]
    return tuple(ctx.invoke(ctx, iter, [list(items)], {}) for _ in range(int(to_int(ctx, n))))


def starmap(ctx: Context, function: Value, iterable: Value) -> Value:
    return picked(ctx, lambda: (kept(ctx, called(ctx, function, items_of(ctx, v)))
                                for v in items_of(ctx, iterable)), (iterable,))


def while_true(made: Callable[..., Any]) -> Rule:
    """A function of `itertools` that asks a condition of each item, which has to be known while translating."""

    def rule(ctx: Context, predicate: Value, iterable: Value) -> Value:
        def holds(item: Value) -> bool:
            found = known_truth(ctx, item if predicate is None else ctx.invoke(ctx, predicate, [item], {}))
            if found is None:
                raise ctx.refuse(f"{made.__name__} with a condition that depends on data",
                                 "use a loop with if, or a mask: x[x > 0]", "SG102")
            return found

        return picked(ctx, lambda: made(holds, items_of(ctx, iterable)), (iterable,))

    return rule


def groupby(ctx: Context, iterable: Value, key: Value = None) -> Value:
    """`itertools.groupby`, where keys are known while translating."""
    def key_of(item: Value) -> Value:
        found = item if key is None else ctx.invoke(ctx, key, [item], {})
        if any(not is_number(part) and not isinstance(part, (str, tuple)) for part in contained(found)):
            raise ctx.refuse("itertools.groupby with keys that depend on data", "use a loop with if", "SG102")
        return found

    return Picked((k, Picked(group)) for k, group in itertools.groupby(items_of(ctx, iterable), key_of))


def compress(ctx: Context, data: Value, selectors: Value) -> Value:
    chosen = [known_truth(ctx, v) for v in items_of(ctx, selectors)]
    if None in chosen:
        raise ctx.refuse("itertools.compress by data", "use a mask: x[mask]", "SG102")
    return picked(ctx, lambda: itertools.compress(items_of(ctx, data), chosen), (data,))


def chained(ctx: Context, iterable: Value) -> Value:
    """`itertools.chain.from_iterable`."""
    return chain(ctx, *items_of(ctx, iterable))


def chain(ctx: Context, *iterables: Value) -> Value:
    return picked(ctx, lambda: (v for i in iterables for v in items_of(ctx, i)), iterables)


def applied(ctx: Context, function: Value, *arguments: Value, **keywords: Value) -> Value:
    """`functools.partial`."""
    return Applied(function, tuple(kept(ctx, a) for a in arguments), {k: kept(ctx, v) for k, v in keywords.items()})


def ndenumerate(ctx: Context, arr: Value) -> Value:
    """`np.ndenumerate`: places and elements, row by row."""
    stored = ctx.builder.materialise(as_array(ctx, arr), "items")
    places = rows_of(ctx, ctx.invoke(ctx, np.ndindex, [tuple(int_value(n) for n in stored.shape)], {}))
    assert places is not None
    return Rows(places.count, lambda k: (places.item(k), subscript(ctx, stored, places.item(k))), held=(stored,))


FUNCTIONS: Mapping[Any, Rule] = MappingProxyType({
    functools.reduce: reduce, itertools.product: product, itertools.repeat: repeat, itertools.chain: chain,
    itertools.accumulate: accumulate, itertools.combinations: of_items(itertools.combinations),
    itertools.permutations: of_items(itertools.permutations), itertools.pairwise: of_items(itertools.pairwise, False),
    itertools.combinations_with_replacement: of_items(itertools.combinations_with_replacement),
    itertools.tee: tee, itertools.islice: islice, next: following, itertools.starmap: starmap,
    itertools.chain.from_iterable: chained, itertools.takewhile: while_true(itertools.takewhile),
    itertools.dropwhile: while_true(itertools.dropwhile), itertools.filterfalse: while_true(itertools.filterfalse),
    filter: while_true(filter), itertools.groupby: groupby, itertools.compress: compress,
    functools.wraps: lambda ctx, wrapped, *names: choosing.itself,
    itertools.count: count, itertools.cycle: cycle,  functools.partial: applied, np.ndenumerate: ndenumerate,
})
"""The functions, with their rules."""
