"""Elements of one array stored at the same places of another."""
from __future__ import annotations

import ast

from sdfgad.frontend.arrays.indexing import write
from sdfgad.frontend.arrays.views import check_fresh
from sdfgad.frontend.expressions import evaluate, item_of
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Masked
from sdfgad.frontend.updates import store_item


def same_places(target: ast.expr, source: ast.expr) -> bool:
    """Whether elements are stored where they are read in another array: `a[s] = b[s]`."""
    return (isinstance(target, ast.Subscript) and isinstance(source, ast.Subscript)
            and ast.dump(target.slice) == ast.dump(source.slice))


def copy_places(ctx: Context, target: ast.expr, source: ast.expr) -> None:
    """`a[:, mask] = b[:, mask]`: in any order that is the same for both."""
    assert isinstance(target, ast.Subscript) and isinstance(source, ast.Subscript)
    owner, places = evaluate(ctx, source.value), evaluate(ctx, source.slice)
    with ctx.at(source):
        value = item_of(ctx, owner, places, any_order=True)
        check_fresh(ctx, value, source)
    base, items = evaluate(ctx, target.value), evaluate(ctx, target.slice)
    if isinstance(value, Masked) and isinstance(owner, ArrayValue):
        alike = isinstance(base, ArrayValue) and base.ndim == owner.ndim
        with ctx.at(source):
            value = value if alike else item_of(ctx, owner, places)  # in NumPy's order, or refused
        with ctx.at(target):
            write(ctx, base, items, value, any_order=alike)
        return
    with ctx.at(target):
        store_item(ctx, base, items, value)
