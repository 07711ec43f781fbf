"""Subscripts: slices as views, integer arrays as gathers and scatters, boolean masks."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sdfgad.frontend.builder import axes, cast, reads_of
from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import (
    as_array, broadcast, constant_array, convert, describe, expand, int_ix, project, same_size, select, shape_text, to_ix)
from sdfgad.frontend.values import (
    ArrayValue, IntValue, Lazy, ListValue, Masked, Position, Shape, SliceValue, Value, ViewValue, is_int)
from sdfgad.ir.expr import Expr, map_indices
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import Loop, Range, View, axis


def remap(ctx: Context, value: ArrayValue, shape: Shape, index: Sequence[Ix], scalar: bool = False) -> ArrayValue:
    """The value seen with another shape: `index` gives the old position in the new placeholders."""
    if isinstance(value, Lazy) and value.stored is not None:
        value = value.stored
    if isinstance(value, ViewValue):
        mapping = {axis(k): i for k, i in enumerate(index)}
        view = View(value.view.array, shape, tuple(i.subs(mapping) for i in value.view.index), value.dtype)
        return ViewValue(view, scalar=scalar or value.scalar, weak=value.weak)
    base = value

    def element(position: Position):
        here = {axis(k): p for k, p in enumerate(position)}
        return base.at(tuple(i.subs(here) for i in index))

    sources = value.reads | {e.array for i in (*index, *shape) for e in i.elems}
    return ctx.builder.lazy(shape, value.dtype, element, sources, value.weak, getattr(value, "costly", False), (value,))


def to_int(ctx: Context, value: Value) -> Value:
    """An integer value, also from a scalar or zero-dimensional integer array."""
    if is_int(value):
        return value
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, ArrayValue) and not value.shape and value.dtype.kind in "iu":
        return named_int(ctx, value, "index")
    raise ctx.refuse(f"{describe(value)} where an integer is needed", code="SG105")


def named_int(ctx: Context, value: ArrayValue, label: str) -> IntValue:
    """A scalar integer from data as an index; copied first when its array may change while the index is in use."""
    i = to_ix(value.at(()))
    dtype = None if value.weak else value.dtype
    if i is not None and all(_steady(ctx, e.array) for e in i.elems):
        ctx.builder.frozen.update(e.array for e in i.elems if e.array not in ctx.builder.managed)
        ctx.builder.consume(value)
        return IntValue(i, dtype)
    stored = ctx.builder.fresh_copy(value, label)
    ctx.builder.managed.add(stored.view.array)
    return IntValue(elem(stored.view.array, ()), dtype)


def _steady(ctx: Context, array: str) -> bool:
    return array in ctx.builder.managed or array not in ctx.builder.fragile


def subscript(ctx: Context, base: ArrayValue, items: Value) -> Value:
    """`base[items]`."""
    parts = expand_items(ctx, base, items)
    if any(_is_mask(p) for p in parts):
        return masked(ctx, base, parts)
    if any(isinstance(p, ArrayValue) for p in parts):
        return gather(ctx, base, parts)
    view = basic(ctx, base, parts)
    if not view.shape and all(is_int(p) for p in parts) and Ellipsis not in _items(items):
        return scalar_of(ctx, view)
    return view


def scalar_of(ctx: Context, view: ArrayValue) -> ArrayValue:
    """A copy of one element: NumPy's scalars do not follow their array."""
    if isinstance(view, Lazy) or (isinstance(view, ViewValue) and view.scalar):
        return view
    return ctx.builder.lazy((), view.dtype, view.at, view.reads, parts=(view,))


def _items(items: Value) -> tuple:
    return items if isinstance(items, tuple) else (items,)


def _is_mask(part: Value) -> bool:
    return isinstance(part, ArrayValue) and part.dtype.kind == "b" and part.shape != ()


def expand_items(ctx: Context, base: ArrayValue, items: Value) -> list[Value]:
    """One entry per dimension of the base (None for new ones), ellipsis and missing ones filled in."""
    parts = [_item(ctx, i) for i in _items(items)]
    used = sum(_width(p) for p in parts)
    if used > base.ndim:
        raise ctx.refuse(f"{used} indices for {describe(base)}", code="SG105")
    fill = [slice(None)] * (base.ndim - used)
    if any(p is Ellipsis for p in parts):
        k = next(k for k, p in enumerate(parts) if p is Ellipsis)
        if any(p is Ellipsis for p in parts[k + 1:]):
            raise ctx.refuse("an index with more than one ellipsis", code="SG105")
        return [*parts[:k], *fill, *parts[k + 1:]]
    return [*parts, *fill]


