"""The same data in another shape: transposes, reshapes, new axes, joins, repeats."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.known import contents
from sdfgad.frontend.arrays.layout import copied_or_shared, needs_no_copy, order_of
from sdfgad.frontend.arrays.views import read_only, remap, to_size
from sdfgad.frontend.bodies import joining as joining_bodies
from sdfgad.frontend.elements.elementwise import (
    as_array,
    broadcast,
    convert,
    expand,
    int_ix,
    int_value,
    project,
    same_size,
    select,
    shape_text,
    strong,
)
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.functions.creation import shape_of
from sdfgad.frontend.state.builder import axes
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    IntValue,
    Lazy,
    ListValue,
    Masked,
    Method,
    SelectedColumns,
    Shape,
    Value,
)
from sdfgad.frontend.static.sizes import as_integer
from sdfgad.ir.index import Ix, floordiv, ix, mod
from sdfgad.ir.program import axis


def axis_number(ctx: Context, value: Value, ndim: int) -> int:
    """A single axis argument, negative ones counted from the end."""
    k = to_size(ctx, value)
    if isinstance(k, IntValue) or not -ndim <= k < ndim:
        raise ctx.refuse(f"axis {k if not isinstance(k, IntValue) else 'known at run time'} of {ndim} dimensions",
                         as_integer(ctx, k), "SG105")
    return int(k) % ndim


def axis_numbers(ctx: Context, value: Value, ndim: int) -> tuple[int, ...]:
    """One or several axes; None means all."""
    if value is None:
        return tuple(range(ndim))
    items = items_of(ctx, value) if isinstance(value, (tuple, list, ListValue)) else [value]
    found = tuple(axis_number(ctx, v, ndim) for v in items)
    if len({*found}) < len(found):
        raise ctx.refuse("an axis that is named twice", code="SG103")
    return found


def permuted(ctx: Context, value: ArrayValue, order: Sequence[int]) -> ArrayValue:
    """Dimension k of the result is dimension `order[k]` of the value."""
    index: list[Ix] = [ix(0)] * len(order)
    for new, old in enumerate(order):
        index[old] = ix(axis(new))
    return remap(ctx, value, tuple(value.shape[k] for k in order), index)


def transposed(ctx: Context, a: Value, *axes: Value) -> Value:
    """The method: axes one by one or as a tuple."""
    return transpose(ctx, a, axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else axes or None)


def transpose(ctx: Context, a: Value, axes: Value = None) -> Value:
    value = as_array(ctx, a)
    order = axis_numbers(ctx, axes, value.ndim)[::-1 if axes is None else 1]
    if sorted(order) != list(range(value.ndim)):
        raise ctx.refuse("axes that are no permutation", code="SG105")
    return permuted(ctx, value, order)


def swapaxes(ctx: Context, a: Value, axis1: Value, axis2: Value) -> Value:
    value = as_array(ctx, a)
    order = list(range(value.ndim))
    i, j = axis_number(ctx, axis1, value.ndim), axis_number(ctx, axis2, value.ndim)
    order[i], order[j] = order[j], order[i]
    return permuted(ctx, value, order)


def moveaxis(ctx: Context, a: Value, source: Value, destination: Value) -> Value:
    value = as_array(ctx, a)
    old, new = axis_numbers(ctx, source, value.ndim), axis_numbers(ctx, destination, value.ndim)
    if len(old) != len(new):
        raise ctx.refuse(f"np.moveaxis of {len(old)} axes to {len(new)} places", "name as many", "SG103")
    order = [k for k in range(value.ndim) if k not in old]
    for place, k in sorted(zip(new, old, strict=True)):
        order.insert(place, k)
    return permuted(ctx, value, order)


def expand_dims(ctx: Context, a: Value, axis: Value) -> Value:
    value = as_array(ctx, a)
    count = len(items_of(ctx, axis)) if isinstance(axis, (tuple, list, ListValue)) else 1
    places = set(axis_numbers(ctx, axis, value.ndim + count))
    rest = iter(slice(None) for _ in value.shape)
    return subscript(ctx, value, tuple(None if k in places else next(rest) for k in range(value.ndim + count)))


def squeeze(ctx: Context, a: Value, axis: Value = None) -> Value:
    value = as_array(ctx, a)
    ones = {k for k, n in enumerate(value.shape) if n.const == 1}
    drop = ones if axis is None else set(axis_numbers(ctx, axis, value.ndim))
    if not drop <= ones:
        raise ctx.refuse("a squeezed axis whose size is not 1", code="SG105")
    kept = [k for k in range(value.ndim) if k not in drop]
    index = [ix(0)] * value.ndim
    for new, old in enumerate(kept):
        index[old] = axes(len(kept))[new]
    return remap(ctx, value, tuple(value.shape[k] for k in kept), index)


def broadcast_to(ctx: Context, array: Value, shape: Value) -> Value:
    value, extents = strong(ctx, array), shape_of(ctx, shape)
    if value.ndim > len(extents):
        raise ctx.refuse(f"np.broadcast_to of {shape_text(value.shape)} to {shape_text(extents)}",
                         "it has more dimensions", "SG103")
    expand(ctx, value, extents)
    return read_only(remap(ctx, value, extents, project(value.shape, axes(len(extents)))))


def flip(ctx: Context, m: Value, axis: Value = None) -> Value:
    value = as_array(ctx, m)
    turned = axis_numbers(ctx, axis, value.ndim)
    back, all_ = slice(None, None, -1), slice(None)
    return subscript(ctx, value, tuple(back if k in turned else all_ for k in range(value.ndim)))


def sliding_window_view(ctx: Context, x: Value, window_shape: Value, axis: Value = None) -> Value:
    """Windows along each of the axes, one axis more for each: a view."""
    value = as_array(ctx, x)
    sizes = shape_of(ctx, window_shape)
    places = axis_numbers(ctx, axis, value.ndim)
    if len(sizes) != len(places):
        raise ctx.refuse(f"{len(sizes)} sizes of windows along {len(places)} axes", code="SG105")
    shape, index = list(value.shape), list(axes(value.ndim))
    for k, (place, size) in enumerate(zip(places, sizes, strict=True)):
        shape[place] = shape[place] - size + 1
        index[place] = index[place] + axes(value.ndim + k + 1)[-1]
    if any(n.const is None or n.const < 1 for n in shape):
        raise ctx.refuse("a window that is longer than the array, or of a length only known at run time", code="SG105")
    return read_only(remap(ctx, value, (*shape, *sizes), index))


# reshape

def reshape_method(ctx: Context, a: Value, *shape: Value, order: str = "C", copy: Value = None) -> Value:
    """The method: sizes one by one or as a tuple."""
    sizes = shape[0] if len(shape) == 1 else shape
    if isinstance(a, Masked) and order == "C" and copy is None:
        return ctx.invoke(ctx, np.reshape, [a, sizes], {})
    return reshape(ctx, a, sizes, order, copy=copy)


def reshape(ctx: Context, a: Value, shape: Value = None, order: str = "C", newshape: Value = None,
            copy: Value = None) -> Value:
    """A view where NumPy makes one, else a copy."""
    if copy is not None:
        raise ctx.refuse("reshape with copy=", "use .copy() where a copy is wanted", "SG101")
    return _reshape(ctx, as_array(ctx, a), newshape if shape is None else shape, order, False)


def _reshape(ctx: Context, value: ArrayValue, shape: Value, order: str, flat: bool) -> Value:
    if order in ("A", "K"):
        order = "C" if value.ndim < 2 else order_of(ctx, value)
    if order == "F":
        sizes = items_of(ctx, shape) if isinstance(shape, (tuple, list, ListValue)) else [shape]
        return transpose(ctx, _reshape(ctx, as_array(ctx, transpose(ctx, value)), tuple(sizes[::-1]), "C", flat))
    if order != "C":
        raise ctx.refuse(f"the order {order!r}", code="SG101")
    return reshaped(ctx, value, _target_shape(ctx, value, shape), flat)


def _target_shape(ctx: Context, value: ArrayValue, shape: Value) -> Shape:
    items = items_of(ctx, shape) if isinstance(shape, (tuple, list, ListValue)) else [shape]
    sizes = [to_size(ctx, n) for n in items]
    open_ = [k for k, n in enumerate(sizes) if not isinstance(n, IntValue) and n == -1]
    known = [int_ix(n) for k, n in enumerate(sizes) if k not in open_]
    total, given = elements_of(value.shape), elements_of(known)
    if open_:
        rest = floordiv(total, given) if given.const != 0 else ix(0)
        if len(open_) > 1 or (given * rest != total and not (total.const == 0 == rest.const)):
            raise ctx.refuse(f"shape {shape_text(value.shape)} reshaped to a size that does not fit",
                             as_integer(ctx, given), "SG103")
        return tuple(rest if k in open_ else int_ix(n) for k, n in enumerate(sizes))
    if not same_size(ctx, total, given):
        raise ctx.refuse(f"shape {shape_text(value.shape)} reshaped to {shape_text(tuple(known))}", code="SG103")
    return tuple(known)


def elements_of(sizes: Sequence[Ix]) -> Ix:
    total = ix(1)
    for n in sizes:
        total = total * n
    return total


def reshaped(ctx: Context, value: ArrayValue, shape: Shape, flat: bool = False) -> ArrayValue:
    """The elements in C order in another shape; `flat`: a copy unless they lie like that in memory."""
    if isinstance(value, Lazy):
        value = value if value.stored is None else value.stored
    if not needs_no_copy(ctx, value, shape, flat):
        value = copied_or_shared(ctx, value, shape)
    return remap(ctx, value, shape, _index_map(ctx, value.shape, shape))


def _index_map(ctx: Context, old: Shape, new: Shape) -> list[Ix]:
    """Old position in terms of the new one, in groups of dimensions with equal numbers of elements."""
    index: list[Ix] = []
    i = j = 0
    while i < len(old) or j < len(new):
        m, n = i, j
        left, right = ix(1), ix(1)
        while left != right or (m == i and n == j):
            if m < len(old) and (n >= len(new) or _smaller(left, right) or m == i):
                left, m = left * old[m], m + 1
            elif n < len(new):
                right, n = right * new[n], n + 1
            else:
                break
            if m >= len(old) and n >= len(new):
                break
        if m >= len(old) or n >= len(new):
            m, n = len(old), len(new)
        flat = ix(0)
        for k in range(j, n):
            flat = flat * new[k] + ix(axis(k))
        index.extend(_unflatten(flat, old[i:m]))
        i, j = m, n
    return index


def _smaller(a: Ix, b: Ix) -> bool:
    return a.const is not None and b.const is not None and a.const < b.const


def _unflatten(flat: Ix, sizes: Sequence[Ix]) -> list[Ix]:
    index: list[Ix] = []
    step = ix(1)
    for k in range(len(sizes) - 1, -1, -1):
        whole = flat if step.const == 1 else floordiv(flat, step)
        index.append(ix(0) if sizes[k].const == 1 else whole if k == 0 else mod(whole, sizes[k]))
        step = step * sizes[k]
    return index[::-1]


def ravel(ctx: Context, a: Value, order: str = "C") -> Value:
    return _reshape(ctx, as_array(ctx, a), -1, order, True)


def flatten(ctx: Context, a: Value, order: str = "C") -> Value:
    if isinstance(a, (Masked, SelectedColumns)) and order == "C":
        return ctx.invoke(ctx, np.ravel, [ctx.invoke(ctx, Method(a, "copy"), [], {})], {})
    value = as_array(ctx, a)
    return convert(ctx, _reshape(ctx, value, -1, order, False), value.dtype)


# elements once more

def repeat(ctx: Context, a: Value, repeats: Value, axis: Value = None) -> Value:
    known = contents(ctx, repeats)
    if known is not None:
        repeats = int(known.flat[0]) if known.size == 1 else tuple(known.tolist())
    if isinstance(repeats, (tuple, list, ListValue)) and len(items_of(ctx, repeats)) == 1:
        repeats = items_of(ctx, repeats)[0]
    if isinstance(repeats, (tuple, list, ListValue)):
        return ctx.invoke(ctx, joining_bodies.repeat_each, [as_array(ctx, a), repeats, axis], {})
    value, (times,) = as_array(ctx, a), shape_of(ctx, repeats)
    if axis is None:
        value, axis = reshaped(ctx, value, (elements_of(value.shape),)), 0
    where = axis_number(ctx, axis, value.ndim)
    shape = tuple(n * times if k == where else n for k, n in enumerate(value.shape))
    value = ctx.builder.materialise(value, "tmp")
    index = [floordiv(i, times) if k == where else i for k, i in enumerate(axes(value.ndim))]
    return convert(ctx, remap(ctx, value, shape, index), value.dtype)


def tile(ctx: Context, A: Value, reps: Value) -> Value:
    value = as_array(ctx, A)
    counts = shape_of(ctx, reps)
    ndim = max(value.ndim, len(counts))
    counts = (*([ix(1)] * (ndim - len(counts))), *counts)
    sizes = (*([ix(1)] * (ndim - value.ndim)), *value.shape)
    value = ctx.builder.materialise(value, "tmp")
    index = [mod(i, n) if c.const != 1 else i for i, n, c in zip(axes(ndim), sizes, counts, strict=True)]
    shape = tuple(n * c for n, c in zip(sizes, counts, strict=True))
    return convert(ctx, remap(ctx, value, shape, index[ndim - value.ndim:]), value.dtype)


def meshgrid(ctx: Context, *xi: Value, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> Value:
    flat = (reshaped(ctx, v, (elements_of(v.shape),)) for v in (as_array(ctx, x) for x in xi))
    vectors = [ctx.builder.materialise(v, "tmp") for v in flat]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        order[0], order[1] = 1, 0
    shape: list[Ix] = [ix(1)] * len(vectors)
    for k, vector in enumerate(vectors):
        shape[order[k]] = vector.shape[0]
    if not copy:
        raise ctx.refuse("np.meshgrid without copies", "use slices with np.newaxis", "SG101")
    if sparse:
        shapes = [tuple(n if j == order[k] else ix(1) for j, n in enumerate(shape)) for k in range(len(vectors))]
        return tuple(convert(ctx, remap(ctx, v, s, [ix(axis(order[k]))]), v.dtype)
                     for k, (v, s) in enumerate(zip(vectors, shapes, strict=True)))
    grids = [convert(ctx, remap(ctx, v, tuple(shape), [ix(axis(order[k]))]), v.dtype) for k, v in enumerate(vectors)]
    return tuple(grids)


def where(ctx: Context, condition: Value, x: Value = None, y: Value = None) -> Value:
    if x is None or y is None:
        return ctx.invoke(ctx, np.nonzero, [condition], {})
    return select(ctx, condition, x, y)


def take(ctx: Context, a: Value, indices: Value, axis: Value = None, mode: str = "raise") -> Value:
    value = as_array(ctx, a)
    if axis is None:
        value, axis = reshaped(ctx, value, (elements_of(value.shape),)), 0
    where_ = axis_number(ctx, axis, value.ndim)
    if mode == "wrap":
        indices = ctx.invoke(ctx, np.remainder, [indices, int_value(value.shape[where_])], {})
    elif mode == "clip":
        indices = ctx.invoke(ctx, np.clip, [indices, 0, int_value(value.shape[where_] - 1)], {})
    elif mode != "raise":
        raise ctx.refuse(f"np.take with mode={mode!r}", 'mode is "raise", "wrap" or "clip"', "SG101")
    return subscript(ctx, value, tuple(indices if k == where_ else slice(None) for k in range(value.ndim)))


def broadcast_arrays(ctx: Context, *args: Value) -> Value:
    values = [as_array(ctx, a) for a in args]
    shape = broadcast(ctx, [v.shape for v in values])
    sizes = tuple(int_value(n) for n in shape)
    return tuple(v if v.shape == shape else broadcast_to(ctx, v, sizes) for v in values)


def outer(ctx: Context, a: Value, b: Value) -> Value:
    left, right = (reshaped(ctx, v, (elements_of(v.shape),)) for v in (strong(ctx, a), strong(ctx, b)))
    rows = remap(ctx, left, (left.shape[0], ix(1)), [ix(axis(0))])
    return ctx.invoke(ctx, np.multiply, [rows, right], {})

