"""Operators on any mixture of values: numbers, run-time integers, arrays, masked data, tuples and text."""
from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.arrays import sparse
from sdfgad.frontend.arrays.grown import finished, items
from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.masking import (
    CHOSEN,
    as_masked,
    beside_columns,
    for_each_row,
    is_stored,
    makes_columns,
    of_one_length,
    same_mask,
    stored_numbers,
    table_of,
)
from sdfgad.frontend.arrays.submatrices import is_outer, on_blocks, with_own_array
from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.elements import caught
from sdfgad.frontend.elements.comparisons import compare
from sdfgad.frontend.elements.elementwise import BOOL, as_array, describe, int_value, lift, truth
from sdfgad.frontend.elements.run_integers import operated
from sdfgad.frontend.functions.of_python import check_operands, is_of_python
from sdfgad.frontend.merging.generators import Yielding, interrupted, listed, only_numbers
from sdfgad.frontend.merging.magnitudes import within_bits
from sdfgad.frontend.state.chosen_texts import ChosenText, compared
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import Numbered, SetValue
from sdfgad.frontend.state.values import (
    ArrayValue,
    Block,
    Entries,
    Grown,
    IntValue,
    Iterated,
    Lazy,
    ListValue,
    Masked,
    MaskPlaces,
    Maybe,
    NoneOr,
    Reading,
    Record,
    Rows,
    RunText,
    SelectedColumns,
    Value,
    ViewValue,
    contained,
    is_int,
    is_number,
    like,
)
from sdfgad.frontend.static import sets
from sdfgad.frontend.static.picked import Picked, asked
from sdfgad.frontend.static.run_texts import combined
from sdfgad.frontend.static.sets import is_set
from sdfgad.frontend.static.settled import Endless, settled, taken, unsettled
from sdfgad.frontend.static.sizes import as_integer
from sdfgad.ir.expr import Const, call, const, wraps
from sdfgad.ir.index import ix

_SEQUENCES: Mapping[np.ufunc, Any] = MappingProxyType({np.add: operator.add, np.multiply: operator.mul,
                                                       np.remainder: operator.mod})
_TEXT = (str, tuple, list, ListValue, Grown)


def binary(ctx: Context, ufunc: np.ufunc, left: Value, right: Value) -> Value:
    """`left op right` for Python's operators."""
    if isinstance(left, Reading) or isinstance(right, Reading):
        return Reading()
    if is_set(left) and is_set(right) and (found := sets.combined(ctx, ufunc, left, right)) is not None:
        return found
    if ufunc is np.matmul and (sparse.is_sparse(left) or sparse.is_sparse(right)):
        return sparse.product(ctx, left, right)
    if ufunc is np.matmul:
        return ctx.invoke(ctx, np.matmul, [left, right], {})
    if (text := combined(ufunc, left, right)) is not None:
        return text
    if isinstance(left, _TEXT) or isinstance(right, _TEXT):
        joined = _sequences(ctx, ufunc, left, right)
        if joined is not None:
            return joined
    left, right = check_operands(ctx, ufunc, left, right)
    left, right = as_masked(ctx, left), as_masked(ctx, right)
    if isinstance(left, CHOSEN) or isinstance(right, CHOSEN):
        return on_masked(ctx, ufunc, left, right)
    result = operated(ctx, ufunc, left, right)
    caught.of_operator(ctx, ufunc, left, right, result)
    within_bits(ctx, ufunc, left, right, result)
    return result


def _sequences(ctx: Context, ufunc: np.ufunc, left: Value, right: Value) -> Value | None:
    """Concatenation and repetition of tuples, lists and text."""
    rule = _SEQUENCES.get(ufunc)
    if ufunc is np.multiply:  # an integer of NumPy's repeats; an array of one is multiplied by what is in the list
        left, right = (to_int(ctx, v) if isinstance(v, ArrayValue) and v.scalar and v.dtype.kind in "iu" else v
                       for v in (left, right))
    if rule is None or isinstance(left, ArrayValue) or isinstance(right, ArrayValue):
        return None
    if isinstance(left, IntValue) or isinstance(right, IntValue):
        raise ctx.refuse("a list, tuple or text whose length is only known at run time",
                         as_integer(ctx, (left, right), "give it a length known before the call"), "SG103")
    pair = [kept(ctx, v) if ufunc is np.multiply else v for v in (left, right)]  # the former for items used again
    plain = [items(ctx, v) if isinstance(v, Grown) else v.items if isinstance(v, ListValue) else v for v in pair]
    lists = any(isinstance(v, (ListValue, Grown)) for v in (left, right))
    try:
        result = rule(*plain)
    except TypeError:
        return None
    return ListValue(result, len(ctx.builder.regions)) if lists else result