def _width(part: Value) -> int:
    return 0 if part is None or part is Ellipsis else part.ndim if _is_mask(part) else 1


def _item(ctx: Context, item: Value) -> Value:
    if isinstance(item, (list, ListValue, np.ndarray)):
        values = item.items if isinstance(item, ListValue) else item
        if all(isinstance(v, (bool, int, np.integer, np.bool_)) for v in np.asarray(values, dtype=object).ravel()):
            array = np.asarray(values)
            return constant_array(ctx, array if array.size else array.astype(np.int64))
        return as_array(ctx, item)
    if isinstance(item, (bool, np.bool_)):
        raise ctx.refuse("a boolean as an index", "use an if statement", "SG105")
    if isinstance(item, ArrayValue):
        if item.dtype.kind not in "iub":
            raise ctx.refuse(f"an index of dtype {item.dtype}", "convert it with astype(int)", "SG105")
        return item if item.shape else to_int(ctx, item)
    if is_int(item) or item is None or item is Ellipsis or isinstance(item, (slice, SliceValue)):
        return item
    raise ctx.refuse(f"{describe(item)} as an index", code="SG105")


# slices and single indices

def one_index(ctx: Context, item: Value, extent: Ix) -> Ix:
    """A single index into `extent` elements."""
    i = int_ix(item)
    low, high = ctx.builder.scope.bounds(i)
    size = extent.const
    if size is not None and ((low is not None and low >= size) or (high is not None and high < -size)):
        raise ctx.refuse(f"index {i}, which is out of bounds for {size} elements", code="SG105")
    return ctx.builder.scope.wrapped(i, extent)


def slice_range(ctx: Context, item: slice | SliceValue, extent: Ix) -> tuple[Ix, Ix, int]:
    """First index, number of elements and step of a slice."""
    ends = [None if e is None else int_ix(to_int(ctx, e)) for e in (item.start, item.stop)]
    step = 1 if item.step is None else to_int(ctx, item.step)
    if isinstance(step, IntValue) or step == 0:
        raise ctx.refuse("a slice with a step that is zero or only known at run time", code="SG105")
    first, count = ctx.builder.scope.slice(ends[0], ends[1], int(step), extent)
    return first, count, int(step)


def basic(ctx: Context, base: ArrayValue, parts: Sequence[Value]) -> ArrayValue:
    """Slices, integers and new axes: a view."""
    shape: list[Ix] = []
    index: list[Ix] = []
    for part in parts:
        if part is None:
            shape.append(ix(1))
            continue
        extent = base.shape[len(index)]
        if isinstance(part, (slice, SliceValue)):
            first, count, step = slice_range(ctx, part, extent)
            index.append(first + ix(axis(len(shape))) * step)
            shape.append(count)
        else:
            index.append(one_index(ctx, part, extent))
    return remap(ctx, base, tuple(shape), index)


# integer arrays

@dataclass(frozen=True)
class Gather:
    """A subscript with integer arrays: result shape, old position of an element, which dimensions the arrays give."""

    shape: Shape
    index: Callable[[Position], Position]
    arrays: range
    sources: frozenset[str]
    distinct: bool


def gather(ctx: Context, base: ArrayValue, parts: Sequence[Value]) -> Lazy:
    """`base[..., indices, ...]`: a copy."""
    plan = plan_gather(ctx, base, parts)
    if isinstance(base, Lazy) and base.costly:
        base = ctx.builder.materialise(base, "tmp")
    source = base
    return ctx.builder.lazy(plan.shape, base.dtype, lambda p: source.at(plan.index(p)), base.reads | plan.sources,
                            parts=(source,))


def plan_gather(ctx: Context, base: ArrayValue, parts: Sequence[Value]) -> Gather:
    """Where each element comes from, in NumPy's order of dimensions."""
    advanced = [k for k, p in enumerate(parts) if isinstance(p, ArrayValue) or is_int(p)]
    arrays = [p for p in parts if isinstance(p, ArrayValue)]
    common = broadcast(ctx, [a.shape for a in arrays])
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    place = sum(1 for p in parts[:advanced[0]]) if together else 0
    extents, plain, rules = _plain_dimensions(ctx, base, parts)
    shape = (*plain[:place], *common, *plain[place:])
    span = range(place, place + len(common))

    def index(position: Position) -> Position:
        chosen = position[span.start:span.stop]
        rest = (*position[:span.start], *position[span.stop:])
        return tuple(rule(chosen, rest) for rule in rules)

    distinct = len(arrays) == 1 and _all_distinct(ctx, arrays[0], extents)
    return Gather(shape, index, span, reads_of(*arrays), distinct)


