"""Items of lists that are looked for among values that data decide: `d.index(min(d))`, `d.count(0.0)`."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sdfgad.frontend.elements.elementwise import BOOL, as_array
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, Value, contained, is_number
from sdfgad.ir.expr import call
from sdfgad.ir.program import Failure


def are_numbers(values: Sequence[Value]) -> bool:
    """Whether these are numbers, known now or in the run."""
    return all(is_number(v) or isinstance(v, IntValue) or isinstance(v, ArrayValue) and not v.shape for v in values)


def looked_for(ctx: Context, name: str, items: Sequence[Value], value: Value) -> Value:
    """`items.index(value)`, Python's error where it is not there, or `items.count(value)`."""
    found = ctx.invoke(ctx, np.equal, [ctx.invoke(ctx, np.array, [list(items)], {}), value], {})
    hits = ctx.builder.materialise(as_array(ctx, found), "hits")
    if name == "count":
        return ctx.invoke(ctx, int, [ctx.invoke(ctx, np.count_nonzero, [hits], {})], {})
    somewhere = as_array(ctx, ctx.invoke(ctx, np.any, [hits], {}))
    ctx.builder.flush()
    nowhere = call("not", somewhere.at(()), dtype=BOOL)
    raise_if(ctx, nowhere, lambda: fail(ctx, Failure(ValueError, ("the value is not in the list",))))
    return ctx.invoke(ctx, int, [ctx.invoke(ctx, np.argmax, [hits], {})], {})


def check_not_nan(ctx: Context, value: Value, items: Sequence[Value]) -> None:
    """Stop a run that asks whether NaN is in a list that holds NaN: it is if the two are one object of Python's."""
    sides = [[ctx.invoke(ctx, np.isnan, [p], {}) for p in contained(side) if is_float(p)]
             for side in (value, tuple(items))]
    if not all(sides):
        return
    both = [as_array(ctx, ctx.invoke(ctx, np.any, [tuple(side)], {})) for side in sides]
    ctx.builder.flush()
    unknown = call("and", *(b.at(()) for b in both), dtype=BOOL)
    raise_if(ctx, unknown, lambda: fail(ctx, Failure(ArithmeticError, ("NaN is looked for where there is NaN",))))


def is_float(value: Value) -> bool:
    """Whether a value is a number of floating point that the run tells."""
    return isinstance(value, ArrayValue) and not value.shape and value.dtype.kind == "f"
