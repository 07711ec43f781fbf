"""Messages from nobody: a receive from `PROC_NULL` leaves its buffer as it is, and brings no cotangent anywhere.

Where that is known before the call there is no message. Where only the run knows, the message arrives in a room of its
own, from which the buffer is filled if somebody has sent it.
"""
from __future__ import annotations

import numpy as np

from sdfgad.frontend.elements.elementwise import BOOL, INT, as_array
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.mpi.status import told
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import IntValue, Value, ViewValue, is_number
from sdfgad.ir.expr import Index, call
from sdfgad.ir.index import ix
from sdfgad.ir.program import Failure, View
from sdfgad.ranks import library


def nobody() -> int:
    """The number of nobody, which libraries choose."""
    mpi = library()
    assert mpi is not None
    return int(mpi.PROC_NULL)


def is_nobody(peer: Value) -> bool:
    """Whether a rank is known to be nobody before the call."""
    return library() is not None and is_number(peer) and int(peer) == nobody()


def may_be_nobody(ctx: Context, peer: Value) -> bool:
    """Whether a rank that only the run knows may turn out to be nobody."""
    if not isinstance(peer, IntValue):
        return False
    low, high = ctx.builder.scope.bounds(peer.ix)
    return (low is None or low <= nobody()) and (high is None or high >= nobody())


def room_beside(ctx: Context, buffer: ViewValue) -> ViewValue:
    """Room for what comes, of which the buffer then gets what has come."""
    return ctx.builder.view(ctx.builder.declare(buffer.shape, buffer.dtype, "room"))


def filled_by_somebody(ctx: Context, into: ViewValue, room: ViewValue, numbers: View, place: int) -> None:
    """The buffer gets what has come, if the number at a place of these is a rank."""
    here = ctx.invoke(ctx, np.not_equal, [told(ctx, numbers, place), nobody()], {})
    ctx.builder.assign(into, as_array(ctx, ctx.invoke(ctx, np.where, [here, room, into], {})))


def object_of_somebody(ctx: Context, peer: Value) -> None:
    """What nobody sends in lower case is None, which no program of arrays can be: the run stops there."""
    if not isinstance(peer, IntValue) or not may_be_nobody(ctx, peer):
        return
    text = "a message in lower case from PROC_NULL, which only the run knows: put it under a condition"
    condition = call("eq", Index(peer.ix, INT), Index(ix(nobody()), INT), dtype=BOOL)
    raise_if(ctx, condition, lambda: fail(ctx, Failure(ValueError, (text,))))
