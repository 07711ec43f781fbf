"""Methods that change lists while loops make them longer, or behind such a loop."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.arrays.grown import first_row, item_at
from sdfgad.frontend.arrays.views import named_int
from sdfgad.frontend.containers.growing import Refit, check_kinds, made_longer, once_longer, rebind
from sdfgad.frontend.containers.rows import store_row
from sdfgad.frontend.elements.elementwise import BOOL, INT, as_array, int_value
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.functions.places import place
from sdfgad.frontend.merging.structures import mapped
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Grown, Method, Value, ViewValue, contained, is_int
from sdfgad.frontend.static.settled import growing
from sdfgad.frontend.syntax.advice import GROWS
from sdfgad.ir.expr import Index, call, const
from sdfgad.ir.program import Failure


def changed(ctx: Context, method: Method, arguments: Sequence[Value]) -> tuple[Value, ...]:
    """What a method of a list in rows gives that changes it; nothing where it has to be made one of items first."""
    owner, most = method.owner, getattr(method.owner.kind, "most", None)
    if method.name in ("append", "extend") and made_longer(ctx, method, arguments):
        if most is not None:
            keep_last(ctx, owner, most)
        return (None,)
    if method.name == "reverse" and not arguments and owner.counter is not None:
        _reverse(ctx, owner)
        return (None,)
    rule = _SHORTER.get((method.name, *arguments)) if all(isinstance(a, int) for a in arguments) else None
    if rule is None or owner.counter is None and owner.now.begun is None:
        return ()
    if owner.now.begun is not None:
        return (rule(ctx, owner),)
    if owner.now.depth != len(ctx.builder.regions):
        raise growing(ctx.refuse("a list that gets shorter in a loop", GROWS, "SG102"), owner)
    return (once_longer(ctx, owner, lambda inside: rule(ctx, inside)),)


def _reverse(ctx: Context, owner: Grown) -> None:
    """`name.reverse()` behind the loop: all names hold a list of the same items in the other order."""
    made = item_at(ctx, owner, slice(None, None, -1))
    made.kind = owner.kind
    if owner.now.depth != len(ctx.builder.regions) or not rebind(ctx, owner, made):
        raise growing(ctx.refuse("a list turned around in a loop", "loop over reversed(name)", "SG102"), owner)


def _counted(ctx: Context, owner: Grown) -> None:
    """Data decide how long a list is that gets shorter."""
    if owner.counter is None:
        raise growing(ctx.refuse("a list that gets shorter in a loop", GROWS, "SG102"), owner)


def _check_some(ctx: Context, owner: Grown) -> None:
    ctx.builder.flush()
    empty = call("lt", Index(owner.length - 1, INT), const(0, INT), dtype=BOOL)
    raise_if(ctx, empty, lambda: fail(ctx, Failure(IndexError, ("pop from empty list",))))


def _popped(ctx: Context, owner: Grown) -> Value:
    """The last item, in whose place the next one comes."""
    _counted(ctx, owner)
    _check_rows(ctx, owner)
    _check_some(ctx, owner)
    last = int_value(owner.length - 1)
    item = mapped(item_at(ctx, owner, last), lambda v: ctx.builder.fresh_copy(as_array(ctx, v), "item"),
                  len(ctx.builder.regions))
    owner.counter.items["length"] = last  # type: ignore[union-attr]
    return item


def _popped_first(ctx: Context, owner: Grown) -> Value:
    """The first item, whose row stays what it is."""
    _counted(ctx, owner)
    _check_some(ctx, owner)
    item = kept(ctx, item_at(ctx, owner, 0))
    _drop(ctx, owner, 1)
    return item


def _cleared(ctx: Context, owner: Grown) -> None:
    _counted(ctx, owner)
    _drop(ctx, owner, int_value(owner.length))


_SHORTER: Mapping[tuple[Value, ...], Callable[[Context, Grown], Value]] = MappingProxyType({
    ("pop",): _popped, ("pop", -1): _popped, ("pop", 0): _popped_first, ("popleft",): _popped_first,
    ("clear",): _cleared})
"""What makes a list shorter, by the name of the method and its arguments."""


def keep_last(ctx: Context, owner: Grown, most: Value) -> None:
    """Leave `most` items at the end of a list."""
    _counted(ctx, owner)
    more = ctx.invoke(ctx, np.subtract, [int_value(owner.length), most], {})
    _drop(ctx, owner, _number(ctx, ctx.invoke(ctx, np.maximum, [more, 0], {})))


def _drop(ctx: Context, owner: Grown, count: Value) -> None:
    """Take items away from the begin of a list: the next one is the first, and what rows hold stays."""
    assert owner.counter is not None
    if "start" not in owner.counter.items:
        raise Refit(owner, moving=True)
    for name, ufunc, before in (("start", np.add, first_row(owner)), ("length", np.subtract, owner.length)):
        owner.counter.items[name] = _number(ctx, ctx.invoke(ctx, ufunc, [int_value(before), count], {}))


def _number(ctx: Context, value: Value) -> Value:
    """An integer that stays what it is."""
    return value if is_int(value) else named_int(ctx, ctx.builder.fresh_copy(as_array(ctx, value), "length"), "length")


def row_at(ctx: Context, owner: Grown, where: Value) -> Value:
    """`name[where]`."""
    counted = owner.counter is not None and is_int(where)
    return item_at(ctx, owner, int_value(place(ctx, owner.length, where)) if counted else where)


def put_row(ctx: Context, owner: Grown, where: Value, value: Value) -> None:
    """`name[where] = value`, of a list whose length data decide."""
    item = kept(ctx, value)
    check_kinds(ctx, owner, item)
    _check_rows(ctx, owner)
    store_row(ctx, owner, first_row(owner) + place(ctx, owner.length, where), item)


def _check_rows(ctx: Context, owner: Grown) -> None:
    """Whether no name stands for a row, or for some of them, that something else is about to be stored in."""
    rows = {r.view.array for r in owner.rows}
    for _, _, value in ctx.values():
        views = [p for p in contained(value) if isinstance(p, ViewValue) and p.view.array in rows]
        others = [p for p in contained(value) if isinstance(p, Grown) and p is not owner and p.rows]
        if any(all(p is not r for r in owner.rows) for p in views) or any(
                r.view.array in rows for p in others for r in p.rows):
            raise ctx.refuse("an item of a list replaced, or the last one taken away, while a name stands for it or "
                             "another one", "give the name a copy: x = items[k].copy()", "SG102")
