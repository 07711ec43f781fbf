"""What lists in rows hold: items taken apart into numbers and arrays, and stored in their rows."""
from __future__ import annotations

from collections.abc import Iterator

from sdfgad.frontend.arrays.grown import FIXED
from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.elements.elementwise import as_array, describe, expand, int_value
from sdfgad.frontend.merging.merge import Kind, kind_of
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import Numbered
from sdfgad.frontend.state.sharing import IN_LIST, NAMED, SharedPlaces
from sdfgad.frontend.state.values import ArrayValue, Grown, ListValue, Value, ViewValue, contained, like
from sdfgad.ir.index import Ix


def kind_of_rows(rows: ViewValue) -> Kind:
    """The kind of what each row holds."""
    return Kind(rows.shape[1:], rows.dtype, rows.weak)


def fix(item: Value) -> None:
    """Refuse changes of lists in an item: what becomes of them later would not be seen."""
    for part in contained(item):
        if isinstance(part, ListValue):
            part.depth = FIXED


def taken_apart(ctx: Context, item: Value) -> tuple[list[Kind], Value]:
    """The kinds of the numbers and arrays in an item, and the item with their numbers in place of them."""
    kinds: list[Kind] = []

    def visit(value: Value) -> Value:
        if isinstance(value, tuple):
            return like(value, [visit(v) for v in value])
        if isinstance(value, ListValue) and value.items:
            return [visit(v) for v in value.items]
        kind = kind_of(value)
        if kind is None or any(n.const is None for n in kind.shape):
            raise ctx.refuse(f"{describe(value)} put in a list inside a loop", "use an array", "SG102")
        kinds.append(kind)
        return len(kinds) - 1

    return kinds, visit(item)


def store_row(ctx: Context, owner: Grown | Numbered, k: Ix, item: Value) -> None:
    """Store an item in row k."""
    found, form = taken_apart(ctx, item)
    if form != owner.form or any(a.shape != kind_of_rows(r).shape for a, r in zip(found, owner.rows, strict=True)):
        raise ctx.refuse("a list of items of several kinds", "use lists of items of one kind", "SG104")
    for target, value in zip(owner.rows, _leaves(item), strict=True):
        put_rows(ctx, target, int_value(k), value)


def _leaves(item: Value) -> Iterator[Value]:
    if not isinstance(item, (tuple, ListValue)):
        yield item
        return
    for part in item.items if isinstance(item, ListValue) else item:
        yield from _leaves(part)


def put_rows(ctx: Context, rows: ViewValue, place: Value, value: Value) -> None:
    """Store where the list keeps its items; note what the copy could be told from."""
    builder = ctx.builder
    target = subscript(ctx, rows, (place, Ellipsis))
    before, array = builder.shared, rows.view.array
    builder.shared = before.copied(array, (), stale=False)
    builder.assign(ViewValue(target.view), expand(ctx, as_array(ctx, value), target.shape))
    origins, stale = frozenset(before.links.get(array, ())) | {IN_LIST}, array in before.stale
    if isinstance(value, ViewValue) and value.shape and not _is_fresh(ctx, value):
        origins |= {value.view.array, NAMED} | before.relatives(value.view.array)
        stale = stale or value.view.array in before.stale
    builder.shared = SharedPlaces({**before.links, array: origins}, before.stale | {array} if stale else before.stale,
                            builder.shared.twins)


def _is_fresh(ctx: Context, value: ViewValue) -> bool:
    """Whether nobody but the list will know an array."""
    array, shared = value.view.array, ctx.builder.shared
    known = any(isinstance(p, ArrayValue) and array in p.reads for _, _, held in ctx.values() for p in contained(held))
    return ctx.builder.arrays[array].role == "transient" and not known and not shared.relatives(array)