def unary(ctx: Context, ufunc: np.ufunc, operand: Value) -> Value:
    """`op operand`."""
    if isinstance(operand, Reading):
        return operand
    if ufunc is np.negative and sparse.is_sparse(operand):
        return operand.matrix if isinstance(operand, sparse.Negative) else sparse.Negative(operand)
    operand = as_masked(ctx, operand)
    if isinstance(operand, CHOSEN):
        return on_masked(ctx, ufunc, operand)
    if isinstance(operand, IntValue) and ufunc in (np.negative, np.positive) and not wraps(operand.dtype):
        return IntValue(-operand.ix, operand.dtype) if ufunc is np.negative else operand
    return ctx.invoke(ctx, ufunc, check_operands(ctx, ufunc, operand), {})


def comparison(ctx: Context, ufunc: np.ufunc, left: Value, right: Value) -> Value:
    """`left < right` and the like."""
    if isinstance(left, Reading) or isinstance(right, Reading):
        return Reading()
    if isinstance(left, ChosenText) or isinstance(right, ChosenText):
        return compared(ufunc, left, right, lambda a, b: comparison(ctx, ufunc, a, b))
    left, right = as_masked(ctx, left), as_masked(ctx, right)
    if isinstance(left, CHOSEN) or isinstance(right, CHOSEN):
        return on_masked(ctx, ufunc, left, right)
    plain = [v.items if isinstance(v, (ListValue, SetValue)) else v for v in (left, right)]
    kinds = {v.kind for v in (left, right) if isinstance(v, (ListValue, Grown))}
    if any(isinstance(v, (Record, Entries, Grown, Numbered)) for v in plain) or kinds - {list}:
        raise ctx.refuse("a comparison of dictionaries or objects or long lists", "compare what they hold", "SG102")
    if not any(isinstance(v, (ArrayValue, IntValue)) or is_number(v) for v in plain):
        return _plain_comparison(ctx, ufunc, *plain)
    odd = any(v is None or isinstance(v, str) for v in plain) or is_of_python(left, right)
    if odd and ufunc in (np.equal, np.not_equal) and not any(isinstance(v, ArrayValue) and v.shape for v in plain):
        return ufunc is np.not_equal
    check_operands(ctx, ufunc, left, right)
    return compare(ctx, ufunc, left, right)


def _plain_comparison(ctx: Context, ufunc: np.ufunc, left: Value, right: Value) -> Value:
    if _has_run_time(left) or _has_run_time(right):
        if isinstance(left, tuple) and isinstance(right, tuple) and ufunc in (np.equal, np.not_equal):
            return _tuples_equal(ctx, left, right, ufunc is np.equal)
        raise ctx.refuse("a comparison of tuples or lists of run-time values", code="SG102")
    try:
        return bool(getattr(operator, _NAMES[ufunc])(left, right))
    except TypeError as error:
        raise ctx.refuse(f"a comparison that fails: {error}", code="SG102") from error


_NAMES: Mapping[np.ufunc, str] = MappingProxyType({
    np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge",
    np.equal: "eq", np.not_equal: "ne"})


def _has_run_time(value: Value) -> bool:
    """Whether a comparison cannot be made now, by Python's own operators."""
    own = not isinstance(value, type) and isinstance(type(value).__eq__, FunctionType)
    return own or isinstance(value, (ArrayValue, IntValue, ListValue, Grown, Record, Entries, NoneOr)) or (
        isinstance(value, (tuple, list)) and any(_has_run_time(v) for v in value))


def _tuples_equal(ctx: Context, left: tuple, right: tuple, equal: bool) -> Value:
    """Shapes compared with each other: equal when every size is."""
    if len(left) != len(right):
        return not equal
    result: Value = True
    for a, b in zip(left, right, strict=True):
        result = both(ctx, result, comparison(ctx, np.equal, a, b))
    return result if equal else negation(ctx, result)


def membership(ctx: Context, value: Value, items: Collection[Value]) -> Value:
    """`value in items`: decided now, or at run time by comparisons of integers with each other."""
    if (odd := next((p for v in (value, *items) for p in contained(v) if isinstance(p, (RunText, NoneOr))), None)):
        raise ctx.refuse(f"a membership test of {describe(odd)}", code="SG102")
    data = [n for v in (value, *items) for n in _run_time_numbers(v)]
    if not data:
        return value in items
    if isinstance(items, (str, range)) or any(n.shape or n.dtype.kind not in "iubf" for n in data
                                              if isinstance(n, ArrayValue)):
        raise ctx.refuse("a membership test on values only known at run time", "use np.any(values == x)", "SG102")
    absent: Value = True
    for item in items:
        absent = both(ctx, absent, comparison(ctx, np.not_equal, value, item))
    return negation(ctx, absent)


