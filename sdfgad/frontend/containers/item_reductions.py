"""`sum`, `max` and `min` of Python: of arrays as NumPy has them, of items one after the other."""
from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.arrays.grown import as_data
from sdfgad.frontend.arrays.views import named_int
from sdfgad.frontend.bodies import choosing
from sdfgad.frontend.containers.classes import iterated
from sdfgad.frontend.elements.elementwise import apply, as_array, convert, describe, fold, int_ix, int_value, select
from sdfgad.frontend.elements.run_integers import int_dtype
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.functions.reductions import sum_
from sdfgad.frontend.merging.generators import Yielding, listed
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    Grown,
    IntValue,
    Iterated,
    Masked,
    RangeValue,
    Record,
    Value,
    is_int,
    is_number,
)
from sdfgad.frontend.static.settled import taken, unused

_MOST_TERMS = 128
"""Items that `sum` adds one after the other, as Python does."""
_NOTHING = object()


def builtin_extremum(ufunc: np.ufunc, reducer: Callable[..., Value]) -> Callable[..., Value]:
    """`max(a, b, ...)`, `max(sequence)`: a later value wins only when it compares strictly better."""

    def rule(ctx: Context, *values: Value, key: Value = None, default: Value = _NOTHING) -> Value:
        values = (iterated(ctx, values[0]),) if len(values) == 1 else values
        if key is not None and len(values) == 1 and isinstance(values[0], RangeValue):
            span = values[0]
            if not ctx.builder.scope.nonnegative((span.stop - span.start) * (1 if span.step > 0 else -1) - 1):
                raise ctx.refuse("the builtin extremum of a range that may be empty", "give its ends so that it is not",
                                 "SG103")
            ends = [int_value(span.start), int_value(span.stop), span.step]
            return ctx.invoke(ctx, choosing.first_best_of_range, [*ends, key, ufunc is np.greater], {})
        if key is not None or default is not _NOTHING:
            items = items_of(ctx, values[0]) if len(values) == 1 else list(values)
            if not items and default is not _NOTHING:
                return default
            return rule(ctx, *items) if key is None and len(items) > 1 else items[0] if key is None else ctx.invoke(
                ctx, choosing.first_best, [tuple(items), key, ufunc is np.greater], {})
        if len(values) == 1:
            sequence = as_data(ctx, values[0])
            if isinstance(sequence, (ArrayValue, Masked)):
                if (sequence if isinstance(sequence, ArrayValue) else sequence.values).ndim != 1:
                    raise ctx.refuse(f"the builtin extremum of {describe(values[0])}", "use np.max or np.min", "SG107")
                if isinstance(sequence, ArrayValue) and sequence.dtype.kind == "f" and sequence.shape[0].const != 0:
                    sequence = ctx.invoke(ctx, choosing.first_for_nan, [sequence], {})
                return _as_its_items(ctx, values[0], reducer(ctx, sequence))
            values = tuple(items_of(ctx, values[0]))
        if any(isinstance(v, (tuple, Record)) for v in values):
            return ctx.invoke(ctx, choosing.first_best, [values, choosing.itself, ufunc is np.greater], {})
        if not values:
            raise ctx.raises(ValueError, "the builtin extremum of nothing", "give default=", "SG103")
        best = values[0]
        for other in values[1:]:
            best = _better(ctx, ufunc, best, other)
        return best

    return rule


def _better(ctx: Context, ufunc: np.ufunc, best: Value, other: Value) -> Value:
    if is_number(best) and is_number(other):
        return other if fold(ctx, ufunc, other, best) else best
    if is_int(best) and is_int(other):
        scope = ctx.builder.scope
        pick = scope.greatest if ufunc is np.greater else scope.least
        kinds = [getattr(v, "dtype", None) for v in (best, other)]
        ctx.mixed |= (kinds[0] is None) != (kinds[1] is None)
        return int_value(pick(int_ix(best), int_ix(other)), int_dtype(best, other))
    parts = [as_array(ctx, v) for v in (best, other)]
    if any(p.shape for p in parts):
        raise ctx.refuse("the builtin extremum of arrays", "use np.maximum or np.minimum", "SG107")
    stored = [v if isinstance(v, IntValue) or is_number(v) else ctx.builder.materialise(p, "tmp")
              for v, p in zip((best, other), parts, strict=True)]
    return select(ctx, apply(ctx, ufunc, stored[1], stored[0]), stored[1], stored[0], True)


def builtin_sum(ctx: Context, iterable: Value, start: Value = 0) -> Value:
    if isinstance(iterable, Iterated) and iterable.total is not None and unused(ctx, iterable):
        back, items = ctx.mark(), list(iterable.items)
        try:
            iterable.items.clear()
            return iterable.total(start)
        except UnsupportedError:  # a sum that begins as another kind than it ends, as 0 does before arrays
            back()
            iterable.items[:] = items
    iterable = taken(ctx, iterated(ctx, iterable), True)
    if isinstance(iterable, Yielding):
        iterable = listed(ctx, iterable)
    if isinstance(iterable, Grown) and isinstance(iterable.form, (tuple, list)):
        return ctx.invoke(ctx, choosing.total, [iterable, start], {})
    given, iterable = iterable, as_data(ctx, iterable)
    if isinstance(iterable, (ArrayValue, Masked)):
        whole = isinstance(iterable, ArrayValue) and iterable.dtype.kind in "iu" and not isinstance(given, Grown)
        kind = iterable.dtype if whole and isinstance(iterable, ArrayValue) else None  # 0 + x[0] is of x's
        total: Value = _as_its_items(ctx, given, sum_(ctx, iterable, 0, kind))
        return total if is_number(start) and start == 0 else apply(ctx, np.add, start, total)
    total, found = start, items_of(ctx, iterable)
    if len(found) > _MOST_TERMS:
        # Halves, so that no expression nests as deep as there are items; the last digits may be others.
        middle = len(found) // 2
        parts = [builtin_sum(ctx, part, first) for part, first in ((found[:middle], start), (found[middle:], 0))]
        return builtin_sum(ctx, parts, 0)
    for item in found:
        total = ctx.invoke(ctx, operator.add, [total, item], {}) if not (is_int(total) and is_int(item)) else int_value(
            int_ix(total) + int_ix(item))
    return total


def _as_its_items(ctx: Context, given: Value, found: Value) -> Value:
    """What is found of a list of Python's numbers: one of them, which leaves single precision as it is."""
    weak = isinstance(given, Grown) and bool(given.rows) and all(r.weak for r in given.rows)
    if not weak or not isinstance(found, ArrayValue) or found.shape:
        return found
    found = as_array(ctx, convert(ctx, found, found.dtype, True))
    return named_int(ctx, found, "found") if found.dtype.kind == "i" else found
