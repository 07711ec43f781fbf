"""Parts of arrays without copying: slices, single elements, integers used as indices."""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sdfgad.frontend.arrays.places import note_access, places
from sdfgad.frontend.elements.caught import check_index
from sdfgad.frontend.elements.elementwise import (
    describe,
    int_ix,
    to_ix,
)
from sdfgad.frontend.elements.failing import stop_beside, whole_slice
from sdfgad.frontend.elements.in_place import ask_for_arrays
from sdfgad.frontend.state.builder import axes
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.sharing import READ_ONLY_HELP, refuse_stale
from sdfgad.frontend.state.strides import keeps_order
from sdfgad.frontend.state.values import (
    ArrayValue,
    IntValue,
    Lazy,
    Masked,
    Position,
    Shape,
    SliceValue,
    Value,
    ViewValue,
    contained,
    is_int,
)
from sdfgad.frontend.static.exact_values import exact_number
from sdfgad.frontend.static.sizes import as_integer
from sdfgad.ir.expr import Expr, Index, const, map_indices
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import View, axis


def remap(ctx: Context, value: ArrayValue, shape: Shape, index: Sequence[Ix]) -> ArrayValue:
    """The value seen with another shape: `index` gives the old position in the new placeholders."""
    if isinstance(value, Lazy) and value.stored is not None:
        value = value.stored
    if isinstance(value, ViewValue):
        mapping = {axis(k): i for k, i in enumerate(index)}
        view = View(value.view.array, shape, tuple(i.subs(mapping) for i in value.view.index), value.dtype)
        return ViewValue(view, value.scalar, value.weak, value.readonly)
    base = value

    def element(position: Position) -> Expr:
        here = {axis(k): p for k, p in enumerate(position)}
        return base.at(tuple(i.subs(here) for i in index))

    sources = value.reads | {e.array for i in (*index, *shape) for e in i.elems}
    made = ctx.builder.lazy(shape, value.dtype, element, sources, value.weak, getattr(value, "costly", False), (value,))
    made.origins, made.readonly = origins_of(value), value.readonly
    if isinstance(value, Lazy) and not keeps_order(value.shape, index, shape):
        made.any_order = True
    return made


def read_only(value: ArrayValue) -> ArrayValue:
    """A view just made, as one that NumPy lets nobody write."""
    if isinstance(value, Lazy) and value.stored is not None:
        value = value.stored
    if isinstance(value, ViewValue):
        return replace(value, readonly=True)
    value.readonly = True
    return value


def check_writable(ctx: Context, target: ArrayValue) -> None:
    """Refuse an update that NumPy refuses: "assignment destination is read-only"."""
    if target.readonly:
        raise ctx.refuse("an update of an array that is read-only in NumPy", READ_ONLY_HELP, "SG102")
    ask_for_arrays(ctx, target)


def origins_of(value: ArrayValue) -> frozenset[str]:
    """The containers of which NumPy has the value as a view."""
    if isinstance(value, Lazy) and value.stored is None:
        return value.origins
    view = value.stored if isinstance(value, Lazy) else value
    return frozenset({view.view.array}) if isinstance(view, ViewValue) and not view.scalar else frozenset()


def to_int(ctx: Context, value: Value) -> Value:
    """An integer value, also from a scalar or zero-dimensional integer array."""
    if is_int(value):
        return value
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, ArrayValue) and not value.shape and value.dtype.kind in "iu":
        known = _known_element(ctx, value)
        return exact_or_named(ctx, value, "index") if known is None else known
    raise ctx.refuse(f"{describe(value)} where an integer is needed", as_integer(ctx, value), "SG105")


def to_size(ctx: Context, value: Value) -> Value:
    """An integer as a size or axis, where NumPy takes no boolean."""
    if isinstance(value, (bool, np.bool_)):
        raise ctx.refuse(f"{value} where an integer is needed",
                         "give an integer: most sizes and axes may be no booleans in NumPy", "SG105")
    return to_int(ctx, value)


def _known_element(ctx: Context, value: ArrayValue) -> np.integer | None:
    """The element at a known place of an array of constants, which nothing writes."""
    i = to_ix(value.at(()))
    if i is None or len(i.elems) != 1:
        return None
    found = next(iter(i.elems))
    values = ctx.builder.constants.get(found.array)
    if values is None or i != elem(found.array, found.parts):
        return None
    places = [p for p, n in zip((k.const for k in found.parts), values.shape, strict=True)
              if p is not None and 0 <= p < n]
    return values.dtype.type(values.item(*places)) if len(places) == values.ndim else None


