"""Subscripts with integer arrays: where each element comes from, and stores one after the other."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from sdfgad.frontend.arrays.layout import is_turned
from sdfgad.frontend.arrays.places import in_memory, note_access, places
from sdfgad.frontend.arrays.views import one_index, remap, slice_range, template
from sdfgad.frontend.elements.caught import check_index
from sdfgad.frontend.elements.elementwise import broadcast, expand, project, to_ix
from sdfgad.frontend.elements.failing import stop_beside_any
from sdfgad.frontend.state.builder import axes, cast, reads_of
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Lazy, Position, Shape, SliceValue, Value, ViewValue, is_int
from sdfgad.ir.expr import Expr, Load, call
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Loop, Range

# From the position within the index arrays and the position in the other dimensions to one index.
Rule: TypeAlias = Callable[[Position, Position], Ix]


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
    stop_beside_any(ctx, array, extent)
    domain, position = ctx.builder.domain(array.shape)
    every = to_ix(array.at(position))
    as_python: Callable[[Ix], Ix] = partial(in_memory, ctx.builder, extent=extent)
    if every is not None:
        check_index(ctx, every, extent, domain)
        note_access(ctx.builder, every, extent, ctx.here, domain)
        as_python = places(ctx, every, extent)

    def rule(chosen: Position, _: Position) -> Ix:
        i = to_ix(array.at(project(array.shape, chosen)))
        if i is None:
            raise LookupError("an index array changed its form")
        return as_python(i)

    return rule


def _all_distinct(ctx: Context, array: ArrayValue, extents: Sequence[Ix]) -> bool:
    """Whether an index array known now names no element twice."""
    if not isinstance(array, ViewValue) or not array.whole or array.view.array not in ctx.builder.constants:
        return False
    values = ctx.builder.constants[array.view.array]
    size = extents[0].const
    return size is not None and len(np.unique(values % max(size, 1))) == values.size


def scatter(ctx: Context, target: ViewValue, parts: Sequence[Value], value: ArrayValue,
            mask: ArrayValue | None = None) -> None:
    """`target[..., indices, ...] = value`: in order, so that the last of several writes to one element stays.

    mask: of the shape of the first dimensions of what is stored; where it is off, elements stay what they are.
    """
    plan = plan_gather(ctx, target, parts)
    spread = expand(ctx, value, plan.shape)
    if target.view.array in (spread.reads | plan.sources):
        spread = ctx.builder.materialise(spread, "tmp")
    if target.view.array in plan.sources:
        raise ctx.refuse("an index array that is written through itself", "copy the index array first", "SG105")
    element, where = template(spread), None if mask is None else template(_broad(ctx, mask, plan.shape))
    ctx.builder.consume(value)
    sequential = () if plan.distinct else tuple(plan.arrays)
    nest(ctx, sequential, plan, lambda at: store_at(ctx, target, plan, element, at, where=where))


def _broad(ctx: Context, mask: ArrayValue, shape: Shape) -> ArrayValue:
    """A mask of the first dimensions of a shape for all of them."""
    extra = len(shape) - mask.ndim
    return expand(ctx, remap(ctx, mask, (*mask.shape, *(ix(1),) * extra), axes(mask.ndim)), shape)


def nest(ctx: Context, dims: tuple[int, ...], plan: Gather, body: Callable[[dict[int, Ix]], None],
          at: dict[int, Ix] | None = None) -> None:
    at = at or {}
    if not dims:
        body(at)
        return
    span = Range(ctx.builder.symbol("entry"), ix(0), plan.shape[dims[0]])
    with ctx.builder.region() as block:
        ctx.builder.scope.ranges.append(span)
        nest(ctx, dims[1:], plan, body, {**at, dims[0]: ix(span.var)})
    ctx.builder.emit(Loop(span, tuple(block), ctx.builder.source))


def store_at(ctx: Context, target: ViewValue, plan: Gather, element: Callable[[Position], Expr],
             at: dict[int, Ix], fn: str | None = None, where: Callable[[Position], Expr] | None = None) -> None:
    """Store what is left over once the dimensions in `at` are loops; `fn`: of the element as it is and the new one.

    where: whether an element is stored at all.
    """
    free = tuple(n for k, n in enumerate(plan.shape) if k not in at)
    domain, inner = ctx.builder.domain(free)
    rest = iter(inner)
    position = tuple(at[k] if k in at else next(rest) for k in range(len(plan.shape)))
    index = target.view.at(plan.index(position))
    e = cast(element(position), target.dtype)
    old = Load(target.view.array, index, target.dtype)
    e = e if fn is None else call(fn, old, e)
    e = e if where is None else call("select", where(position), e, old, dtype=target.dtype)
    ctx.builder.store(target.view.array, index, e, domain)
