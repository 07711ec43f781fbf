"""Subscripts: slices as views, integer arrays as gathers and scatters."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from sdfgad.frontend.builder import axes, cast, reads_of
from sdfgad.frontend.caught import check_index
from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import (
    as_array,
    broadcast,
    constant_array,
    describe,
    expand,
    project,
    shape_text,
    to_ix,
)
from sdfgad.frontend.layout import is_turned
from sdfgad.frontend.masking import (
    as_masked,
    beside_columns,
    beside_mask,
    check_cast,
    is_mask,
    is_stored,
    masked,
    of_columns,
    over_mask,
    same_mask,
    selected,
    side,
    write_masked,
)
from sdfgad.frontend.sizes import as_integer
from sdfgad.frontend.values import (
    ArrayValue,
    Block,
    Lazy,
    ListValue,
    Masked,
    MaskPlaces,
    Position,
    SelectedColumns,
    Shape,
    SliceValue,
    Value,
    ViewValue,
    is_int,
    is_number,
)
from sdfgad.frontend.views import as_view, basic, check_writable, one_index, scalar_of, slice_range, template, to_int
from sdfgad.ir.expr import Expr, Load, call
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Loop, Range

# From the position within the index arrays and the position in the other dimensions to one index.
Rule: TypeAlias = Callable[[Position, Position], Ix]


def subscript(ctx: Context, base: ArrayValue, items: Value, any_order: bool = False) -> Value:
    """`base[items]`; `any_order`: what a mask chooses may come in an order that is not NumPy's."""
    if any(_is_selected(base, _items(items), k) for k in range(len(_items(items)))):
        return _gather_selected(ctx, base, items)
    parts = expand_items(ctx, base, items)
    if any(is_mask(p) for p in parts):
        return selected(ctx, base, parts, any_order)
    if any(isinstance(p, ArrayValue) for p in parts):
        return gather(ctx, base, parts)
    view = basic(ctx, base, parts)
    if not view.shape and all(is_int(p) for p in parts) and Ellipsis not in _items(items):
        return scalar_of(ctx, view)
    return view


def _is_selected(base: ArrayValue, items: tuple, k: int) -> bool:
    """Whether an index was computed from places of a mask, or is places that are not a mask for its dimensions."""
    item = items[k]
    if not isinstance(item, MaskPlaces):
        return isinstance(item, Masked)
    if item.part is not None and item.mask.ndim > 1:
        return True
    widths = [i.mask.ndim if isinstance(i, MaskPlaces) else _width(i) for i in items]
    behind = any(i is Ellipsis for i in items[:k])
    first = base.ndim - sum(widths[k:]) if behind else sum(widths[:k])
    return base.shape[first:first + item.mask.ndim] != item.mask.shape


def _gather_selected(ctx: Context, base: ArrayValue, items: Value) -> Masked:
    """`x[i + 1, j]` where `i, j = np.nonzero(mask)`: selected by the mask from what all places would take."""
    given = [as_masked(ctx, p) for i in _items(items) for p in (
        i.parts if isinstance(i, MaskPlaces) and i.part is None else (i,))]
    lead = next(k for k, i in enumerate(given) if isinstance(i, Masked))
    chosen = [i for i in given if isinstance(i, Masked)]
    first = chosen[0]
    apart = any(not isinstance(i, Masked) and not is_int(i) for i in given[:lead + len(chosen)])
    if apart or not all(same_mask(first, i) and i.values.ndim == i.mask.ndim for i in chosen):
        raise ctx.refuse("places of a mask combined with other indices", "index the other dimensions first", "SG105")
    found = subscript(ctx, base, tuple(over_mask(ctx, i, 0) if isinstance(i, Masked) else i for i in given))
    return Masked(found, first.mask, first.key, first.table)


def masked_part(ctx: Context, base: Masked, items: Value) -> Masked | SelectedColumns | Block:
    """`base[mask][:, rest]`   ->   `base[..., rest][mask]`: the dimensions beside the mask are known."""
    first, *rest = _items(items)
    if first is None and rest == [slice(None)] and base.values.ndim == base.mask.ndim == 1:
        column = subscript(ctx, base.values, (slice(None), None))
        return SelectedColumns(replace(base, values=as_array(ctx, column), table=None))
    if first == slice(None) and len(rest) == base.mask.ndim == 1 and base.values.ndim == 2 and is_mask(
            mask := _item(ctx, rest[0])):
        return Block(base.values, replace(base, values=base.mask, table=None), side(ctx, mask, base.values.shape[1]))
    chosen = [p for p in rest if isinstance(_item(ctx, p), ArrayValue)]
    moved = len(chosen) > 1 or (chosen and any(is_int(p) for p in rest))
    if first != slice(None) or Ellipsis in rest or moved or any(is_mask(_item(ctx, p)) for p in chosen):
        raise ctx.refuse("a subscript of data selected by a mask, whose length depends on the data,",
                         "take parts of the other dimensions before the mask", "SG105")
    values = subscript(ctx, base.values, (*(slice(None),) * base.mask.ndim, *rest))
    return replace(base, values=as_array(ctx, values), table=base.table if is_stored(base) else None)


