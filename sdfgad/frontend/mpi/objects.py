"""Messages in lower case: numbers and arrays, of which those who receive them learn the shape from those who send."""
from __future__ import annotations

from typing import Any

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.elements.elementwise import as_array, describe
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.mpi.alike import of_one_shape
from sdfgad.frontend.mpi.collectives import collective
from sdfgad.frontend.mpi.given import flat_of, object_of, part_of_flat, root_of, rows_of
from sdfgad.frontend.mpi.messages import MessageBuffers, count_on, exchange, numbered, post, say, size_of
from sdfgad.frontend.mpi.nobody import is_nobody, object_of_somebody
from sdfgad.frontend.mpi.packed import form_of_all, makeup_of, packed, unpacked
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.mail import ObjectPlace, PostedMessage
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Value, ViewValue, is_number
from sdfgad.ir.index import ix
from sdfgad.ranks import (
    NOBODY_SAYS,
    ObjectForm,
    ObjectsNeeded,
    ObjectWay,
    handle_of,
    library,
    lineage,
    members,
    objects_sent,
    settled,
)


def send_object(ctx: Context, comm: Any, obj: Value, dest: Value, tag: Value = 0) -> None:
    exchange(ctx, comm, [(_outgoing(ctx, comm, obj, dest, tag), dest, tag)], [])


def recv_object(ctx: Context, comm: Any, buf: Value = None, source: Value = None, tag: Value = None,
                status: Value = None) -> Value:
    place = _incoming(ctx, comm, source, tag)
    exchange(ctx, comm, [], [] if place.view is None else [(place.view, source, tag)], status)
    return brought_to(ctx, place)


def sendrecv_objects(ctx: Context, comm: Any, sendobj: Value, dest: Value, sendtag: Value = 0, recvbuf: Value = None,
                     source: Value = None, recvtag: Value = None, status: Value = None) -> Value:
    given = _outgoing(ctx, comm, sendobj, dest, sendtag)
    place = _incoming(ctx, comm, source, recvtag)
    into = [] if place.view is None else [(place.view, source, recvtag)]
    exchange(ctx, comm, [(given, dest, sendtag)], into, status)
    return brought_to(ctx, place)


def isend_object(ctx: Context, comm: Any, obj: Value, dest: Value, tag: Value = 0) -> PostedMessage:
    given = ctx.builder.fresh_copy(_outgoing(ctx, comm, obj, dest, tag), "message")
    return post(ctx, PostedMessage(comm, given, False, dest, tag, ctx.builder.source, tuple(ctx.builder.regions)))


def irecv_object(ctx: Context, comm: Any, buf: Value = None, source: Value = None, tag: Value = None) -> PostedMessage:
    place = ObjectPlace(find=lambda: _incoming(ctx, comm, source, tag))
    return post(ctx, PostedMessage(comm, None, True, source, tag, ctx.builder.source, tuple(ctx.builder.regions),
                                   brings=place))


def brought(ctx: Context, request: Value) -> Value:
    """What the wait for a request gives."""
    place = request.brings if isinstance(request, PostedMessage) else None
    return None if place is None else brought_to(ctx, place)


def brought_to(ctx: Context, place: ObjectPlace) -> Value:
    """What has come, as it was sent."""
    makeup = None if place.form is None else place.form.value
    return place.view if place.view is None or makeup is None else unpacked(ctx, makeup, place.view)


def broadcast_place(ctx: Context, comm: Any, value: Value, root: int) -> ObjectPlace:
    """A copy of what is broadcast, or room for it on another rank: the root says what comes."""
    way = _from_root(ctx, comm, root)
    if comm.Get_rank() != root:
        return _room_or(ctx, way, value)
    given, form = _given(ctx, value)
    say(ctx, way, form)
    return ObjectPlace(ctx.builder.fresh_copy(given, "message"), form)


def scatter_objects(ctx: Context, comm: Any, sendobj: Value, root: Value = 0) -> Value:
    """Each rank gets an item of the root's list."""
    place = root_of(ctx, root)
    way = _from_root(ctx, comm, place)
    sent: tuple[ViewValue, ...] = ()
    if comm.Get_rank() == place:
        rows, form = _rows(ctx, comm, sendobj)
        say(ctx, way, form)
        sent = (rows,)
    else:
        form = _expected(ctx, way)
    into = _place(ctx, form)
    collective(ctx, comm, "scatter", MessageBuffers(sent, (into,), size_of(into), into.dtype), place)
    return brought_to(ctx, ObjectPlace(into, form))


