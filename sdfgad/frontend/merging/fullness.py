"""Lists that loops of unknown length fill: they have room for some items, and the run looks whether it is enough."""
from __future__ import annotations

import math
from collections.abc import Iterable

from sdfgad.frontend.elements.elementwise import BOOL, INT
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.merging.merge import Kind
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Grown
from sdfgad.frontend.syntax.surroundings import GONE
from sdfgad.ir.expr import Index, call, const
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Failure
from sdfgad.rooms import ListOutgrown, room_of, rooms


def place_of(ctx: Context, label: str) -> str:
    """What the room of a list goes by: the loop that fills it, and the name that it has there."""
    here = ctx.here
    return label if here is None else f"{here.file}:{here.line} ({label})"


def room_at(ctx: Context, place: str, kinds: Iterable[Kind]) -> int:
    """The items that there is room for; a call that needs more is translated anew."""
    ctx.surroundings.note(rooms(), place, rooms().get(place, GONE))
    return room_of(place, sum(k.dtype.itemsize * math.prod(n.const or 1 for n in k.shape) for k in kinds))


def check_room(ctx: Context, owner: Grown, row: Ix) -> None:
    """Before an item is appended in that row: the call begins again where there is no room for it."""
    room = owner.rows[0].shape[0].const
    assert room is not None
    item_bytes = sum(r.dtype.itemsize * math.prod(n.const or 1 for n in r.shape[1:]) for r in owner.rows)
    ctx.builder.flush()
    full = call("ge", Index(row, INT), const(room, INT), dtype=BOOL)
    raise_if(ctx, full, lambda: fail(ctx, Failure(ListOutgrown, (owner.place, room, item_bytes))))