def _items(items: Value) -> tuple:
    return _whole_masks(items) if isinstance(items, tuple) else (items,)


def _whole_masks(items: tuple) -> tuple:
    """`x[i, j]` where `i, j = np.nonzero(mask)`   ->   `x[mask]`"""
    found: list[Value] = []
    for k, item in enumerate(items):
        count = item.mask.ndim if isinstance(item, MaskPlaces) and item.part == 0 else 0
        here = [p for p in items[k:k + count] if isinstance(p, MaskPlaces) and p.mask is item.mask]
        if count > 1 and [p.part for p in here] == list(range(count)):
            return (*found, replace(item, part=None), *_whole_masks(items[k + count:]))
        found.append(item)
    return tuple(found)


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
        return _with_places(ctx, base, [*parts[:k], *fill, *parts[k + 1:]])
    return _with_places(ctx, base, [*parts, *fill])


def _with_places(ctx: Context, base: ArrayValue, parts: list[Value]) -> list[Value]:
    """The same with the places that a mask chooses in place of one whose elements are known."""
    found: list[Value] = []
    for part in parts:
        if not isinstance(part, np.ndarray):
            found.append(part)
            continue
        first = sum(map(_width, found))
        sizes = base.shape[first:first + part.ndim]
        if tuple(n.const for n in sizes) != part.shape:
            raise ctx.refuse(f"a mask of shape {shape_text(tuple(map(ix, part.shape)))} for shape {shape_text(sizes)}",
                             code="SG105")
        found += [constant_array(ctx, places) for places in np.nonzero(part)]
    return found


def _width(part: Value) -> int:
    return 0 if part is None or part is Ellipsis else part.ndim if isinstance(part, np.ndarray) or is_mask(part) else 1


def _item(ctx: Context, item: Value) -> Value:
    if isinstance(item, (list, tuple, ListValue, np.ndarray)):
        values = item.items if isinstance(item, ListValue) else item
        if all(isinstance(v, (bool, int, np.integer, np.bool_)) for v in np.asarray(values, dtype=object).ravel()):
            array = np.asarray(values)
            if array.dtype.kind == "b" and array.ndim:
                return array
            return constant_array(ctx, array if array.size else array.astype(np.int64))
        return as_array(ctx, item)
    if isinstance(item, MaskPlaces) and (item.part is None or item.mask.ndim == 1):
        return item.mask
    if isinstance(item, range):
        return constant_array(ctx, np.array(item, dtype=np.int64))
    if isinstance(item, (bool, np.bool_)):
        raise ctx.refuse("a boolean as an index", "use an if statement", "SG105")
    if isinstance(item, ArrayValue):
        if item.dtype.kind not in "iub":
            help = "convert it with astype(int)" if item.shape else as_integer(ctx, item, "convert it with int(...)")
            raise ctx.refuse(f"an index of dtype {item.dtype}", help, "SG105")
        return item if item.shape else to_int(ctx, item)
    if is_int(item) or item is None or item is Ellipsis or isinstance(item, (slice, SliceValue)):
        return item
    raise ctx.refuse(f"{describe(item)} as an index", code="SG105")


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
    made = ctx.builder.lazy(plan.shape, base.dtype, lambda p: source.at(plan.index(p)), base.reads | plan.sources,
                            parts=(source,))
    # Rows of what is in C order are; other parts come in the order of their steps, as NumPy has it.
    known = (base, *(p for p in parts if isinstance(p, ArrayValue)))
    if plan.arrays.start == 0 and not any(is_turned(ctx, v) for v in known):
        made.any_order = False
    return made


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


def _plain_dimensions(ctx: Context, base: ArrayValue, parts: Sequence[Value]) -> tuple[list[Ix], list[Ix], list[Rule]]:
    plain: list[Ix] = []
    rules: list[Rule] = []
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
            rules.append(_slice_rule(len(plain), first, step))
            plain.append(count)
        else:
            rules.append(_fixed_rule(one_index(ctx, part, extent)))
    return extents, plain, rules


