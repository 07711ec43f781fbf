"""Reductions: one map that sets the start and one that accumulates; of masked data with the mask as a condition."""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeAlias

import numpy as np

from sdfgad.frontend.arrays.masking import masked, only_where, over_mask
from sdfgad.frontend.arrays.submatrices import of_elements
from sdfgad.frontend.elements.elementwise import (
    BOOL,
    INT,
    apply,
    as_array,
    convert,
    describe,
    int_value,
    lift,
    select,
    truth,
)
from sdfgad.frontend.functions import places
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.functions.creation import dtype_of
from sdfgad.frontend.functions.shaping import axis_numbers, expand_dims
from sdfgad.frontend.state.builder import cast
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import SetValue
from sdfgad.frontend.state.values import (
    ArrayValue,
    Block,
    Entries,
    Grown,
    ListValue,
    Masked,
    MaskPlaces,
    PlaceTable,
    Record,
    SelectedColumns,
    Value,
    ViewValue,
    is_int,
    is_number,
)
from sdfgad.ir.expr import Expr, const
from sdfgad.ir.index import Ix, ix

Start = Callable[[Callable[[tuple[Ix, ...]], Expr], tuple[Ix, ...]], Expr]


def reduce_map(ctx: Context, value: ArrayValue, over: tuple[int, ...], op: str, dtype: np.dtype,
               start: Start) -> ViewValue:
    """Accumulate `value` over the dimensions `over` with `op`; `start` makes the first value of each result."""
    builder = ctx.builder
    shape = tuple(n for k, n in enumerate(value.shape) if k not in over)
    domain, position = builder.domain(value.shape)
    target_index = tuple(p for k, p in enumerate(position) if k not in over)
    element = cast(value.at(position), dtype)
    first = tuple(ix(0) if k in over else p for k, p in enumerate(position))
    start_value = cast(start(value.at, first), dtype)
    builder.consume(value)
    array = builder.declare(shape, dtype, ctx.label or "total")
    kept = tuple(r for r in domain if any(t == ix(r.var) for t in target_index))
    builder.store(array.name, target_index, start_value, kept)
    builder.store(array.name, target_index, element, domain, op)
    return builder.view(array, shape, scalar=not shape)


def constant_start(number: complex, dtype: np.dtype) -> Start:
    """The neutral element."""
    return lambda at, first: const(dtype.type(number).item(), dtype)


def _first(at: Callable[[tuple[Ix, ...]], Expr], first: tuple[Ix, ...]) -> Expr:
    return at(first)


def _restored(ctx: Context, a: Value, result: ViewValue, over: tuple[int, ...], keepdims: Value) -> Value:
    if not keepdims:
        return result
    if isinstance(a, Masked):  # what a mask selects lies along one dimension, however many the mask has
        over = tuple(sorted({max(k - a.mask.ndim + 1, 0) for k in over}))
    return expand_dims(ctx, result, tuple(over)) if over else result


Rule: TypeAlias = Callable[..., Value]



def _operand(ctx: Context, a: Value, outside: Value, where: Value = True) -> ArrayValue:
    """The data to reduce, with a neutral value where a mask is off."""
    value = over_mask(ctx, a, outside) if isinstance(a, Masked) else as_array(ctx, a)
    return value if where is True else only_where(ctx, where, value, value.dtype.type(outside), value)


def _reduced(ctx: Context, a: Value, axis: Value, value: ArrayValue) -> tuple[int, ...]:
    """The dimensions of `value`, the data of `a`, that go: what a mask selects lies along those of the mask."""
    if isinstance(a, Masked) and axis is not None:
        return tuple(range(a.mask.ndim))
    return axis_numbers(ctx, axis, value.ndim)


def _by_rows(rule: Rule) -> Rule:
    """A reduction that goes through selected rows one by one where its axes are not the selected one."""

    @wraps(rule)
    def reduced(ctx: Context, a: Value, axis: Value = None, *others: Value, **options: Value) -> Value:
        if isinstance(a, SelectedColumns):
            return _of_columns(ctx, reduced, a, axis, *others, **options)
        if isinstance(a, Block):
            return of_elements(ctx, reduced, a, axis, *others, **options)
        if not isinstance(a, Masked) or axis is None:
            return rule(ctx, a, axis, *others, **options)
        beside = axis_numbers(ctx, axis, 1 + a.values.ndim - a.mask.ndim)
        if beside == (0,):
            return rule(ctx, a, 0, *others, **options)
        if 0 in beside:
            raise ctx.refuse("a reduction along several axes of data selected by a mask", "leave axis away", "SG105")
        within = tuple(k + a.mask.ndim - 1 for k in beside)
        return Masked(as_array(ctx, rule(ctx, a.values, within, *others, **options)), a.mask, a.key, a.table)

    return reduced


