"""Items of lists that are looked for among values that data decide: `d.index(min(d))`, `d.count(0.0)`."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import BOOL, as_array
from sdfgad.frontend.failing import fail, raise_if
from sdfgad.frontend.values import ArrayValue, IntValue, Value, is_number
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
