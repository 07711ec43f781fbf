"""What `MPI.Status` says of a message that has been received: whom it is of, its tag, and how much has come."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.elements.elementwise import as_array, describe
from sdfgad.frontend.mpi.types import derived
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.mail import MessageStatus
from sdfgad.frontend.state.values import IntValue, Value, ViewValue
from sdfgad.ir.index import ix
from sdfgad.ir.messages import FLAG
from sdfgad.ir.program import View
from sdfgad.ranks import is_datatype, library

SOURCE, TAG, COUNT = 1, 2, 3
_COUNTS = frozenset(("Get_count", "Get_elements"))


@dataclass(frozen=True)
class TransferRecord:
    """The numbers of a message, and the type of its elements. count: how many there are; None if the numbers say it.
    before: numbers of other messages ahead of its own."""

    numbers: View
    dtype: np.dtype
    count: int | None
    before: int = 0


def asks_for_counts(ctx: Context) -> bool:
    """Whether the function that receives wants to know how much has come: then messages may be shorter than buffers."""
    return any(isinstance(n, ast.Attribute) and n.attr in _COUNTS for s in ctx.frame.code.body for n in ast.walk(s))


def show_status(ctx: Context, status: Value, record: TransferRecord) -> None:
    if not isinstance(status, MessageStatus):
        raise ctx.refuse(f"{describe(status)} as a status", "make it in the function, with MPI.Status()", "SG109")
    mail = ctx.builder.mail
    others = tuple(pair for pair in mail.shown if pair[0] is not status)
    ctx.builder.mail = replace(mail, shown=(*others, (status, record)))


def of_status(ctx: Context, status: MessageStatus, place: int) -> Value:
    """A number of the message that a status is about."""
    record = _record(ctx, status)
    return told(ctx, record.numbers, record.before + place)


def count_of_status(ctx: Context, status: MessageStatus, arguments: Sequence[Value]) -> Value:
    """How many elements of a type have come; bytes if none is given."""
    record, mpi = _record(ctx, status), library()
    kind = arguments[0] if arguments else mpi.BYTE  # type: ignore[union-attr]
    if len(arguments) > 1 or not is_datatype(kind):
        raise ctx.refuse("this count of a status", "give the type of the elements: status.Get_count(MPI.DOUBLE)",
                         "SG101")
    found = told(ctx, record.numbers, COUNT) if record.count is None else record.count
    if kind == mpi.BYTE:  # type: ignore[union-attr]
        return ctx.invoke(ctx, np.multiply, [found, record.dtype.itemsize], {})
    if derived(ctx, kind).dtype != record.dtype:
        raise ctx.refuse(f"a count of other elements than {record.dtype}", "give the type of what has come", "SG104")
    return found


def _record(ctx: Context, status: MessageStatus) -> TransferRecord:
    record = next((one for shown, one in ctx.builder.mail.shown if shown is status), None)
    if record is None:
        raise ctx.refuse("a status of no message", "receive something with it first", "SG102")
    return record


def told(ctx: Context, numbers: View, place: int) -> Value:
    """A number that is known behind a message."""
    whole = ctx.builder.view(ctx.builder.arrays[numbers.array])
    one = ctx.builder.lazy((), FLAG, lambda _: whole.at((ix(place),)), frozenset({numbers.array}))
    found = to_int(ctx, ctx.builder.fresh_copy(one, "told"))
    return replace(found, dtype=None) if isinstance(found, IntValue) else int(found)  # one of Python's own


def front_filled(ctx: Context, into: ViewValue, room: ViewValue, record: View) -> None:
    """As many elements as have come go to a buffer, in the order of memory; behind them it stays as it is."""
    shape = tuple(n.const or 0 for n in into.shape)
    order = ctx.builder.constant(np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape), "places")
    come = ctx.invoke(ctx, np.less, [order, told(ctx, record, COUNT)], {})
    found = ctx.invoke(ctx, np.where, [come, room, into], {})
    ctx.builder.assign(into, as_array(ctx, found))
