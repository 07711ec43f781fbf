"""Making arrays: filled ones, ranges, literals, copies, and conversions between types."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

from sdfgad.arrays import native
from sdfgad.frontend.arrays.casting import check_casting
from sdfgad.frontend.arrays.grown import MOST_ITEMS, as_data, stacked
from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.layout import copied_or_shared, known_order, like_order, needs_no_copy
from sdfgad.frontend.arrays.views import exact_or_named, remap, to_int, to_size
from sdfgad.frontend.elements.elementwise import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    as_array,
    convert,
    describe,
    expand,
    int_ix,
    int_value,
    same_size,
)
from sdfgad.frontend.elements.run_integers import of_type
from sdfgad.frontend.functions.arithmetic import constant_of, items_of
from sdfgad.frontend.state.builder import cast
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    Grown,
    IntValue,
    Lazy,
    ListValue,
    Masked,
    SelectedColumns,
    Shape,
    Value,
    ViewValue,
    is_int,
    is_number,
)
from sdfgad.frontend.static.sizes import as_integer
from sdfgad.ir.expr import Expr, Index, call, const
from sdfgad.ir.index import Ix, ix


def shape_of(ctx: Context, shape: Value) -> Shape:
    """A shape argument: an integer or a sequence of them."""
    items = items_of(ctx, shape) if isinstance(shape, (tuple, list, ListValue)) else [shape]
    sizes = tuple(int_ix(to_size(ctx, n)) for n in items)
    for n in sizes:
        if ctx.builder.scope.bounds(n)[1] is None:
            raise ctx.refuse("an array of a size only known at run time",
                             as_integer(ctx, n, "give it a size known before the call"), "SG103")
        if n.const is not None and n.const < 0:
            raise ctx.refuse("an array of negative size", code="SG103")
    return sizes


def dtype_of(ctx: Context, dtype: Value) -> np.dtype:
    """A dtype argument."""
    if isinstance(dtype, (ArrayValue, IntValue, ListValue)):
        raise ctx.refuse(f"{describe(dtype)} as a dtype", code="SG104")
    try:
        found = native(np.dtype(dtype))
    except TypeError as error:
        raise ctx.refuse(f"{describe(dtype)} as a dtype", code="SG104") from error
    ctx.builder.check_dtype(found)
    return found


def result_type(ctx: Context, *values: Value) -> np.dtype:
    """`np.result_type`: Python's numbers have no dtype of their own."""
    def kind(v: Value) -> Value:
        v = v if isinstance(v, (np.dtype, type, str)) or is_number(v) else as_array(ctx, v)
        return v if not isinstance(v, ArrayValue) else v.dtype.type(0).item() if v.weak else v.dtype

    return np.result_type(*map(kind, values))


def filled(ctx: Context, shape: Shape, value: Value, dtype: np.dtype) -> ArrayValue:
    """An array of one value."""
    source = as_array(ctx, value)
    if not shape:
        return zero_dimensional(ctx, source, dtype)
    spread = expand(ctx, convert(ctx, source, dtype), shape)
    return ctx.builder.lazy(shape, dtype, spread.at, spread.reads, parts=(spread,))


def zeros(ctx: Context, shape: Value, dtype: Value = float, order: str = "C") -> Value:
    """`np.zeros`, and `np.empty`, whose elements nobody may rely on."""
    return _in_order(filled(ctx, shape_of(ctx, shape), 0, dtype_of(ctx, dtype)), order)


def _in_order(made: Value, order: str) -> Value:
    if isinstance(made, Lazy) and order in ("C", "F"):
        made.any_order = order == "F"
    return made


def ones(ctx: Context, shape: Value, dtype: Value = float, order: str = "C") -> Value:
    return _in_order(filled(ctx, shape_of(ctx, shape), 1, dtype_of(ctx, dtype)), order)


def full(ctx: Context, shape: Value, fill_value: Value, dtype: Value = None, order: str = "C") -> Value:
    value = as_array(ctx, fill_value)
    kind = value.dtype if dtype is None else dtype_of(ctx, dtype)
    return _in_order(filled(ctx, shape_of(ctx, shape), value, kind), order)


def like(value: Value) -> Callable[..., Value]:
    """`np.zeros_like` and its kin."""

    def rule(ctx: Context, a: Value, dtype: Value = None, order: str = "K", subok: bool = True,
             shape: Value = None) -> Value:
        return _made_like(ctx, as_array(ctx, a), value, dtype, shape)

    return rule


def full_like(ctx: Context, a: Value, fill_value: Value, dtype: Value = None) -> Value:
    return _made_like(ctx, as_array(ctx, a), fill_value, dtype, None)


