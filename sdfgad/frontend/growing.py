"""Lists that counted loops make longer: every iteration appends equally many items, which are rows of arrays."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sdfgad.frontend.advice import GROWS
from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import as_array, describe, expand, int_value
from sdfgad.frontend.grown import FIXED, items
from sdfgad.frontend.indexing import subscript
from sdfgad.frontend.merge import Kind, join, kind_of
from sdfgad.frontend.sharing import IN_LIST, SharedPlaces
from sdfgad.frontend.values import Grown, ListValue, Rows, Value, ViewValue, contained, like
from sdfgad.ir.index import Ix, ix

_TRIALS = 12


class Refit(Exception):
    """What was assumed of a growing list does not hold."""

    def __init__(self, name: str, kinds: list[Kind] | None = None, form: Value = None, stride: int = 0) -> None:
        super().__init__(name)
        self.name, self.kinds, self.form, self.stride = name, kinds, form, stride


# loops

def run_growing(ctx: Context, lists: Sequence[str], rows: Rows, least: int,
                run: Callable[[Rows], None]) -> bool:
    """Run a loop of more than `least` iterations that appends to `lists`; whether it is one.

    Its body is translated once, for all iterations: it has to append the same number of items, of the same kinds, in
    each of them. Tried with what is known, and again with what turns up.
    """
    names = may_grow(ctx, lists, rows, least)
    if not names:
        return False
    strides, kinds = dict.fromkeys(names, 1), {n: _first_kinds(ctx, ctx.frame.names[n]) for n in names}
    back, frame, given = ctx.mark(), ctx.frame, dict(ctx.frame.names)
    for _ in range(_TRIALS):
        begun = {n: _begin(ctx, frame.names[n], rows, strides[n], *kinds[n], n) for n in names}
        frame.names.update(begun)
        try:
            run(_watched(ctx, rows, begun, strides))
            _close(ctx, begun, strides)
        except Refit as found:
            if found.name not in strides or found.kinds and begun[found.name].begun is not None:
                raise
            back()
            if found.kinds:
                kinds[found.name] = found.kinds, found.form
            else:
                strides[found.name] = found.stride
            continue
        for n, made in begun.items():
            frame.names[n] = replace(made, length=made.length + rows.count * strides[n]) if strides[n] else given[n]
            if strides[n] and isinstance(given[n], ListValue):
                _fix(tuple(given[n].items))
        return True
    raise ctx.refuse("a list that loops make longer in different ways", "use an array", "SG102")


def may_grow(ctx: Context, lists: Sequence[str], rows: Rows, least: int) -> list[str]:
    """Those of the names that are lists to which a loop of more than `least` iterations may append."""
    count, names = rows.count.const, ctx.frame.names
    if count is None or count < 1:
        return []
    return [n for n in lists if n in names and _may_grow(ctx, names[n], count > least)]


def appended(body: Sequence[ast.stmt]) -> list[str]:
    """The names of the lists that a block makes longer, if they are lists: `name.append(item)`, `name += items`.

    A list that gives items away as well may keep its length.
    """
    nodes = [n for s in body for n in ast.walk(s)]
    called = [n.func for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    longer = [f.value for f in called if f.attr == "append"]
    longer += [n.target for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add)]
    shorter = {f.value.id for f in called if f.attr == "pop" and isinstance(f.value, ast.Name)}
    return list(dict.fromkeys(n.id for n in longer if isinstance(n, ast.Name) and n.id not in shorter))


def _may_grow(ctx: Context, value: Value, long: bool) -> bool:
    if isinstance(value, Grown) and value.begun is not None:
        return value.depth == len(ctx.builder.regions)
    if not isinstance(value, (ListValue, Grown)) or not long or value.depth != len(ctx.builder.regions):
        return False
    # Nobody else may look at the list: the name is bound to another one now.
    alone = sum(part is value for _, _, other in ctx.values() for part in contained(other)) == 1
    return alone and (isinstance(value, Grown) or all(_storable(v) for v in value.items))


def _storable(item: Value) -> bool:
    """Whether an item is made of what rows can hold."""
    parts = item.items if isinstance(item, ListValue) else item if isinstance(item, tuple) else None
    return kind_of(item) is not None if parts is None else all(_storable(p) for p in parts)


def _first_kinds(ctx: Context, value: Value) -> tuple[list[Kind] | None, Value]:
    if isinstance(value, Grown):
        return [_kind(r) for r in value.rows] or None, value.form
    return _taken_apart(ctx, value.items[-1]) if value.items else (None, None)


def _kind(rows: ViewValue) -> Kind:
    return Kind(rows.shape[1:], rows.dtype, rows.weak)


def _begin(ctx: Context, value: Value, rows: Rows, stride: int, kinds: list[Kind] | None, form: Value,
           label: str) -> Grown:
    """The list at the head of the loop, with room for what comes; the innermost of nested loops find it made."""
    if isinstance(value, Grown) and value.begun is not None:
        return value
    depth = len(ctx.builder.regions)
    if kinds is None:
        return Grown((), None, ix(0), depth)
    before = value.length if isinstance(value, Grown) else ix(len(value.items))
    made = tuple(_room(ctx, kind, before + rows.count * stride, label) for kind in kinds)
    grown = Grown(made, form, before, depth)
    if isinstance(value, Grown):
        for target, old in zip(made, value.rows, strict=True):
            _put(ctx, target, slice(0, before.const), old)
    else:
        for k, item in enumerate(value.items):
            _store_item(ctx, label, grown, ix(k), item)
    return grown


def _room(ctx: Context, kind: Kind, count: Ix, label: str) -> ViewValue:
    array = ctx.builder.declare((count, *kind.shape), kind.dtype, label)
    ctx.builder.shared = ctx.builder.shared.copied(array.name, (IN_LIST,), stale=False)
    return ctx.builder.view(array, (count, *kind.shape), kind.weak)


def _watched(ctx: Context, rows: Rows, lists: dict[str, Grown], strides: dict[str, int]) -> Rows:
    """The rows of the loop; asking for one begins an iteration."""
    loop = object()

    def item(k: Ix) -> Value:
        _close(ctx, lists, strides, loop)
        for n, made in lists.items():
            length = made.length + k * strides[n]
            ctx.frame.names[n] = replace(made, length=length, begun=length, depth=len(ctx.builder.regions), loop=loop)
        return rows.item(k)

    return Rows(rows.count, item)


def _close(ctx: Context, lists: dict[str, Grown], strides: dict[str, int], loop: object = None) -> None:
    """At the end of an iteration every list has to be as much longer as was assumed."""
    for n in lists:
        now = ctx.frame.names[n]
        if loop is not None and (not isinstance(now, Grown) or now.loop is not loop):
            continue  # the first iteration begins
        more = (now.length - now.begun).const if isinstance(now, Grown) and now.begun is not None else None
        if more is None:
            raise ctx.refuse("a list to which loops append different numbers of items", GROWS, "SG102")
        if more != strides[n]:
            raise Refit(n, stride=more)


# items

def as_list(ctx: Context, owner: Grown) -> ListValue:
    """The list as one that may be changed in any way, under all its names, where no loop is making it longer."""
    made = ListValue(items(ctx, owner), owner.depth)
    for frame, name, value in list(ctx.values()):
        if value is owner and frame.names[name] is owner:
            frame.names[name] = made
        elif any(part is owner for part in contained(value)):
            raise ctx.refuse("a change of a list that is inside of another", "give it a name", "SG102")
    return made


def append(ctx: Context, owner: Grown, arguments: Sequence[Value]) -> None:
    """`name.append(item)`."""
    name = next((n for n, v in ctx.frame.names.items() if v is owner), None)
    if len(arguments) != 1 or name is None or owner.depth != len(ctx.builder.regions):
        raise ctx.refuse("a list changed inside a branch or a loop of unknown length", GROWS, "SG102")
    found, form = _taken_apart(ctx, arguments[0])
    known = [_kind(r) for r in owner.rows]
    if not known:
        raise Refit(name, found, form)
    joined = [join(a, b) for a, b in zip(known, found, strict=True)] if form == owner.form else [None]
    if None in joined:
        raise ctx.refuse(f"{describe(arguments[0])} in a list whose other items are of another kind",
                         "use lists of items of one shape and type", "SG104")
    if joined != known:
        raise Refit(name, joined, form)  # type: ignore[arg-type]
    _store_item(ctx, name, owner, owner.length, arguments[0])
    _fix(arguments[0])
    ctx.frame.names[name] = replace(owner, length=owner.length + 1)


def _fix(item: Value) -> None:
    """Refuse changes of lists in an item: what becomes of them later would not be seen."""
    for part in contained(item):
        if isinstance(part, ListValue):
            part.depth = FIXED


def _taken_apart(ctx: Context, item: Value) -> tuple[list[Kind], Value]:
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


def _store_item(ctx: Context, label: str, owner: Grown, k: Ix, item: Value) -> None:
    found, form = _taken_apart(ctx, item)
    if form != owner.form or any(a.shape != _kind(r).shape for a, r in zip(found, owner.rows, strict=True)):
        raise ctx.refuse(f"{label!r}, a list of items of several kinds", "use lists of items of one kind", "SG104")
    for target, value in zip(owner.rows, _leaves(item), strict=True):
        _put(ctx, target, int_value(k), value)


def _leaves(item: Value) -> Iterator[Value]:
    if not isinstance(item, (tuple, ListValue)):
        yield item
        return
    for part in item.items if isinstance(item, ListValue) else item:
        yield from _leaves(part)


def _put(ctx: Context, rows: ViewValue, place: Value, value: Value) -> None:
    """Store where the list keeps its items; note what the copy could be told from."""
    builder = ctx.builder
    target = subscript(ctx, rows, (place, Ellipsis))
    before, array = builder.shared, rows.view.array
    builder.shared = before.copied(array, (), stale=False)
    builder.assign(ViewValue(target.view), expand(ctx, as_array(ctx, value), target.shape))
    origins, stale = frozenset(before.links.get(array, ())) | {IN_LIST}, array in before.stale
    if isinstance(value, ViewValue) and value.shape:
        origins |= {value.view.array} | before.relatives(value.view.array)
        stale = stale or value.view.array in before.stale
    builder.shared = SharedPlaces({**before.links, array: origins}, before.stale | {array} if stale else before.stale,
                            builder.shared.twins)
