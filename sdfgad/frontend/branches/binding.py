"""Names bound to values."""
from __future__ import annotations

from sdfgad.frontend.arrays.layout import like_order
from sdfgad.frontend.arrays.views import exact_or_named
from sdfgad.frontend.elements.elementwise import to_ix
from sdfgad.frontend.functions import arithmetic
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.merging.merge import kind_of, private
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import IntValue, Lazy, Value, ViewValue
from sdfgad.frontend.static.outside import bind_global


def bind(ctx: Context, name: str, value: Value, alone: bool = True) -> None:
    """`name = value`: results are stored, views and constants are shared."""
    if name in ctx.frame.liveness.shared:
        bind_global(ctx, name, value)
        return
    if isinstance(value, Lazy) and value.stored is None and arithmetic.constant_of(value) is None:
        value = _bound(ctx, name, value, alone)
    else:
        value = kept(ctx, value, name)
    if isinstance(value, ViewValue) and value.scalar and value.dtype.kind in "iu":
        value = exact_or_named(ctx, value, name)
    ctx.frame.names[name] = value


def _bound(ctx: Context, name: str, value: Lazy, alone: bool) -> Value:
    """Store a result under a name, in the container the name already owns where that is safe."""
    if not value.shape and value.dtype.kind in "iu" and to_ix(value.at(())) is not None:
        return exact_or_named(ctx, value, name)
    old = ctx.frame.names.get(name)
    fits = kind_of(old) == kind_of(value) and not isinstance(old, IntValue) and not (
        value.readonly or isinstance(old, ViewValue) and old.readonly)
    if alone and old is not None and fits and not value.origins:
        container = private(ctx, ctx.frame, name)
        if container is not None and ctx.builder.inner(container):
            ctx.builder.shared = ctx.builder.shared.copied(container, (), stale=False).rebound(container)
            if like_order(ctx, value):
                ctx.builder.any_order.add(container)
            ctx.builder.assign(old, value)
            return old
    return ctx.builder.materialise(value, name)
