"""Python's `round`."""
from __future__ import annotations

import numpy as np

from sdfgad.frontend.arrays.views import named_int
from sdfgad.frontend.elements.elementwise import FLOAT, INT, apply, as_array, convert, describe, lift
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import IntValue, Value, is_number
from sdfgad.ir.expr import call, const

MOST_DIGITS = 22
"""Powers of ten up to this one are exact in double precision."""


def round_(ctx: Context, number: Value, ndigits: Value = None) -> Value:
    """`round(number)`, an integer, and `round(number, ndigits)`; halves go to the even neighbour."""
    if is_number(number) and (ndigits is None or isinstance(ndigits, int)):
        return round(number, ndigits)
    if isinstance(number, IntValue) and (ndigits is None or isinstance(ndigits, int) and ndigits >= 0):
        return number
    value = as_array(ctx, number)
    if value.scalar and value.dtype.kind in "iu" and (ndigits is None or isinstance(ndigits, int) and ndigits >= 0):
        return convert(ctx, value, value.dtype) if ndigits is not None else named_int(
            ctx, as_array(ctx, convert(ctx, value, INT, True)), "int")
    if not value.scalar or value.dtype.kind != "f":
        raise ctx.refuse(f"round of {describe(number)}", "Python rounds numbers alone; use np.round", "SG101")
    if ndigits is None:
        return named_int(ctx, as_array(ctx, convert(ctx, apply(ctx, np.rint, value), INT, True)), "int")
    if not isinstance(ndigits, (int, np.integer)) or abs(int(ndigits)) > MOST_DIGITS:
        raise ctx.refuse(f"round to {describe(ndigits)} digits",
                         f"give a number of digits from -{MOST_DIGITS} to {MOST_DIGITS}", "SG101")
    if not value.weak:  # a number of NumPy's is rounded as its arrays are
        return ctx.invoke(ctx, np.round, [value, int(ndigits)], {})
    return lift(ctx, (value,), FLOAT, lambda e: call("decimal", e, const(float(ndigits), FLOAT), dtype=FLOAT), True)