def _plain_dimensions(ctx: Context, base: ArrayValue, parts: Sequence[Value]) -> tuple[list[Ix], list[Ix], list]:
    plain: list[Ix] = []
    rules: list[Callable[[Position, Position], Ix]] = []
    extents: list[Ix] = []
    for part in parts:
        if part is None:
            plain.append(ix(1))
            continue
        extent = base.shape[len(rules)]
        if isinstance(part, ArrayValue):
            rules.append(_array_rule(ctx, part, extent))
            extents.append(extent)
        elif isinstance(part, (slice, SliceValue)):
            first, count, step = slice_range(ctx, part, extent)
            rules.append(lambda _, rest, k=len(plain), first=first, step=step: first + rest[k] * step)
            plain.append(count)
        else:
            single = one_index(ctx, part, extent)
            rules.append(lambda _, rest, single=single: single)
    return extents, plain, rules


def _array_rule(ctx: Context, array: ArrayValue, extent: Ix) -> Callable[[Position, Position], Ix]:
    if to_ix(array.at(axes(array.ndim))) is None:
        array = ctx.builder.materialise(array, "index")

    def rule(chosen: Position, _: Position) -> Ix:
        i = to_ix(array.at(project(array.shape, chosen)))
        if i is None:
            raise LookupError("an index array changed its form")
        return ctx.builder.scope.wrapped(i, extent)

    return rule


def _all_distinct(ctx: Context, array: ArrayValue, extents: Sequence[Ix]) -> bool:
    """Whether an index array known now names no element twice."""
    if not isinstance(array, ViewValue) or not array.whole or array.view.array not in ctx.builder.constants:
        return False
    values = ctx.builder.constants[array.view.array]
    size = extents[0].const
    return size is not None and len(np.unique(values % max(size, 1))) == values.size


def scatter(ctx: Context, target: ViewValue, parts: Sequence[Value], value: ArrayValue) -> None:
    """`target[..., indices, ...] = value`: in order, so that the last of several writes to one element stays."""
    plan = plan_gather(ctx, target, parts)
    spread = expand(ctx, value, plan.shape)
    if target.view.array in (spread.reads | plan.sources):
        spread = ctx.builder.materialise(spread, "tmp")
    if target.view.array in plan.sources:
        raise ctx.refuse("an index array that is written through itself", "copy the index array first", "SG105")
    element = template(spread)
    ctx.builder.consume(value)
    sequential = () if plan.distinct else tuple(plan.arrays)
    _nest(ctx, sequential, plan, lambda at: _store_at(ctx, target, plan, element, at))


def _nest(ctx: Context, dims: tuple[int, ...], plan: Gather, body: Callable[[dict[int, Ix]], None],
          at: dict[int, Ix] | None = None) -> None:
    at = at or {}
    if not dims:
        body(at)
        return
    span = Range(ctx.builder.symbol("k"), ix(0), plan.shape[dims[0]])
    with ctx.builder.region() as block:
        ctx.builder.scope.ranges.append(span)
        _nest(ctx, dims[1:], plan, body, {**at, dims[0]: ix(span.var)})
    ctx.builder.emit(Loop(span, tuple(block), ctx.builder.source))


def template(value: ArrayValue) -> Callable[[Position], Expr]:
    """The value's elements, no longer tied to the value."""
    e = value.at(axes(value.ndim))

    def element(position: Position) -> Expr:
        here = {axis(k): p for k, p in enumerate(position)}
        return map_indices(e, lambda i: i.subs(here))

    return element


def _store_at(ctx: Context, target: ViewValue, plan: Gather, element: Callable[[Position], Expr],
              at: dict[int, Ix]) -> None:
    free = tuple(n for k, n in enumerate(plan.shape) if k not in at)
    domain, inner = ctx.builder.domain(free)
    rest = iter(inner)
    position = tuple(at[k] if k in at else next(rest) for k in range(len(plan.shape)))
    index = target.view.at(plan.index(position))
    ctx.builder.store(target.view.array, index, cast(element(position), target.dtype), domain)


def accumulate_at(ctx: Context, target: ViewValue, items: Value, value: ArrayValue, op: str) -> None:
    """`np.add.at(target, items, value)`: every one of several contributions to an element counts."""
    parts = expand_items(ctx, target, items)
    if any(_is_mask(p) for p in parts):
        raise ctx.refuse("a boolean mask in ufunc.at", "use an ordinary masked update", "SG105")
    if not any(isinstance(p, ArrayValue) for p in parts):
        view = basic(ctx, target, parts)
        shape, index, sources = view.shape, lambda p: p, frozenset()
        target = view
    else:
        plan = plan_gather(ctx, target, parts)
        shape, index, sources = plan.shape, plan.index, plan.sources
    spread = expand(ctx, value, shape)
    if target.view.array in (spread.reads | sources):
        spread = ctx.builder.materialise(spread, "tmp")
    domain, position = ctx.builder.domain(shape)
    e = cast(spread.at(position), target.dtype)
    ctx.builder.consume(value)
    ctx.builder.store(target.view.array, target.view.at(index(position)), e, domain, op)