def exact_or_named(ctx: Context, value: ArrayValue, label: str) -> Value:
    """A scalar integer: the number itself where it is known at this point."""
    known = exact_number(ctx, value)
    if known is None:
        return named_int(ctx, value, label)
    _stays(ctx, value, const(int(known), value.dtype))
    return known


def _stays(ctx: Context, value: ArrayValue, e: Expr) -> None:
    """What a number is from here on, also for whoever uses it once more: it no longer holds on to its operands."""
    ctx.builder.consume(value)
    if isinstance(value, Lazy) and value.stored is None:
        value.element = lambda _: e


def named_int(ctx: Context, value: ArrayValue, label: str) -> IntValue:
    """A scalar integer from data as an index; copied first when its array may change while the index is in use."""
    i = to_ix(value.at(()))
    dtype = None if value.weak else value.dtype
    if i is not None and all(_steady(ctx, e.array) for e in i.elems):
        ctx.builder.frozen.update(e.array for e in i.elems if e.array not in ctx.builder.managed)
        _stays(ctx, value, Index(i, value.dtype))
        return IntValue(i, dtype)
    stored = ctx.builder.fresh_copy(value, label)
    ctx.builder.managed.add(stored.view.array)
    found = elem(stored.view.array, ())
    _stays(ctx, value, Index(found, value.dtype))
    return IntValue(found, dtype)


def _steady(ctx: Context, array: str) -> bool:
    return array in ctx.builder.managed or array not in ctx.builder.assumed.fragile


def one_index(ctx: Context, item: Value, extent: Ix) -> Ix:
    """A single index into `extent` elements."""
    i = int_ix(item)
    low, high = ctx.builder.scope.bounds(i)
    size = extent.const
    check_index(ctx, i, extent)
    noted = note_access(ctx.builder, i, extent, ctx.here)
    if size is not None and not noted and ((low is not None and low >= size) or (high is not None and high < -size)):
        raise ctx.raises(IndexError, f"index {i}, which is out of bounds for {size} elements", code="SG105")
    if not noted or i.elems:
        stop_beside(ctx, i, extent)
    return places(ctx, i, extent)(i)


def slice_range(ctx: Context, item: slice | SliceValue, extent: Ix) -> tuple[Ix, Ix, int]:
    """First index, number of elements and step of a slice."""
    ends = [None if e is None else int_ix(to_int(ctx, e)) for e in (item.start, item.stop)]
    step = 1 if item.step is None else to_int(ctx, item.step)
    if isinstance(step, IntValue) or step == 0:
        raise ctx.refuse("a slice with a step that is zero or only known at run time", as_integer(ctx, step), "SG105")
    if step == 1 and ends[0] is not None and ends[1] is not None:
        whole = whole_slice(ctx, ends[0], ends[1], extent)
        if whole is not None:
            return ends[0], whole, 1
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


def scalar_of(ctx: Context, view: ArrayValue) -> ArrayValue:
    """A copy of one element: NumPy's scalars do not follow their array."""
    if isinstance(view, Lazy) or (isinstance(view, ViewValue) and view.scalar):
        return view
    return ctx.builder.lazy((), view.dtype, view.at, view.reads, parts=(view,))


def as_view(value: ArrayValue) -> ViewValue:
    """What is known to be stored: parts of a view are views."""
    if not isinstance(value, ViewValue):
        raise LookupError("a place to write that is not stored")
    return value


def is_range(value: Value) -> bool:
    """Whether a value is `np.arange(n)`, not stored yet."""
    return isinstance(value, Lazy) and value.stored is None and value.ndim == 1 and value.dtype.kind == "i" and (
        value.at(axes(1)) == Index(axes(1)[0], value.dtype))


def template(value: ArrayValue) -> Callable[[Position], Expr]:
    """The value's elements, no longer tied to the value."""
    e = value.at(axes(value.ndim))

    def element(position: Position) -> Expr:
        here = {axis(k): p for k, p in enumerate(position)}
        return map_indices(e, lambda i: i.subs(here))

    return element


def check_fresh(ctx: Context, value: Value, node: ast.expr | None = None) -> None:
    """Refuse to read a copy whose origin has changed: a value, or, without the expression it is, all inside it."""
    stale = ctx.builder.shared.stale
    for part in (contained(value) if node is None or isinstance(value, Masked) else (value,)) if stale else ():
        part = part.stored if isinstance(part, Lazy) else part
        if isinstance(part, ViewValue) and part.view.array in stale:
            what = ctx.builder.label(part.view.array) if node is None else repr(ast.unparse(node))
            raise refuse_stale(ctx.here, ctx.builder.shared, part.view.array, what)