def _of_columns(ctx: Context, rule: Rule, a: SelectedColumns, axis: Value, *others: Value, **options: Value) -> Value:
    """A reduction of columns that a mask selects, as one of the rows of the transpose."""
    over = axis_numbers(ctx, axis, 2)
    found = rule(ctx, a.rows, None if len(over) == 2 else 1 - over[0], *others, **options)
    if isinstance(found, Masked):
        return SelectedColumns(found) if found.values.ndim > found.mask.ndim else found
    return ctx.invoke(ctx, np.transpose, [found], {}) if found.ndim == 2 else found


@_by_rows
def sum_(ctx: Context, a: Value, axis: Value = None, dtype: Value = None, keepdims: Value = False, initial: Value = 0,
         where: Value = True) -> Value:
    """`np.sum`."""
    value = _operand(ctx, a, 0, where)
    axes = _reduced(ctx, a, axis, value)
    kind = _sum_dtype(value.dtype) if dtype is None else dtype_of(ctx, dtype)
    result = reduce_map(ctx, value, axes, "+", kind, constant_start(0, kind))
    if axes == (0,) and value.ndim == 1 and isinstance(a, ViewValue) and a.dtype == BOOL and kind == INT and (
            where is True):
        ctx.builder.counted[result.view.array] = masked(ctx, a, a)
    total = _restored(ctx, a, result, axes, keepdims)
    return total if is_number(initial) and initial == 0 else _begun(ctx, np.add, total, initial)


def _sum_dtype(dtype: np.dtype) -> np.dtype:
    if dtype.kind in "bi":
        return INT if dtype.itemsize <= 8 else dtype
    return np.dtype(np.uint64) if dtype.kind == "u" else dtype


def _begun(ctx: Context, ufunc: np.ufunc, found: Value, initial: Value) -> Value:
    """A reduction that begins with another number, in its own dtype."""
    return apply(ctx, ufunc, found, convert(ctx, initial, as_array(ctx, found).dtype))


def extremum(op: str, ufunc: np.ufunc) -> Callable[..., Value]:
    """`np.max` or `np.min`."""

    @_by_rows
    def rule(ctx: Context, a: Value, axis: Value = None, keepdims: Value = False, initial: Value = None,
             where: Value = True) -> Value:
        if where is not True:
            if initial is None:
                raise ctx.refuse("an extremum with where= and without initial=", "pass initial=", "SG101")
            whole = as_array(ctx, a)
            a = only_where(ctx, where, whole, convert(ctx, initial, whole.dtype), whole)
        if isinstance(a, Masked):
            worst = _worst(ctx, a.values.dtype, op)
            value, start = over_mask(ctx, a, worst), constant_start(worst.item(), a.values.dtype)
        else:
            value, start = as_array(ctx, a), _first
        axes = _reduced(ctx, a, axis, value)
        if value.dtype.kind == "c":
            raise ctx.refuse("the extremum of complex numbers", "compare their absolute values", "SG104")
        if any(value.shape[k].const == 0 for k in axes) and initial is None:
            raise ctx.refuse("the extremum of no elements", code="SG103")
        known = initial is None or is_number(initial)
        if initial is not None and known:
            start = constant_start(initial, value.dtype)
        elif not known and any(value.shape[k].const == 0 for k in axes):
            raise ctx.refuse("the extremum of no elements", "take the initial value itself", "SG103")
        found = _restored(ctx, a, reduce_map(ctx, value, axes, op, value.dtype, start), axes, keepdims)
        return found if known else _begun(ctx, ufunc, found, initial)

    return rule


def _worst(ctx: Context, dtype: np.dtype, op: str) -> np.generic:
    if dtype.kind == "f":
        return dtype.type(-np.inf if op == "max" else np.inf)
    if dtype.kind == "b":
        return np.bool_(op != "max")
    limits = np.iinfo(dtype)
    return dtype.type(limits.min if op == "max" else limits.max)


def truths(op: str) -> Callable[..., Value]:
    """`np.any` ("max" of booleans) or `np.all` ("min")."""

    @_by_rows
    def rule(ctx: Context, a: Value, axis: Value = None, keepdims: Value = False) -> Value:
        data = _flags(ctx, a)
        neutral = op == "min"
        value = _operand(ctx, data, np.bool_(neutral))
        axes = _reduced(ctx, a, axis, value)
        if any(n.const == 0 for n in value.shape) and len(axes) == value.ndim and keepdims is False:
            return as_array(ctx, np.bool_(neutral))
        found = reduce_map(ctx, value, axes, op, BOOL, constant_start(neutral, BOOL))
        return _restored(ctx, a, found, axes, keepdims)

    return rule