def _made_like(ctx: Context, model: ArrayValue, value: Value, dtype: Value, shape: Value) -> Value:
    extents = model.shape if shape is None else shape_of(ctx, shape)
    made = filled(ctx, extents, value, model.dtype if dtype is None else dtype_of(ctx, dtype))
    if isinstance(made, Lazy):
        made.any_order = like_order(ctx, model)
    return made


def contiguous(ctx: Context, a: Value, dtype: Value = None) -> Value:
    """`np.ascontiguousarray`: a copy of what lies in another order."""
    value = as_array(ctx, a) if isinstance(a, SelectedColumns) else asarray(ctx, a, dtype)
    value = value if value.shape else ctx.invoke(ctx, np.reshape, [value, (1,)], {})
    if isinstance(value, Lazy) and value.stored is None and like_order(ctx, value):
        return _in_order(ctx.builder.lazy(value.shape, value.dtype, value.at, value.reads, parts=(value,)), "C")
    if not isinstance(value, ViewValue) or value.scalar or needs_no_copy(ctx, value, value.shape, True):
        return value
    copy = copied_or_shared(ctx, value, value.shape)
    ctx.builder.any_order.discard(copy.view.array)
    return copy


def ndarray(ctx: Context, shape: Value, dtype: Value = float) -> Value:
    return zeros(ctx, shape, dtype)


def eye(ctx: Context, N: Value, M: Value = None, k: Value = 0, dtype: Value = float) -> Value:
    rows, columns = shape_of(ctx, (N, N if M is None else M))
    kind, shift = dtype_of(ctx, dtype), int_ix(to_int(ctx, k))
    return Lazy((rows, columns), kind, lambda p: cast(_same(p[0] + shift, p[1]), kind), frozenset())


def identity(ctx: Context, n: Value, dtype: Value = float) -> Value:
    return eye(ctx, n, None, 0, dtype)


def _same(a: Ix, b: Ix) -> Expr:
    return call("eq", Index(a, INT), Index(b, INT), dtype=BOOL)


def arange(ctx: Context, start: Value, stop: Value = None, step: Value = 1, dtype: Value = None) -> Value:
    """`np.arange`: integers at run time too, fractions only when known now."""
    if stop is None:
        start, stop = 0, start
    start, stop, step = (to_int(ctx, v) if isinstance(v, ArrayValue) and v.dtype.kind in "iu" else v
                         for v in (start, stop, step))
    if all(is_int(v) for v in (start, stop, step)):
        return _integers(ctx, int_ix(start), int_ix(stop), int_ix(step), INT if dtype is None else dtype_of(ctx, dtype))
    if not all(is_number(v) and not np.iscomplexobj(v) for v in (start, stop, step)):
        raise ctx.refuse("np.arange with a fraction only known at run time",
                         as_integer(ctx, (start, stop, step), "use np.linspace, or a range times the step"), "SG103")
    sample = np.arange(start, stop, step, None if dtype is None else dtype_of(ctx, dtype))  # type: ignore[call-overload]
    kind, whole = sample.dtype, sample.dtype.kind in "iu"  # integers begin with two, and go on with their distance
    first, second = (float(int(v)) if whole else float(v) for v in (start, start + step))
    gap = second - first
    return Lazy((ix(sample.size),), kind, lambda p: cast(call("add", const(first, FLOAT), call(
        "mul", Index(p[0], FLOAT), const(gap, FLOAT))), kind), frozenset())