def gather_objects(ctx: Context, comm: Any, obj: Value, root: int | None = None) -> Value:
    """A list of the tuples, lists and dicts that all ranks give, of the root or of every rank: of as many numbers."""
    number, rank, place = numbered(ctx, comm, "lists"), comm.Get_rank(), (members(comm), lineage(handle_of(comm)))
    given, own = _given(ctx, obj)
    ways = [ObjectWay(*place, giver, None, number, "lists") for giver in range(comm.Get_size())]
    say(ctx, ways[rank], own)
    forms = [own if giver == rank else _expected(ctx, way) for giver, way in enumerate(ways)]
    if len({(form.dtype, form.shape) for form in forms}) > 1:
        raise ctx.refuse("a gather of objects that are not made alike", "every rank has to give as many numbers and "
                         "arrays of the same types and shapes, in the same order", "SG109")
    got = (rows_of(ctx, comm, given),) if root is None or rank == root else ()
    collective(ctx, comm, "allgather" if root is None else "gather",
               MessageBuffers((given,), got, size_of(given), given.dtype), root or 0)
    return ListValue([brought_to(ctx, ObjectPlace(part_of_flat(ctx, flat_of(ctx, got[0]), k * size_of(given), size_of(
        given)), form)) for k, form in enumerate(forms)], len(ctx.builder.regions)) if got else None