# boolean masks

def masked(ctx: Context, base: ArrayValue, parts: Sequence[Value]) -> Masked:
    """`base[mask]`, never stored in compressed form."""
    if not _is_mask(parts[0]) or any(p != slice(None) for p in parts[1:]):
        raise ctx.refuse("a boolean mask combined with other indices", "use one mask, or np.where", "SG105")
    mask = parts[0]
    for n, m in zip(mask.shape, base.shape, strict=False):
        if not same_size(ctx, n, m):
            raise ctx.refuse(f"a mask of shape {shape_text(mask.shape)} for shape {shape_text(base.shape)}", code="SG105")
    key = mask_key(ctx, mask)
    return Masked(base, ctx.builder.materialise(mask, "mask"), key)


def mask_key(ctx: Context, mask: ArrayValue) -> tuple:
    """Two masks with equal keys are equal: same formula over unchanged arrays, in one straight line of code."""
    if isinstance(mask, Lazy) and mask.stored is not None:
        mask = mask.stored
    versions = tuple(sorted((a, ctx.builder.versions.get(a, 0)) for a in mask.reads))
    return (mask.at(axes(mask.ndim)), mask.shape, versions, tuple(ctx.builder.regions))


def same_mask(a: Masked, b: Masked) -> bool:
    """Whether two compressed values surely have the same mask."""
    return a.key == b.key or (a.mask.view.array == b.mask.view.array and a.mask.view.index == b.mask.view.index)


def over_mask(ctx: Context, m: Masked, outside: Value) -> ArrayValue:
    """The masked value in full shape, with `outside` where the mask is off."""
    return select(ctx, mask_view(ctx, m), m.values, outside)


def mask_view(ctx: Context, m: Masked) -> ArrayValue:
    """The mask, extended by the dimensions that only the values have."""
    extra = m.values.ndim - m.mask.ndim
    return remap(ctx, m.mask, (*m.mask.shape, *((ix(1),) * extra)), axes(m.mask.ndim)) if extra else m.mask


# writing

def write(ctx: Context, base: Value, items: Value, value: Value) -> None:
    """`base[items] = value`."""
    if not isinstance(base, ViewValue) or base.scalar:
        raise ctx.refuse(f"an assignment into {describe(base)}", "assign to an element or slice of a named array", "SG105")
    parts = expand_items(ctx, base, items)
    if any(_is_mask(p) for p in parts):
        _write_masked(ctx, base, masked(ctx, base, parts), value)
        return
    if isinstance(value, Masked):
        raise ctx.refuse("data selected by a mask stored outside that mask", "use np.where", "SG105")
    source = as_array(ctx, value)
    check_cast(ctx, source, base)
    if any(isinstance(p, ArrayValue) for p in parts):
        scatter(ctx, base, parts, source)
        return
    view = basic(ctx, base, parts)
    ctx.builder.assign(view, expand(ctx, source, view.shape))
    ctx.builder.consume(source)


def check_cast(ctx: Context, value: ArrayValue, target: ArrayValue) -> None:
    """NumPy refuses, or warns about, complex numbers stored as real ones."""
    if value.dtype.kind == "c" and target.dtype.kind != "c":
        raise ctx.refuse(f"complex numbers stored in an array of dtype {target.dtype}", "take .real first", "SG104")


def _write_masked(ctx: Context, base: ViewValue, place: Masked, value: Value) -> None:
    if isinstance(value, Masked):
        if not same_mask(place, value):
            raise ctx.refuse("data selected by one mask stored through another mask",
                             "use the same mask variable on both sides, or np.where", "SG105")
        source = value.values
    else:
        source = as_array(ctx, value)
        trailing = base.ndim - place.mask.ndim
        if source.ndim > trailing:
            raise ctx.refuse("an array stored through a mask: which elements go where depends on the data",
                             "use np.where", "SG105")
    check_cast(ctx, source, base)
    source = source if source.dtype == base.dtype else convert(ctx, source, base.dtype)
    chosen = select(ctx, mask_view(ctx, place), source, base)
    ctx.builder.assign(base, expand(ctx, chosen, base.shape))