def _run_time_numbers(value: Value) -> list[ArrayValue | IntValue]:
    """What only the run tells of a value that is compared: itself, or parts of tuples and lists."""
    if isinstance(value, (ArrayValue, IntValue)):
        return [value]
    if isinstance(value, ChosenText):
        return [value.number]
    parts = value.items if isinstance(value, ListValue) else value if isinstance(value, (tuple, list)) else ()
    return [n for part in parts for n in _run_time_numbers(part)]


def on_masked(ctx: Context, ufunc: Callable[..., Any], *values: Value) -> Masked | SelectedColumns | Block:
    """An elementwise operation on data selected by one mask, with numbers, and with arrays for each selected row."""
    values = of_one_length(ctx, tuple(as_masked(ctx, v) for v in values))
    if is_outer(values):
        return on_blocks(ctx, ufunc, values)
    if makes_columns(values):
        return SelectedColumns(_on_rows(ctx, ufunc, *(beside_columns(ctx, v) for v in values)))
    return _on_rows(ctx, ufunc, *values)


def _on_rows(ctx: Context, ufunc: Callable[..., Any], *values: Value) -> Masked:
    selected = [v for v in values if isinstance(v, Masked)]
    first = selected[0]
    beside = first.values.ndim - first.mask.ndim
    for other in selected[1:]:
        if not same_mask(first, other):
            raise ctx.refuse("data selected by different masks in one expression", "use np.where", "SG105")
        if other.values.ndim - other.mask.ndim != beside:
            raise ctx.refuse("rows selected by a mask combined with numbers selected by it", "write x[mask][:, None]",
                             "SG105")
    values = tuple(for_each_row(ctx, v, beside) for v in values)
    for v in values:
        if isinstance(v, ArrayValue) and v.ndim > beside:
            raise ctx.refuse("data selected by a mask combined with an array that is not",
                             "select both with the same mask, or use np.where", "SG105")
    parts = [v.values if isinstance(v, Masked) else v for v in values]
    result = as_array(ctx, ctx.invoke(ctx, ufunc, parts, {}))
    return Masked(result, first.mask, first.key, None if isinstance(result, ViewValue) else first.table, first.first)


# truth

def known_truth(ctx: Context, value: Value) -> bool | None:
    """The truth of a value when it is known now."""
    if isinstance(value, Reading):
        raise ctx.refuse("a decision by a clock", "count iterations instead", "SG107")
    if isinstance(value, IntValue):
        low, high = ctx.builder.scope.bounds(value.ix)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return True
        return False if low == high == 0 else None
    if isinstance(value, ArrayValue):
        if not value.shape and isinstance(value, Lazy) and value.stored is None:
            e = value.at(())
            return bool(e.value) if isinstance(e, Const) else None
        return None
    if isinstance(value, (NoneOr, ChosenText)):
        return None
    if isinstance(value, CHOSEN):
        raise ctx.refuse("the truth of data selected by a mask", "use .any() or .all()", "SG105")
    if isinstance(value, (ListValue, SetValue)):
        return bool(value.items)
    if isinstance(value, Grown):
        if value.counter is not None:
            return known_truth(ctx, int_value(value.length))
        return ctx.builder.scope.nonnegative(value.now.length - 1) or finished(ctx, value) > 0
    form = value.form if isinstance(value, Record) else type(value)
    rule = getattr(form, "__bool__", getattr(form, "__len__", None))
    if isinstance(value, Numbered) or isinstance(rule, FunctionType):
        if isinstance(value, Numbered) or (known := known_truth(ctx, ctx.invoke(ctx, rule, [value], {}))) is None:
            raise ctx.refuse(f"the truth of {describe(value)}, which its class computes", "compare with None", "SG107")
        return known
    return bool(settled(ctx, value)) if isinstance(value, Record) and issubclass(form, dict) else bool(value)


def truth_value(ctx: Context, value: Value) -> ArrayValue:
    """A run-time value as a boolean scalar."""
    if isinstance(value, NoneOr):
        decided = known_truth(ctx, value.value)
        return as_array(ctx, both(ctx, value.there, value.value if decided is None else decided))
    if isinstance(value, ChosenText):
        return as_array(ctx, negation(ctx, membership(ctx, value, (None, ""))))
    operand = as_array(ctx, int_value(value.length) if isinstance(value, Grown) else value)
    if any(n.const != 1 for n in operand.shape):
        raise ctx.refuse(f"the truth of {describe(value)}", "use .any() or .all(), or np.where for each element",
                         "SG107")
    position = tuple(n * 0 for n in operand.shape)
    e = truth(operand.at(position))
    return ctx.builder.lazy((), BOOL, lambda _: e, operand.reads, True)