def _integers(ctx: Context, start: Ix, stop: Ix, step: Ix, dtype: np.dtype) -> Value:
    if step.const is None or step.const == 0:
        raise ctx.refuse("np.arange with a step that is zero or only known at run time", code="SG103")
    gap = stop - start if step.const > 0 else start - stop
    count = ctx.builder.scope.greatest((gap + (abs(step.const) - 1)) // abs(step.const), ix(0))
    shape_of(ctx, (int_value(count),))
    reads = frozenset(e.array for i in (start, count) for e in i.elems)
    return ctx.builder.lazy((count,), dtype, lambda p: cast(Index(start + p[0] * step, INT), dtype), reads)


# literals and copies

def array(ctx: Context, object: Value, dtype: Value = None, copy: Value = True, order: str = "K", subok: bool = False,
          ndmin: int = 0) -> Value:
    """`np.array`: always a copy; nested lists become elements."""
    if isinstance(object, np.ndarray):
        object = as_array(ctx, object)
    if isinstance(object, Grown) and object.counter is not None:
        object = as_data(ctx, object)
    if isinstance(object, SelectedColumns) and dtype is None and order == "K" and ndmin <= 2:
        return copied_in_order(ctx, object) if copy else object
    if isinstance(object, Masked):
        if order not in ("K", "C") or ndmin > 1 + object.values.ndim - object.mask.ndim:
            raise ctx.refuse("an array made of data selected by a mask", "use np.where", "SG105")
        if dtype is not None:
            return astype(ctx, object, dtype)
        return copied_in_order(ctx, object) if copy else object
    kind = None if dtype is None else dtype_of(ctx, dtype)
    if isinstance(object, Grown):
        object, copy = stacked(ctx, object), True
    if isinstance(object, ArrayValue) and not object.scalar and not copy and kind in (None, object.dtype):
        if object.ndim >= ndmin:
            return object
        raise ctx.refuse("np.array with new dimensions and without a copy", "add them with np.newaxis", "SG101")
    if isinstance(object, ArrayValue) and not object.scalar:
        result: Value = _in_order(convert(ctx, object, kind or object.dtype), order)
    elif dtype is None and (empty := _of_nothing(object)) is not None:
        return np.array(empty)  # nobody computes with it: it stands where numbers will be
    elif isinstance(object, (tuple, list, ListValue, range)):
        result = _literal(ctx, object, kind)
    else:
        result = zero_dimensional(ctx, as_array(ctx, object), kind)
    for _ in range(ndmin - result.ndim):
        result = remap(ctx, result, (ix(1), *result.shape), [ix(f"_{k + 1}") for k in range(result.ndim)])
    return result


def _of_nothing(nested: Value) -> list | None:
    """Nested lists in which there is None and nothing else; None for all other values."""
    items = nested.items if isinstance(nested, ListValue) else nested if isinstance(nested, (tuple, list)) else []
    found = [i if i is None else _of_nothing(i) for i in items]
    return found if found and all(f is not None or i is None for f, i in zip(found, items, strict=True)) else None


def zero_dimensional(ctx: Context, value: ArrayValue, dtype: np.dtype | None) -> Value:
    """A number as an array without dimensions, which can be written."""
    stored = ctx.builder.fresh_copy(value, ctx.label or "value", dtype)
    return ViewValue(stored.view)


def _literal(ctx: Context, nested: Value, dtype: np.dtype | None) -> Value:
    plain = plain_numbers(nested)
    if plain is not None:
        return literal_constant(ctx, np.array(plain, dtype=dtype))
    items = [_literal(ctx, v, dtype) if isinstance(v, (tuple, list, ListValue)) else v for v in items_of(ctx, nested)]
    parts = [as_array(ctx, v) for v in items]
    first = parts[0].shape
    kind = dtype or np.result_type(*(p.dtype for p in parts))  # Python's numbers have their own dtype in a list
    shape = (ix(len(parts)), *first)
    target = ctx.builder.view(ctx.builder.declare(shape, kind, ctx.label or "array"), shape)
    for k, part in enumerate(parts):
        alike = len(part.shape) == len(first) and all(map(partial(same_size, ctx), part.shape, first))
        if not alike:
            raise ctx.refuse("an array literal of rows with different lengths", code="SG103")
        ctx.builder.assign(subscript_view(ctx, target, k), expand(ctx, part, first))
    return target


def subscript_view(ctx: Context, target: ViewValue, k: Value) -> ViewValue:
    """Item `k` of the first dimension, also when it is a single element, as a place to write."""
    view = subscript(ctx, target, (k, Ellipsis))
    if not isinstance(view, ViewValue):
        raise ctx.refuse("a place to write that is not stored", code="SG105")
    return view


def plain_numbers(nested: Value) -> list | None:
    """Nested lists of numbers known now, None when anything else is inside."""
    items = nested.items if isinstance(nested, ListValue) else nested
    found = []
    for item in items:
        if isinstance(item, (tuple, list, ListValue)):
            item = plain_numbers(item)
            if item is None:
                return None
        elif not is_number(item):
            if isinstance(item, Lazy) and constant_of(item) is not None:
                item = constant_of(item)
            else:
                return None
        found.append(item)
    return found


def literal_constant(ctx: Context, values: np.ndarray) -> ViewValue:
    """Numbers known now: a constant container, unless the program writes it."""
    ctx.builder.check_dtype(values.dtype)
    stored = ctx.builder.constant(values, ctx.label or "literal")
    name = stored.view.array
    if name not in ctx.builder.assumed.fragile:
        ctx.builder.frozen.add(name)
        return stored
    return ctx.builder.fresh_copy(stored, ctx.label or "literal")


def asarray(ctx: Context, a: Value, dtype: Value = None, order: str = "K") -> Value:
    """No copy of what is an array of the right dtype already."""
    held = a.rows.values if isinstance(a, SelectedColumns) else a.values if isinstance(a, Masked) else a
    if isinstance(held, ArrayValue) and not held.scalar and (dtype is None or dtype_of(ctx, dtype) == held.dtype):
        return a
    return array(ctx, a, dtype)


def copied(ctx: Context, a: Value, order: str = "K", subok: bool = False) -> Value:
    """`np.copy`, which keeps the order of what is copied."""
    value = as_array(ctx, a)
    return _in_order(convert(ctx, value, value.dtype), known_order(ctx, order))


def copied_in_order(ctx: Context, a: Value, order: str = "C") -> Value:
    """The method, which does not keep the order."""
    if isinstance(a, SelectedColumns):
        return SelectedColumns(replace(a.rows, table=None, own=False))
    return replace(a, table=None, own=False) if isinstance(a, Masked) else copied(ctx, a, order)


def astype(ctx: Context, a: Value, dtype: Value, order: str = "K", casting: str = "unsafe", subok: bool = True,
           copy: bool = True) -> Value:
    value, kind = a.values if isinstance(a, Masked) else as_array(ctx, a), dtype_of(ctx, dtype)
    check_casting(ctx, value, kind, casting)
    if value.dtype.kind == "c" and kind.kind not in "cb":
        raise ctx.refuse("complex numbers converted to real ones", "take .real first", "SG104")
    if not copy and value.dtype == kind:
        return a if isinstance(a, Masked) else value
    if isinstance(a, Masked):
        return Masked(convert(ctx, value, kind), a.mask, a.key, first=a.first)
    return _in_order(convert(ctx, value, kind), known_order(ctx, order))


def scalar_type(kind: np.dtype, weak: bool) -> Callable[..., Value]:
    """`np.float32(x)`, `float(x)` and the like."""

    def rule(ctx: Context, value: Value = 0) -> Value:
        if is_number(value) or isinstance(value, str):
            try:
                return kind.type(value) if not weak else _PYTHON[kind](value)
            except (ValueError, OverflowError) as error:
                raise ctx.refuse(f"a call that fails: {error}", code="SG102") from error
        if isinstance(value, IntValue) and kind.kind in "iu":
            fitting = IntValue(value.ix) if weak else of_type(ctx, value, kind)
            if fitting is not None:
                return fitting
        operand = as_array(ctx, value)
        if weak and any(n.const != 1 for n in operand.shape):
            raise ctx.refuse(f"{kind.name} of {describe(value)}", "use astype", "SG104")
        if operand.dtype.kind == "c" and kind.kind not in "cb":
            raise ctx.refuse("a complex number converted to a real one", "take .real first", "SG104")
        if weak and operand.shape:
            operand = remap(ctx, operand, (), [ix(0)] * operand.ndim)
        result = convert(ctx, operand, kind, weak)
        return exact_or_named(ctx, result, "int") if kind.kind in "iu" and not result.shape else result

    return rule


_PYTHON: Mapping[np.dtype, type] = MappingProxyType({FLOAT: float, INT: int, BOOL: bool, COMPLEX: complex})


def tri(ctx: Context, N: Value, M: Value = None, k: Value = 0, dtype: Value = float) -> Value:
    rows, columns = shape_of(ctx, (N, N if M is None else M))
    kind, shift = dtype_of(ctx, dtype), int_ix(to_int(ctx, k))
    return Lazy((rows, columns), kind, lambda p: cast(below(p, shift), kind), frozenset())


def below(position: Sequence[Ix], shift: Ix) -> Expr:
    """Whether an element of a matrix is on or below the diagonal moved by `shift`."""
    return call("le", Index(position[-1], INT), Index(position[-2] + shift, INT), dtype=BOOL)


def tolist(ctx: Context, a: Value) -> Value:
    """`array.tolist()`: numbers of Python's, in lists."""
    value = as_array(ctx, a)
    if not value.shape:
        return ctx.invoke(ctx, type(value.dtype.type(0).item()), [value], {})
    count = value.shape[0].const
    if count is None or math.prod(n.const or 1 for n in value.shape) > MOST_ITEMS:
        raise ctx.refuse("a list of very many items", "use the array", "SG102")
    stored = ctx.builder.fresh_copy(value, "items")
    return ListValue([tolist(ctx, subscript(ctx, stored, k)) for k in range(count)], len(ctx.builder.regions))
