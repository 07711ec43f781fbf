"""Messages in lower case: numbers and arrays, of which those who receive them learn the shape from those who send."""
from __future__ import annotations

from typing import Any

import numpy as np

from sdfgad.frontend.context import Context
from sdfgad.frontend.mail import ObjectPlace, PostedMessage
from sdfgad.frontend.messages import exchange, post
from sdfgad.frontend.mpi_given import object_of
from sdfgad.frontend.values import IntValue, Value, ViewValue, is_number
from sdfgad.ir.index import ix
from sdfgad.ranks import (
    ObjectForm,
    ObjectsNeeded,
    ObjectWay,
    handle_of,
    library,
    lineage,
    members,
    objects_sent,
)


def send_object(ctx: Context, comm: Any, obj: Value, dest: Value, tag: Value = 0) -> None:
    exchange(ctx, comm, [(_outgoing(ctx, comm, obj, dest, tag), dest, tag)], [])


def recv_object(ctx: Context, comm: Any, buf: Value = None, source: Value = None, tag: Value = None,
                status: Value = None) -> Value:
    into = _incoming(ctx, comm, source, tag)
    if into is not None:
        exchange(ctx, comm, [], [(into, source, tag)], status)
    return into


def sendrecv_objects(ctx: Context, comm: Any, sendobj: Value, dest: Value, sendtag: Value = 0, recvbuf: Value = None,
                     source: Value = None, recvtag: Value = None, status: Value = None) -> Value:
    given = _outgoing(ctx, comm, sendobj, dest, sendtag)
    into = _incoming(ctx, comm, source, recvtag)
    exchange(ctx, comm, [(given, dest, sendtag)], [] if into is None else [(into, source, recvtag)], status)
    return into


def isend_object(ctx: Context, comm: Any, obj: Value, dest: Value, tag: Value = 0) -> PostedMessage:
    given = ctx.builder.fresh_copy(_outgoing(ctx, comm, obj, dest, tag), "message")
    return post(ctx, PostedMessage(comm, given, False, dest, tag, ctx.builder.source, tuple(ctx.builder.regions)))


def irecv_object(ctx: Context, comm: Any, buf: Value = None, source: Value = None, tag: Value = None) -> PostedMessage:
    place = ObjectPlace(lambda: _incoming(ctx, comm, source, tag))
    return post(ctx, PostedMessage(comm, None, True, source, tag, ctx.builder.source, tuple(ctx.builder.regions),
                                   brings=place))


def brought(request: Value) -> Value:
    """What the wait for a request gives."""
    place = request.brings if isinstance(request, PostedMessage) else None
    return None if place is None else place.view


def broadcast_form(ctx: Context, comm: Any, value: Value, root: int) -> ViewValue:
    """A copy of what is broadcast, or room for it where a rank gives None: the root says what comes. Broadcasts are
    told apart by their order, which is the same on all ranks."""
    handle = handle_of(comm)
    number = ctx.surroundings.broadcasts.count(handle)
    ctx.surroundings.broadcasts.append(handle)
    way = ObjectWay(members(comm), lineage(handle), root, None, -1 - number)
    if value is None and comm.Get_rank() != root:
        return _room(ctx, way)
    given = object_of(ctx, value)
    if comm.Get_rank() == root:
        ctx.surroundings.sent.append((way, _form(ctx, given)))
    return ctx.builder.fresh_copy(given, "message")


def _outgoing(ctx: Context, comm: Any, value: Value, dest: Value, tag: Value) -> ViewValue:
    """What is sent; those who receive it are told its form."""
    given = object_of(ctx, value)
    way = ObjectWay(members(comm), lineage(handle_of(comm)), comm.Get_rank(), _told(dest), _told(tag))
    if not _is_nobody(dest):
        ctx.surroundings.sent.append((way, _form(ctx, given)))
    return given


def _form(ctx: Context, given: ViewValue) -> ObjectForm:
    if any(n.const is None for n in given.shape):
        raise ctx.refuse("a message whose size depends on a loop or on data", "send a part of fixed size", "SG103")
    return ObjectForm(given.dtype.str, tuple(n.const or 0 for n in given.shape), given.weak)


def _incoming(ctx: Context, comm: Any, source: Value, tag: Value) -> ViewValue | None:
    """Room for what comes, in the form in which it is sent; None from nobody."""
    if _is_nobody(source):
        return None
    return _room(ctx, ObjectWay(members(comm), lineage(handle_of(comm)), _told(source), comm.Get_rank(), _told(tag)))


def _room(ctx: Context, way: ObjectWay) -> ViewValue:
    form = _form_of(ctx, way)
    ctx.surroundings.received.append((way, form))
    shape = tuple(map(ix, form.shape))
    array = ctx.builder.declare(shape, np.dtype(form.dtype), "object")
    return ctx.builder.view(array, shape, form.weak, scalar=not shape)


def _form_of(ctx: Context, way: ObjectWay) -> ObjectForm:
    """What all ranks have said that comes this way. Where they say the same twice, nobody is going to send it."""
    said = objects_sent()
    forms = {form for other, form in said[-1] if other.meets(way)} if said else set()
    if not forms and (len(said) < 2 or said[-1] != said[-2]):
        raise ObjectsNeeded(tuple(ctx.surroundings.sent))
    if not forms:
        raise ctx.refuse("a message in lower case that no rank sends in lower case",
                         "use Recv for what is sent by Send", "SG121")
    if len(forms) > 1:
        kinds = " and ".join(sorted(f"{np.dtype(f.dtype)}{list(f.shape)}" for f in forms))
        raise ctx.refuse(f"messages in lower case of different forms on one way: {kinds}", "give them different tags, "
                         "or use Send and Recv with buffers", "SG121")
    return forms.pop()


def _is_nobody(peer: Value) -> bool:
    return is_number(peer) and int(peer) == library().PROC_NULL  # type: ignore[union-attr]


def _told(number: Value) -> int | None:
    """A rank or a tag; None for any, and where the program does not know it before the call."""
    mpi = library()
    assert mpi is not None
    wild = number is None or isinstance(number, IntValue) or not is_number(number)
    return None if wild or int(number) in (mpi.ANY_SOURCE, mpi.ANY_TAG) else int(number)
