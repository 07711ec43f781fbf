"""Methods that change lists while loops make them longer, or behind such a loop."""
from __future__ import annotations

from collections.abc import Sequence

from sdfgad.frontend.advice import GROWS
from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import BOOL, INT, as_array, int_value
from sdfgad.frontend.growing import made_longer
from sdfgad.frontend.grown import item_at
from sdfgad.frontend.raising import fail, raise_if
from sdfgad.frontend.settled import growing
from sdfgad.frontend.structures import mapped
from sdfgad.frontend.values import Grown, Method, Value
from sdfgad.ir.expr import Index, call, const
from sdfgad.ir.program import Failure


def changed(ctx: Context, method: Method, arguments: Sequence[Value]) -> tuple[Value, ...]:
    """What `append`, `extend` or `pop` of a list in rows gives; nothing where it has to be made one of items first."""
    if method.name in ("append", "extend") and made_longer(ctx, method, arguments):
        return (None,)
    taken = method.name == "pop" and not arguments and method.owner.now.begun is not None
    return (_popped(ctx, method.owner),) if taken else ()


def _popped(ctx: Context, owner: Grown) -> Value:
    """A number, or several, which the next item may overwrite: arrays have names that would show it."""
    if owner.counter is None:
        raise growing(ctx.refuse("a list that gets shorter in a loop", GROWS, "SG102"), owner)
    if not owner.rows or any(r.ndim > 1 for r in owner.rows):
        raise ctx.refuse("an item taken away from a list of arrays whose length data decide", GROWS, "SG102")
    ctx.builder.flush()
    last = owner.length - 1
    empty = call("lt", Index(last, INT), const(0, INT), dtype=BOOL)
    raise_if(ctx, empty, lambda: fail(ctx, Failure(IndexError, ("pop from empty list",))))
    item = mapped(item_at(ctx, owner, int_value(last)), lambda v: ctx.builder.fresh_copy(as_array(ctx, v), "item"),
                  len(ctx.builder.regions))
    owner.counter.items["length"] = int_value(last)
    return item
