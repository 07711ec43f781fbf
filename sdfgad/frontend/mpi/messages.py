"""Messages in the program: what every call of mpi4py comes down to."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.layout import as_in_memory
from sdfgad.frontend.elements.elementwise import as_array, convert, describe, int_expr
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.mpi.nobody import filled_by_somebody, is_nobody, may_be_nobody, nobody, room_beside
from sdfgad.frontend.mpi.status import TransferRecord, asks_for_counts, front_filled, show_status
from sdfgad.frontend.mpi.types import DerivedType, is_derived, joined_blocks, typed_parts
from sdfgad.frontend.state.builder import cast
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.mail import Mail, PostedMessage
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Value, ViewValue, is_int, is_number
from sdfgad.ir.index import ix
from sdfgad.ir.layout import axis
from sdfgad.ir.messages import (
    ANYBODY,
    BESIDE,
    EXCHANGE,
    FLAG,
    GROUP,
    MEMBER,
    NUMBERS,
    OP,
    SHORT,
    order_array,
    order_view,
)
from sdfgad.ir.program import ORDER, View
from sdfgad.ranks import ObjectForm, ObjectWay, handle_of, is_datatype, library

_TYPES = frozenset("dfDFlqi?")


@dataclass(frozen=True)
class MessageBuffers:
    """What an operation sends and receives on this rank. count: elements per rank, dtype: of all of them."""

    sent: tuple[ViewValue, ...]
    received: tuple[ViewValue, ...]
    count: int
    dtype: np.dtype


@dataclass(frozen=True)
class Begun:
    """Messages that have been posted. record: whom they are of, if that is written down. arrive: what is done when they
    have come."""

    record: View | None
    arrive: Callable[[], None]


def exchange(ctx: Context, communicator: Any, outgoing: Sequence[tuple[ViewValue, Value, Value]],
             incoming: Sequence[tuple[ViewValue, Value, Value]], status: Value = None) -> None:
    """Messages that go at the same time: (buffer, rank, tag) of each; those from and to nobody are none.

    status: learns where the first one that came in is from.
    """
    if status is not None and all(is_nobody(m[1]) for m in incoming):
        tell_of_nobody(ctx, communicator, status, [m[0].dtype for m in incoming])
        status = None
    if status is None and _under_way(ctx):
        _join(ctx, communicator, outgoing, incoming)
        return
    going = begun(ctx, communicator, outgoing, incoming, status)
    if going is not None:
        going.arrive()


def begun(ctx: Context, communicator: Any, outgoing: Sequence[tuple[ViewValue, Value, Value]],
          incoming: Sequence[tuple[ViewValue, Value, Value]], status: Value = None,
          apart: bool = False, beside: bool = False) -> Begun | None:
    """The same up to what is done with what has come. apart: it comes to rooms of its own, so that nothing touches it
    before. beside: as of `emit_message`."""
    outgoing, incoming = ([m for m in some if not is_nobody(m[1])] for some in (outgoing, incoming))
    if not outgoing and not incoming:
        return None
    dtype = _one_type(ctx, [m[0] for m in (*outgoing, *incoming)])
    outgoing = [(_apart_from(ctx, m[0], [i[0] for i in incoming]), *m[1:]) for m in outgoing]
    went = [n for _, peer, tag in outgoing for n in (peer_of(ctx, communicator, peer), tag)]
    to = numbers_of(ctx, communicator, went)
    came = [n for _, peer, tag in incoming for n in (source_of(ctx, communicator, peer), tag_of(tag))]
    frm, open_ends = numbers_of(ctx, communicator, came), [not isinstance(n, IntValue) and n == ANYBODY for n in came]
    wild = status is not None or any(open_ends)
    ctx.surroundings.anybody |= any(open_ends[::2])
    absent = [may_be_nobody(ctx, m[1]) for m in incoming]
    short = status is not None and (asks_for_counts(ctx) or any(absent))
    into = [m[0] for m in incoming]
    places = [room_beside(ctx, p) if short or gone or apart else p for p, gone in zip(into, absent, strict=True)]
    record = ctx.builder.declare((frm.shape[0] + short,), FLAG, "record").whole if wild else None
    outs = (*(p.view for p in places), *([record] if record is not None else []))
    more = {SHORT: True} if short else {}
    ins = (*(m[0].view for m in outgoing), to, frm)
    emit_message(ctx, outs, ins, beside, kind=EXCHANGE, record=wild, dtype=dtype, **more)

    def arrive() -> None:
        if record is not None and status is not None and into:
            show_status(ctx, status, TransferRecord(record, into[0].dtype, None if short else size_of(into[0])))
        if record is not None and short and into:
            front_filled(ctx, into[0], places[0], record)
            return
        for k, gone in enumerate(absent):
            if gone:
                filled_by_somebody(ctx, into[k], places[k], frm, 1 + 2 * k)
            elif apart:
                ctx.builder.assign(into[k], places[k])

    return Begun(record, arrive)


def _one_type(ctx: Context, buffers: Sequence[ViewValue]) -> np.dtype:
    for one in buffers:
        check_type(ctx, one)
    if len({one.dtype for one in buffers}) > 1:
        raise ctx.refuse("messages of several types that go at the same time", "wait for those of one type first",
                         "SG104")
    return buffers[0].dtype


def tell_of_nobody(ctx: Context, communicator: Any, status: Value, dtypes: Sequence[np.dtype] = ()) -> None:
    """What a status says of a message from nobody: it is of nobody, has any tag, and no elements."""
    numbers = numbers_of(ctx, communicator, [nobody(), library().ANY_TAG])  # type: ignore[union-attr]
    show_status(ctx, status, TransferRecord(numbers, dtypes[0] if dtypes else FLAG, 0))


def _apart_from(ctx: Context, buffer: ViewValue, others: Sequence[ViewValue]) -> ViewValue:
    """The buffer, or a copy where something that comes in at the same time may lie over it."""
    over = [o for o in others if o.view.array == buffer.view.array and not _disjoint(o.view, buffer.view)]
    return ctx.builder.fresh_copy(buffer, "message") if over else buffer


def _disjoint(one: View, other: View) -> bool:
    """Whether two parts of an array have no element in common, as far as one dimension tells."""
    return any(a is not None and b is not None and (a[1] < b[0] or b[1] < a[0])
               for a, b in zip(_spans(one), _spans(other), strict=True))


def _spans(view: View) -> list[tuple[int, int] | None]:
    """The first and the last index in each dimension of the array, where those are numbers."""
    most = {axis(k): (n.const or 1) - 1 for k, n in enumerate(view.shape)}
    found: list[tuple[int, int] | None] = []
    for i in view.index:
        if i.affine is None or not i.affine[0].keys() <= most.keys():
            found.append(None)
            continue
        steps = [c * most[name] for name, c in i.affine[0].items()]
        found.append((i.affine[1] + sum(s for s in steps if s < 0), i.affine[1] + sum(s for s in steps if s > 0)))
    return found


def numbered(ctx: Context, communicator: Any, what: str) -> int:
    """The number of a call through a communicator, among those of its sort in the order of the program."""
    mail, one = ctx.builder.mail, (what, handle_of(communicator))
    ctx.builder.mail = replace(mail, numbered=(*mail.numbered, one))
    return mail.numbered.count(one)


def say(ctx: Context, way: ObjectWay, form: ObjectForm) -> None:
    """Tell the others what goes a way."""
    mail = ctx.builder.mail
    ctx.builder.mail = replace(mail, sent=(*mail.sent, (way, form)))


def count_on(ctx: Context, way: ObjectWay, form: ObjectForm, guessed: bool = False) -> None:
    """The translation is good for that alone: where others say something else, it begins again."""
    mail = ctx.builder.mail
    ctx.builder.mail = replace(mail, received=(*mail.received, (way, form)), guessed=mail.guessed or guessed)


def counted(ctx: Context, communicator: Any) -> None:
    """One more collective of a communicator."""
    mail = ctx.builder.mail
    now = (handle_of(communicator), not ctx.builder.regions)
    ctx.builder.mail = replace(mail, collectives=(*mail.collectives, now))


def emit_message(ctx: Context, outs: tuple[View, ...], ins: tuple[View, ...], beside: bool = False,
                 **attrs: Any) -> None:
    """beside: it blocks while what is posted is under way."""
    builder, mail = ctx.builder, ctx.builder.mail
    late = mail.posted if not beside else [r for r in mail.posted if r not in mail.flying]
    if late:
        raise ctx.refuse(f"a message while the one posted in line {_line(late[0])} is not waited for",
                         "wait for requests before anything else is sent or received", "SG107")
    if mail.due:
        raise ctx.refuse("a message behind a wait for some requests", "wait for all of them first: others may not come "
                         "before it is sent", "SG107")
    if ORDER not in builder.arrays:
        builder.arrays[ORDER] = order_array()
        builder.born[ORDER] = ()
    builder.library(OP, (*outs, order_view()), (*ins, order_view()), **attrs, **_place_in_group(mail, beside))
    builder.mail = replace(builder.mail, gone=(), placed=mail.placed + 1)


def _place_in_group(mail: Mail, beside: bool) -> dict[str, Any]:
    if not mail.group:
        return {}
    return {GROUP: mail.group, MEMBER: mail.placed, **({BESIDE: True} if beside else {})}


def _line(posted: PostedMessage) -> int:
    return posted.source.line if posted.source else 0


# requests

def post(ctx: Context, message: PostedMessage) -> PostedMessage:
    """A request: what it says is done by the wait for it."""
    ctx.builder.mail = replace(ctx.builder.mail, posted=(*ctx.builder.mail.posted, message))
    return message


def _under_way(ctx: Context) -> bool:
    """Whether messages are posted that others go with: of this block, and no collectives."""
    posted = ctx.builder.mail.posted
    return bool(posted) and all(r.run is None and r.region == tuple(ctx.builder.regions) for r in posted)


def _join(ctx: Context, communicator: Any, outgoing: Sequence[tuple[ViewValue, Value, Value]],
          incoming: Sequence[tuple[ViewValue, Value, Value]]) -> None:
    """r = Isend(x) ; Recv(y) ; r.Wait()   ->   r, s = Isend(x), Irecv(y) ; Waitall([r, s])

    Up to the wait nobody touches what arrives, and nothing else is sent: the same messages have to be there at the end.
    The builder refuses what does.
    """
    where = tuple(ctx.builder.regions)
    for into, given in ((False, outgoing), (True, incoming)):
        for buffer, peer, tag in given:
            held = buffer if into else ctx.builder.fresh_copy(buffer, "message")
            post(ctx, PostedMessage(communicator, held, into, peer, tag, ctx.builder.source, where, done=into))


# buffers and numbers

def outgoing_buffer(ctx: Context, value: Value, parts: int = 1) -> ViewValue:
    """What is sent, in memory. parts: ranks that get one each, and for each of which a count counts."""
    typed = _typed(ctx, value, parts)
    found = None if typed else ctx.builder.materialise(as_array(ctx, _array_of(ctx, value)), "message")
    return joined_blocks(ctx, typed or ()) if found is None else as_in_memory(ctx, found)


def incoming_buffer(ctx: Context, value: Value, parts: int = 1) -> ViewValue:
    """Where something is received."""
    typed = _typed(ctx, value, parts)
    found = _array_of(ctx, value) if typed is None else typed[0]
    if not isinstance(found, ViewValue) or found.readonly or found.weak:
        raise ctx.refuse(f"{describe(found)} as a place to receive a message", "give an array, or a part of one",
                         "SG109")
    if typed is None:
        return as_in_memory(ctx, found)
    room = joined_blocks(ctx, typed)
    if len(typed) > 1:
        ctx.builder.mail = replace(ctx.builder.mail, rooms=(*ctx.builder.mail.rooms, (room, tuple(typed))))
    return room


def buffer_now(ctx: Context, value: Value, outgoing: bool) -> tuple[Value, ViewValue | None]:
    """A buffer for an operation that is done later, and its array if there is one: what is sent and what is said of
    parts is taken as it is now."""
    items = list(items_of(ctx, value)) if isinstance(value, (ListValue, list, tuple)) else [value]
    if any(map(is_derived, items[1:])):
        packed = outgoing_buffer(ctx, value) if outgoing else incoming_buffer(ctx, value)
        return (ctx.builder.fresh_copy(packed, "message") if outgoing else value), packed
    if items[0] is None:
        return value, None
    array = outgoing_buffer(ctx, items[0]) if outgoing else incoming_buffer(ctx, items[0])
    held = ctx.builder.fresh_copy(array, "message") if outgoing else array
    now = ListValue([held, *(_now(ctx, v) for v in items[1:])], len(ctx.builder.regions))
    return (now if len(items) > 1 else held), array


def _now(ctx: Context, value: Value) -> Value:
    """Counts and places as they are."""
    if isinstance(value, (ListValue, list, tuple)):
        return ListValue([_now(ctx, v) for v in items_of(ctx, value)], len(ctx.builder.regions))
    return ctx.builder.fresh_copy(value, "counts") if isinstance(value, ArrayValue) else value


def check_type(ctx: Context, buffer: ArrayValue) -> None:
    if buffer.dtype.char not in _TYPES:
        raise ctx.refuse(f"a message of {buffer.dtype}", "send float32, float64, complex64, complex128, int32, int64 "
                         "or bool", "SG104")
    if any(n.const is None for n in buffer.shape):
        raise ctx.refuse("a message whose size depends on a loop or on data", "send a part of fixed size", "SG103")


def array_and_rest(ctx: Context, value: Value) -> tuple[Value, list[Value], Value]:
    """The array of a buffer, what is said of it behind, counts and places, and the type of its elements where that is a
    derived one."""
    if not isinstance(value, (ListValue, list, tuple)):
        return value, [], None
    items = list(items_of(ctx, value))
    kinds = [i for i in items[1:] if is_datatype(i) or is_derived(i)]
    kind = next((k for k in kinds if is_derived(k)), None)
    basic = [] if kind is not None else kinds
    if not items or len(kinds) > 1 or any(not _is_type(k, as_array(ctx, items[0]).dtype) for k in basic):
        raise ctx.refuse("this form of a buffer", "give [array, counts] or [array, (counts, displacements)]", "SG101")
    return items[0], [i for i in items[1:] if not any(i is k for k in kinds)], kind


def size_of(buffer: ArrayValue) -> int:
    return int(np.prod([n.const or 0 for n in buffer.shape], dtype=np.int64))


def _typed(ctx: Context, value: Value, parts: int) -> list[ViewValue] | None:
    """The blocks of an array that `[array, type]` and `[array, count, type]` name by a derived type or a smaller count,
    else None."""
    if not isinstance(value, (ListValue, list, tuple)):
        return None
    items, kinds, counts = _said(ctx, value)
    if kinds and is_derived(kinds[0]):
        return typed_parts(ctx, ctx.builder.materialise(as_array(ctx, items[0]), "message"), kinds[0], counts, parts)
    found = as_array(ctx, _array_of(ctx, value)) if counts else None
    if found is None or int(counts[0]) * parts == size_of(found):
        return None
    return typed_parts(ctx, ctx.builder.materialise(found, "message"), DerivedType(found.dtype), counts, parts)


def _array_of(ctx: Context, value: Value) -> Value:
    """The array of `[array, count, MPI.DOUBLE]`."""
    if type(value).__module__ == "mpi4py.MPI":  # some of its constants are numbers
        raise ctx.refuse(f"{value!r} as a buffer of this operation", "give the array itself, or a copy of it", "SG121")
    if not isinstance(value, (ListValue, list, tuple)):
        return value
    items, kinds, _ = _said(ctx, value)
    if any(not _is_type(k, as_array(ctx, items[0]).dtype) for k in kinds):
        raise ctx.refuse("a buffer with another type than its array", "give both the same type", "SG101")
    return items[0]


def _said(ctx: Context, value: Value) -> tuple[list[Value], list[Value], list[Any]]:
    """The items of a buffer, and those of them that are types and counts."""
    items = list(items_of(ctx, value))
    kinds = [i for i in items[1:] if is_datatype(i) or is_derived(i)]
    counts = [i for i in items[1:] if is_number(i)]
    if not items or len(kinds) + len(counts) != len(items) - 1 or len(kinds) > 1 or len(counts) > 1:
        raise ctx.refuse("this form of a buffer", "give an array, [array, type] or [array, count, type]", "SG101")
    return items, kinds, counts


def _is_type(kind: Any, dtype: np.dtype) -> bool:
    """Whether a basic type of MPI is that of an array."""
    code = str(getattr(kind, "typechar", ""))
    return bool(code) and np.dtype(code) == dtype


def peer_of(ctx: Context, communicator: Any, peer: Value) -> Value:
    if not is_int(peer):
        raise ctx.refuse(f"{describe(peer)} as a rank", "ranks are integers", "SG109")
    size = communicator.Get_size()
    if not isinstance(peer, IntValue) and not 0 <= int(peer) < size:
        raise ctx.refuse(f"a message to or from rank {int(peer)} of {size}",
                         "ranks count from 0; MPI.PROC_NULL stands for nobody", "SG102")
    return peer


def source_of(ctx: Context, communicator: Any, peer: Value) -> Value:
    mpi = library()
    wild = peer is None or (mpi is not None and is_number(peer) and int(peer) == mpi.ANY_SOURCE)
    return ANYBODY if wild else peer_of(ctx, communicator, peer)


def tag_of(tag: Value) -> Value:
    mpi = library()
    wild = tag is None or (mpi is not None and is_number(tag) and int(tag) == mpi.ANY_TAG)
    return ANYBODY if wild else tag


def numbers_of(ctx: Context, communicator: Any, numbers: Sequence[Value]) -> View:
    """The communicator and these numbers: a constant that is no part of the code, or, where some of them are known at
    run time only, an array of the program."""
    values = [handle_of(communicator), *numbers]
    if communicator.Is_inter():
        raise ctx.refuse("a message through an intercommunicator", "use a communicator of all ranks", "SG121")
    ctx.surroundings.communicators[values[0]] = communicator
    for one in values:
        if not is_int(one):
            raise ctx.refuse(f"{describe(one)} as a rank or tag", "ranks and tags are integers", "SG109")
    if not any(isinstance(v, IntValue) for v in values):
        return ctx.builder.constant(np.array([int(v) for v in values], FLAG), NUMBERS).view
    array = ctx.builder.declare((ix(len(values)),), FLAG, "whom")
    for k, one in enumerate(values):
        e = int_expr(ctx, one) if isinstance(one, IntValue) else as_array(ctx, int(one)).at(())
        ctx.builder.store(array.name, (ix(k),), cast(e, FLAG))
    return array.whole


def same_type(ctx: Context, value: ArrayValue, dtype: np.dtype) -> Value:
    return value if value.dtype == dtype else convert(ctx, value, dtype)