def alltoall_objects(ctx: Context, comm: Any, sendobj: Value) -> Value:
    """A list of what the ranks have in this one's place of their lists; all of them have one shape."""
    rows = of_one_shape(ctx, comm, "alltoall", _stacked(ctx, comm, sendobj))
    got = ctx.builder.view(ctx.builder.declare(rows.shape, rows.dtype, "every"), rows.shape)
    collective(ctx, comm, "alltoall", MessageBuffers((rows,), (got,), size_of(rows) // comm.Get_size(), rows.dtype))
    return ListValue([subscript(ctx, got, k) for k in range(comm.Get_size())], len(ctx.builder.regions))


def _stacked(ctx: Context, comm: Any, value: Value) -> ViewValue:
    """The items of a list, one for each rank, in one array."""
    return _in_rows(ctx, [object_of(ctx, one) for one in _items(ctx, comm, value)])


def _rows(ctx: Context, comm: Any, value: Value) -> tuple[ViewValue, ObjectForm]:
    """The same of items that may be tuples, lists and dicts, and what each rank is told of its item."""
    items = _items(ctx, comm, value)
    if all(makeup_of(ctx, one) is None for one in items):
        rows = _stacked(ctx, comm, value)
        return rows, _form(ctx, rows, 1)
    pairs = [_given(ctx, one) for one in items]
    common = form_of_all({form for _, form in pairs})
    if common is None:
        raise ctx.refuse("a scatter of objects that are not made alike", "give every rank as many numbers and arrays "
                         "of the same types and shapes, in the same order", "SG109")
    return _in_rows(ctx, [row for row, _ in pairs]), common


def _items(ctx: Context, comm: Any, value: Value) -> list[Value]:
    items = list(items_of(ctx, value)) if isinstance(value, (ListValue, list, tuple)) else []
    if len(items) != comm.Get_size():
        raise ctx.refuse(f"{describe(value)} for {comm.Get_size()} ranks", "give a list with one number or array for "
                         "each rank, all of one shape", "SG109")
    return items


def _in_rows(ctx: Context, items: list[ViewValue]) -> ViewValue:
    rows = ctx.invoke(ctx, np.stack, [ListValue(list(items), len(ctx.builder.regions))], {})
    return ctx.builder.fresh_copy(as_array(ctx, rows), "message")


def _from_root(ctx: Context, comm: Any, root: int) -> ObjectWay:
    """The way of what a root gives to all. Such calls are told apart by their order, which all ranks have alike."""
    return ObjectWay(members(comm), lineage(handle_of(comm)), root, None, numbered(ctx, comm, "roots"), "roots")


def _outgoing(ctx: Context, comm: Any, value: Value, dest: Value, tag: Value) -> ViewValue:
    """What is sent; those who receive it are told its form."""
    if is_nobody(dest):
        makeup = makeup_of(ctx, value)
        return object_of(ctx, value) if makeup is None else packed(ctx, value, makeup)[0]
    given, form = _given(ctx, value)
    say(ctx, ObjectWay(members(comm), lineage(handle_of(comm)), comm.Get_rank(), _told(dest), _told(tag)), form)
    return given


def _given(ctx: Context, value: Value) -> tuple[ViewValue, ObjectForm]:
    """A value as it is sent, and what the others are told of it."""
    makeup = makeup_of(ctx, value)
    if makeup is not None:
        return packed(ctx, value, makeup)
    given = object_of(ctx, value)
    return given, _form(ctx, given)


def _form(ctx: Context, given: ViewValue, inner: int = 0) -> ObjectForm:
    """inner: so many axes are those of ranks."""
    if any(n.const is None for n in given.shape):
        raise ctx.refuse("a message whose size depends on a loop or on data", "send a part of fixed size", "SG103")
    return ObjectForm(given.dtype.str, tuple(n.const or 0 for n in given.shape[inner:]), given.weak)


def _incoming(ctx: Context, comm: Any, source: Value, tag: Value) -> ObjectPlace:
    """Room for what comes, in the form in which it is sent; none for what comes from nobody."""
    if is_nobody(source):
        return ObjectPlace()
    object_of_somebody(ctx, source)
    way = ObjectWay(members(comm), lineage(handle_of(comm)), _told(source), comm.Get_rank(), _told(tag))
    form = _expected(ctx, way)
    return ObjectPlace(_place(ctx, form), form)


def _expected(ctx: Context, way: ObjectWay) -> ObjectForm:
    form = _form_of(ctx, way)
    count_on(ctx, way, form)
    return form


def _room_or(ctx: Context, way: ObjectWay, value: Value) -> ObjectPlace:
    """Room for what a root gives. What another rank gives to the call counts for nothing; it is taken for a pattern
    until the root says otherwise, as most often it is one."""
    said = objects_sent()
    pattern = isinstance(value, ArrayValue) or is_number(value) or isinstance(value, IntValue)
    if not pattern or said and said[-1] is not NOBODY_SAYS and any(other.meets(way) for other, _ in said[-1]):
        form = _expected(ctx, way)
        return ObjectPlace(_place(ctx, form), form)
    given, form = _given(ctx, value)
    count_on(ctx, way, form, guessed=True)
    return ObjectPlace(ctx.builder.fresh_copy(given, "message"), form)


def _place(ctx: Context, form: ObjectForm) -> ViewValue:
    shape = tuple(map(ix, form.shape))
    array = ctx.builder.declare(shape, np.dtype(form.dtype), "object")
    return ctx.builder.view(array, shape, form.weak, scalar=not shape)


def _form_of(ctx: Context, way: ObjectWay) -> ObjectForm:
    """What all ranks have said that comes this way. Where they say the same thrice, nobody is going to send it."""
    said = objects_sent()
    forms = {form for other, form in said[-1] if other.meets(way)} if said else set()
    if not forms and not settled(3):
        raise ObjectsNeeded(ctx.builder.mail.sent)
    if not forms:
        raise ctx.refuse("a message in lower case that no rank sends in lower case",
                         "use Recv for what is sent by Send", "SG121")
    common = form_of_all(forms)
    if common is None:
        kinds = " and ".join(sorted(f"{np.dtype(f.dtype)}{list(f.shape)}" for f in forms))
        raise ctx.refuse(f"messages in lower case of different forms on one way: {kinds}", "give them different tags, "
                         "or use Send and Recv with buffers", "SG121")
    return common


def _told(number: Value) -> int | None:
    """A rank or a tag; None for any, and where the program does not know it before the call."""
    mpi = library()
    assert mpi is not None
    wild = number is None or isinstance(number, IntValue) or not is_number(number)
    return None if wild or int(number) in (mpi.ANY_SOURCE, mpi.ANY_TAG) else int(number)
