"""Operators of numbers: integers that the run tells stay indices as long as their dtype has room for them."""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sdfgad.frontend.elements.elementwise import (
    AS_INDEX,
    BOOL,
    FLOAT,
    INT,
    UFUNCS,
    apply,
    as_array,
    convert,
    int_ix,
    int_value,
    is_large,
    of_parts,
    signature,
    to_ix,
    truth,
)
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, Lazy, Value, is_int, is_number
from sdfgad.ir.expr import Index, call, const, wraps
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Failure

_MOST_FACTORS = 4
_WRITTEN = "write it with floats, 2.0 ** -k"


def operated(ctx: Context, ufunc: np.ufunc, left: Value, right: Value) -> Value:
    """`left op right` of numbers and arrays. The square of booleans is of 8 bits, where `np.power` has 64."""
    squares = ufunc is np.power and type(right) is int and right == 2 and isinstance(left, ArrayValue)
    if squares and left.dtype == BOOL and not left.scalar:
        return ctx.invoke(ctx, np.square, [left], {})
    if ufunc is np.power and (found := _power(ctx, left, right)) is not None:
        return found
    as_index = _integers(ctx, ufunc, left, right)
    return apply(ctx, ufunc, left, right) if as_index is None else as_index


def _power(ctx: Context, base: Value, exponent: Value) -> Value | None:
    """A power of integers whose exponent may be negative: of Python's a float, which serves as well where it is not,
    and an error of NumPy's. None of any other power."""
    if is_number(base) and is_number(exponent):
        return None
    parts = [as_array(ctx, v) for v in (base, exponent)]
    if any(p.dtype.kind not in "biu" for p in parts):
        return None
    if not all(p.weak for p in parts):
        no_negative_powers(ctx, parts)
        return None
    i = to_ix(parts[1].at(())) if not parts[1].shape else None
    low = None if i is None else ctx.builder.scope.bounds(i)[0]
    if low is not None and low >= 0 or parts[1].dtype.kind in "bu":
        return None
    if low is not None or i is not None and all(factor < 0 for _, factor in i.terms):
        return apply(ctx, np.power, convert(ctx, base, FLOAT, True), exponent)
    failure = Failure(ArithmeticError, (f"an integer to a negative power, which is a float: {_WRITTEN}",))
    if any(w.handler(failure.form) for w in ctx.watches):
        raise ctx.refuse("a power of integers in a try statement that catches ArithmeticError", _WRITTEN, "SG102")
    below = call("lt", parts[1].at(()), const(0, parts[1].dtype), dtype=BOOL)
    raise_if(ctx, below, lambda: fail(ctx, failure))
    return None


def no_negative_powers(ctx: Context, values: Sequence[Value]) -> None:
    """Refuse `np.power` of integers with a negative exponent, as NumPy does, or have the run stop where data make one.
    """
    parts = [as_array(ctx, v) for v in values]
    kinds = [p.dtype.kind for p in parts]
    if kinds[0] not in "biu" or kinds[1] != "i" or signature(ctx, np.power, parts)[1].kind != "i":
        return
    domain, position = ctx.builder.domain(parts[1].shape)
    i = to_ix(parts[1].at(position))
    low, high = (None, None) if i is None else ctx.builder.scope.bounds(i, domain)
    if low is not None and low >= 0:
        return
    what = "an integer of NumPy's to a negative power"
    if high is not None and high < 0:
        raise ctx.raises(ValueError, what, _WRITTEN, "SG104")
    if any(w.handler(ValueError) for w in ctx.watches):
        raise ctx.refuse(f"{what} in a try statement that catches ValueError", _WRITTEN, "SG102")
    if isinstance(parts[1], Lazy) and parts[1].stored is None:  # it is used twice
        ctx.builder.materialise(parts[1], "exponent")
    below = apply(ctx, np.less, parts[1], 0)
    found = as_array(ctx, ctx.invoke(ctx, np.any, [below], {}) if parts[1].shape else below)
    raise_if(ctx, truth(found.at(())), lambda: fail(ctx, Failure(ValueError, (
        f"integers to negative integer powers are not allowed: {_WRITTEN}",))))


def _integers(ctx: Context, ufunc: np.ufunc, a: Value, b: Value) -> Value | None:
    """Arithmetic that stays an index: None where indices cannot express it."""
    if not (is_int(a) and is_int(b)) or not (isinstance(a, IntValue) or isinstance(b, IntValue)) or wraps(
            int_dtype(a, b)):
        return None
    fn, left, right, dtype = UFUNCS.get(ufunc, ""), int_ix(a), int_ix(b), int_dtype(a, b)
    if ufunc is np.power and right.const is not None and 0 <= right.const <= _MOST_FACTORS:
        found = math.prod([left] * right.const, start=ix(1))
    elif fn in AS_INDEX:
        found = of_parts(fn, (left, right), dtype)
    else:
        return None
    return int_value(found, dtype) if _has_room(ctx, found, dtype) else None


def int_dtype(a: Value, b: Value) -> np.dtype | None:
    """The dtype of what is computed of two integers, None of Python's."""
    strong = [v.dtype for v in (a, b) if getattr(v, "dtype", None) is not None]
    return np.result_type(*strong) if strong else None


def _has_room(ctx: Context, i: Ix, dtype: np.dtype | None) -> bool:
    """Whether an integer of this dtype does not wrap around, as far as is known: Python's never do."""
    if dtype is None:
        return True
    low, high = ctx.builder.scope.bounds(i)
    if low is None or high is None:
        return not is_large(i) and (dtype.itemsize == 8 or bool(i.elems) or not _may_leave(i))
    limits = np.iinfo(dtype)
    return bool(limits.min <= low and high <= limits.max)


def of_type(ctx: Context, value: IntValue, kind: np.dtype) -> IntValue | None:
    """`np.int8(value)`: of Python's integers the run looks whether they fit; None for those of NumPy's that may not."""
    low, high = ctx.builder.scope.bounds(value.ix)
    limits = np.iinfo(kind)
    below = limits.min > -2 ** 63 and (_is_open(value.ix, kind) if low is None else low < limits.min)
    above = limits.max < 2 ** 63 - 1 and (_is_open(value.ix, kind) if high is None else high > limits.max)
    if value.dtype is not None:
        return None if below or above else IntValue(value.ix, kind)
    for fn, limit in [("lt", limits.min)] * below + [("gt", limits.max)] * (above and kind.itemsize < 8):
        beyond = call(fn, Index(value.ix, INT), const(int(limit), INT), dtype=BOOL)
        raise_if(ctx, beyond, lambda: fail(ctx, Failure(OverflowError, (
            f"Python integer out of bounds for {kind}",))))
    return IntValue(value.ix, kind)


def _is_open(i: Ix, kind: np.dtype) -> bool:
    """Whether nobody knows that a number fits."""
    return kind.itemsize < 4 or bool(i.elems) or _may_leave(i)


def _may_leave(i: Ix) -> bool:
    """Whether counters may leave 32 bits: those of loops of unknown length are taken to fit, alone or nearly so."""
    return any(abs(factor) > (1 if atoms else 2 ** 16) for atoms, factor in i.terms)