def negation(ctx: Context, value: Value) -> Value:
    """`not value`."""
    decided = known_truth(ctx, value)
    if decided is not None:
        return not decided
    return lift(ctx, (truth_value(ctx, value),), BOOL, lambda e: call("not", e, dtype=BOOL), True)


def both(ctx: Context, first: Value, second: Value) -> Value:
    """`first and second` of two comparisons, the second evaluated only when the first holds."""
    if first is True:
        return second
    if first is False or second is True:
        return first
    if isinstance(first, np.bool_):
        return second if first else first
    test = truth_value(ctx, first)
    return lift(ctx, (test, truth_value(ctx, second)), BOOL,
                lambda a, b: call("select", a, b, const(False, BOOL), dtype=BOOL), True)


# values kept for later

def kept(ctx: Context, value: Value, label: str = "tmp") -> Value:
    """A value that may be used several times: results not stored yet are stored now, iterators become such."""
    if isinstance(value, (Rows, Picked)):
        held = value.held if isinstance(value, Rows) else (kept(ctx, tuple(value), label),)
        again = value if isinstance(value, Rows) else value.of(held[0])
        return Iterated([lambda: asked(ctx, again)], len(ctx.builder.regions), held)
    if isinstance(value, Endless):
        return Iterated([lambda: value], len(ctx.builder.regions), value.held)
    if isinstance(value, tuple):
        return like(value, [kept(ctx, v, label) for v in value])
    if isinstance(value, ListValue):
        value.items[:] = [kept(ctx, v, label) for v in value.items]
        return value
    if isinstance(value, Record):
        value.items.update({k: kept(ctx, v, label) for k, v in value.items.items()})
        return value
    if isinstance(value, NoneOr):
        return type(value)(kept(ctx, value.there, label), kept(ctx, value.value, label), value.told)
    if isinstance(value, SelectedColumns):
        return SelectedColumns(kept(ctx, value.rows, label))
    if isinstance(value, Block):
        return with_own_array(ctx, value, label)
    if isinstance(value, Masked) and isinstance(value.mask, Lazy):
        value = replace(value, mask=ctx.builder.materialise(value.mask, "mask"))
    if isinstance(value, Masked) and is_stored(value):
        return value
    if isinstance(value, Masked):
        return Masked(stored_numbers(ctx, value, label), value.mask, value.key, table_of(ctx, value.mask), value.first)
    if isinstance(value, Lazy):
        return constant_of(value) if constant_of(value) is not None else ctx.builder.materialise(value, label)
    return value


def constant_of(value: Lazy) -> Value | None:
    """The number a scalar stands for, when it is known now."""
    if value.shape or value.stored is not None:
        return None
    e = value.at(())
    if not isinstance(e, Const):
        return None
    return e.value if value.weak else value.dtype.type(e.value)


def items_of(ctx: Context, value: Value) -> list[Value]:
    """The items of something whose length is known now."""
    value = taken(ctx, value, True)
    if isinstance(value, Yielding):
        if not only_numbers(value):
            raise interrupted(ctx, value)
        value = listed(ctx, value)
    if isinstance(value, ListValue):
        if any(isinstance(v, Maybe) for v in value.items):
            raise unsettled(ctx, "an item of a list")
        return list(value.items)
    if isinstance(value, Grown):
        return items(ctx, value)
    if isinstance(value, MaskPlaces) and value.parts:
        return list(value.parts)
    if isinstance(value, (SetValue, tuple, list, range, str, zip, enumerate, reversed, map, dict)):
        return list(value.items if isinstance(value, SetValue) else value)
    if isinstance(value, Record) and issubclass(value.form, dict):
        return list(settled(ctx, value))
    if isinstance(value, Entries):
        return [value.at(k) for k in range(len(settled(ctx, value.owner)))]
    if isinstance(value, ArrayValue) and value.shape and value.shape[0].const is not None:
        value = ctx.builder.materialise(value, "tmp")
        return [subscript(ctx, value, k) for k in range(value.shape[0].const)]
    if isinstance(value, Rows) and value.count.const is not None:
        return [value.item(ix(k)) for k in range(value.count.const)]
    raise ctx.refuse(f"{describe(value)} where a sequence of known length is needed", code="SG102")


__all__ = ("binary", "unary", "comparison", "membership", "on_masked", "known_truth", "truth_value", "negation", "both",
           "kept", "constant_of", "items_of", "is_int")