def _slice_rule(k: int, first: Ix, step: int) -> Rule:
    return lambda _, rest: first + rest[k] * step


def _fixed_rule(i: Ix) -> Rule:
    return lambda _, __: i


def _array_rule(ctx: Context, array: ArrayValue, extent: Ix) -> Rule:
    if to_ix(array.at(axes(array.ndim))) is None:
        array = ctx.builder.materialise(array, "index")
    domain, position = ctx.builder.domain(array.shape)
    every = to_ix(array.at(position))
    if every is not None:
        check_index(ctx, every, extent, domain)
        ctx.builder.note_access(every, extent, ctx.here, domain)

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
    span = Range(ctx.builder.symbol("entry"), ix(0), plan.shape[dims[0]])
    with ctx.builder.region() as block:
        ctx.builder.scope.ranges.append(span)
        _nest(ctx, dims[1:], plan, body, {**at, dims[0]: ix(span.var)})
    ctx.builder.emit(Loop(span, tuple(block), ctx.builder.source))


def _store_at(ctx: Context, target: ViewValue, plan: Gather, element: Callable[[Position], Expr],
              at: dict[int, Ix], fn: str | None = None) -> None:
    """Store what is left over once the dimensions in `at` are loops; `fn`: of the element as it is and the new one."""
    free = tuple(n for k, n in enumerate(plan.shape) if k not in at)
    domain, inner = ctx.builder.domain(free)
    rest = iter(inner)
    position = tuple(at[k] if k in at else next(rest) for k in range(len(plan.shape)))
    index = target.view.at(plan.index(position))
    e = cast(element(position), target.dtype)
    e = e if fn is None else call(fn, Load(target.view.array, index, target.dtype), e)
    ctx.builder.store(target.view.array, index, e, domain)


def accumulate_at(ctx: Context, target: ViewValue, items: Value, value: ArrayValue, op: str) -> None:
    """`np.add.at(target, items, value)`: every one of several contributions to an element counts.

    They may come in any order, but for products: of these a derivative needs what was there before, one by one.
    """
    parts = expand_items(ctx, target, items)
    if any(is_mask(p) for p in parts):
        raise ctx.refuse("a boolean mask in ufunc.at", "use an ordinary masked update", "SG105")
    if not any(isinstance(p, ArrayValue) for p in parts):
        target = as_view(basic(ctx, target, parts))
        plan = Gather(target.shape, lambda p: p, range(0), frozenset(), True)
    else:
        plan = plan_gather(ctx, target, parts)
    spread = expand(ctx, value, plan.shape)
    if target.view.array in (spread.reads | plan.sources):
        spread = ctx.builder.materialise(spread, "tmp")
    if op == "*":
        element, dims = template(spread), () if plan.distinct else tuple(plan.arrays)
        ctx.builder.consume(value)
        _nest(ctx, dims, plan, lambda at: _store_at(ctx, target, plan, element, at, "mul"))
        return
    domain, position = ctx.builder.domain(plan.shape)
    e = cast(spread.at(position), target.dtype)
    ctx.builder.consume(value)
    ctx.builder.store(target.view.array, target.view.at(plan.index(position)), e, domain, op)


def write(ctx: Context, base: Value, items: Value, value: Value, any_order: bool = False) -> None:
    """`base[items] = value`; `any_order`: the value is a number, or was read with `any_order` from there."""
    if not isinstance(base, ViewValue) or base.scalar:
        raise ctx.refuse(f"an assignment into {describe(base)}", "assign to an element or slice of a named array",
                         "SG105")
    check_writable(ctx, base)
    parts = expand_items(ctx, base, items)
    if any(is_mask(p) for p in parts):
        columns = of_columns(parts)
        value = beside_columns(ctx, value) if columns and not any_order else value
        chosen, mask = beside_mask(ctx, base, parts, any_order or columns or is_number(value))
        write_masked(ctx, as_view(chosen), masked(ctx, chosen, mask), value)
        return
    if isinstance(value, Masked):
        raise ctx.refuse("data selected by a mask stored outside that mask", "use np.where", "SG105")
    source = as_array(ctx, value)
    check_cast(ctx, source, base)
    if any(isinstance(p, ArrayValue) for p in parts):
        scatter(ctx, base, parts, source)
        return
    view = as_view(basic(ctx, base, parts))
    ctx.builder.assign(view, expand(ctx, source, view.shape))
    ctx.builder.consume(source)