def _flags(ctx: Context, a: Value) -> Value:
    if isinstance(a, Masked):
        return Masked(_booleans(ctx, a.values), a.mask, a.key)
    return _booleans(ctx, as_array(ctx, a))


def _booleans(ctx: Context, value: ArrayValue) -> ArrayValue:
    return value if value.dtype == BOOL else lift(ctx, (value,), BOOL, truth)


def count_nonzero(ctx: Context, a: Value, axis: Value = None, keepdims: Value = False) -> Value:
    return sum_(ctx, _flags(ctx, a), axis, keepdims=keepdims)


def size_of(ctx: Context, a: Value, axis: Value = None) -> Value:
    """The number of elements, of masked data at run time."""
    if isinstance(a, Block):
        sides = [a.rows, a.columns] if axis is None else [(a.rows, a.columns)[axis]]
        return ctx.invoke(ctx, np.prod, [tuple(size_of(ctx, side) for side in sides)], {})
    if isinstance(a, SelectedColumns):
        over = axis_numbers(ctx, axis, 2)
        return size_of(ctx, a.rows, None if len(over) == 2 else 1 - over[0])
    if isinstance(a, Masked):
        beside = a.values.shape[a.mask.ndim:]
        over = axis_numbers(ctx, axis, 1 + len(beside))
        total: Value = 1 if 0 not in over else places.number_of(ctx, a.mask)
        for k in over:
            total = apply(ctx, np.multiply, total, int_value(beside[k - 1])) if k else total
        return total
    value = as_array(ctx, a)
    total_ix = ix(1)
    for k in axis_numbers(ctx, axis, value.ndim):
        total_ix = total_ix * value.shape[k]
    return int_value(total_ix)


@_by_rows
def mean(ctx: Context, a: Value, axis: Value = None, dtype: Value = None, keepdims: Value = False,
         where: Value = True) -> Value:
    """`np.mean`."""
    if where is not True:
        values, where = as_array(ctx, a), ctx.builder.materialise(as_array(ctx, where), "mask")
        counted = select(ctx, where, values.dtype.type(1) if values.dtype.kind in "fc" else 1.0, 0.0)
        spread = ctx.invoke(ctx, np.broadcast_to, [counted, tuple(int_value(n) for n in values.shape)], {})
        parts = [sum_(ctx, v, axis, dtype, keepdims, where=w) for v, w in ((values, where), (spread, True))]
        return apply(ctx, np.true_divide, *parts)
    if dtype is not None and dtype_of(ctx, dtype).kind == "b":
        raise ctx.refuse("np.mean with dtype=bool", "NumPy gives whether any of them is", "SG104")
    a = a if isinstance(a, Masked) else as_array(ctx, a)
    count = size_of(ctx, a, axis)
    kind = (a.values if isinstance(a, Masked) else a).dtype
    if dtype is None and kind.kind in "biu":
        dtype = np.float64
    total = sum_(ctx, a, axis, dtype, keepdims)
    if isinstance(count, ArrayValue):
        count = convert(ctx, count, np.dtype(np.float32 if total.dtype in (np.float32, np.complex64) else np.float64))
    found = apply(ctx, np.true_divide, total, count)
    whole = as_array(ctx, total).dtype
    return convert(ctx, found, whole) if dtype is not None and whole.kind in "iu" else found


def trace(ctx: Context, a: Value, offset: Value = 0, axis1: Value = 0, axis2: Value = 1,
          dtype: Value = None) -> Value:
    return sum_(ctx, ctx.invoke(ctx, np.diagonal, [a, offset, axis1, axis2], {}), -1, dtype)


# Python's own

def length(ctx: Context, value: Value) -> Value:
    """`len(...)`."""
    if isinstance(value, ArrayValue):
        if not value.shape:
            raise ctx.raises(TypeError, "the length of a number", code="SG102")
        return int_value(value.shape[0])
    if isinstance(value, Masked) and value.first is not None:
        return value.first
    if isinstance(value, (Masked, PlaceTable)) or isinstance(value, MaskPlaces) and value.part is not None:
        return places.length(ctx, value)
    if isinstance(value, Block):
        return length(ctx, value.rows)
    if isinstance(value, SelectedColumns):
        return int_value(value.rows.values.shape[-1])
    if isinstance(value, Grown):
        return int_value(value.length)
    if isinstance(value, (ListValue, Entries)) or isinstance(value, Record) and issubclass(value.form, dict):
        return len(items_of(ctx, value))
    value = value.items if isinstance(value, SetValue) else value
    if isinstance(value, (tuple, list, str, range, dict, set, frozenset)):
        return len(value)
    told = f"the length of {describe(value)}", "", "SG102"
    raise ctx.raises(TypeError, *told) if is_int(value) or is_number(value) else ctx.refuse(*told)
