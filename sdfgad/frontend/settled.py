"""Keys of dicts and attributes of objects that only some of the ways to a point have set."""
from __future__ import annotations

from typing import Any

from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import describe
from sdfgad.frontend.values import Maybe, Record, Value

_HELP = "give it a value before the loop or branch"


def settled(ctx: Context, owner: Record) -> dict[Any, Value]:
    """The items of a dict or object that is asked for all of them: they have to be the same on every way."""
    for key in owner.items:
        has(ctx, owner, key)
    return owner.items


def has(ctx: Context, owner: Record, key: Any) -> bool:
    """Whether a dict or object has an item or attribute, which every way has to answer alike."""
    if isinstance(owner.items.get(key), Maybe):
        what = f"the key {key!r}" if issubclass(owner.form, dict) else f"the attribute {key!r}"
        raise ctx.refuse(f"{what} of {describe(owner)}, which may not be there at this point", _HELP, "SG107")
    return key in owner.items
