"""Calls of mpi4py: which there are, and what of the program they are."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from types import MappingProxyType
from typing import Any

from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.mpi.alike import listed_alike
from sdfgad.frontend.mpi.collectives import barrier, collective
from sdfgad.frontend.mpi.given import is_in_place, object_of, own_part, root_of, rows_of, same_parts, same_size
from sdfgad.frontend.mpi.integers import of_integers
from sdfgad.frontend.mpi.messages import (
    MessageBuffers,
    buffer_now,
    exchange,
    incoming_buffer,
    outgoing_buffer,
    post,
    size_of,
)
from sdfgad.frontend.mpi.neighbours import NEIGHBOURS
from sdfgad.frontend.mpi.objects import (
    alltoall_objects,
    broadcast_place,
    brought,
    brought_to,
    gather_objects,
    irecv_object,
    isend_object,
    recv_object,
    scatter_objects,
    send_object,
    sendrecv_objects,
)
from sdfgad.frontend.mpi.packed import makeup_of
from sdfgad.frontend.mpi.persistent import recv_init, send_init, start
from sdfgad.frontend.mpi.reductions import (
    allreduce,
    allreduce_into,
    exscan,
    exscan_into,
    reduce,
    reduce_into,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    scan_into,
)
from sdfgad.frontend.mpi.sizes import SHARES, of_buffers
from sdfgad.frontend.mpi.status import SOURCE, TAG, count_of_status, of_status
from sdfgad.frontend.mpi.structures import Makeup, gathered_parts
from sdfgad.frontend.mpi.types import DerivedType, emptied_rooms, is_request_class, of_datatype
from sdfgad.frontend.mpi.vectors import allgatherv, alltoallv, gatherv, scatterv
from sdfgad.frontend.mpi.waits import COMPLETIONS, wait_and_tell
from sdfgad.frontend.state.builder import axes
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.mail import MessageStatus, PersistentMessage, PostedMessage
from sdfgad.frontend.state.values import ArrayValue, ListValue, Method, Reading, Value, ViewValue, is_number
from sdfgad.ir.index import ix
from sdfgad.ir.program import View
from sdfgad.ranks import (
    CommunicatorNeeded,
    handle_of,
    is_communicator,
    is_datatype,
    is_group,
    library,
    made_communicators,
    ranks_of,
)

_SUPPORTED = "see docs/distributed.md for the calls that are taken"
_ASKS = "wait instead: what has come by then is another answer in each run"
_ASKED = frozenset({"Get_rank", "Get_size", "Get_name", "Get_group", "Is_inter", "Get_topology",
                    "Get_dist_neighbors", "Get_dist_neighbors_count", "Get_neighbors", "Get_neighbors_count"})
"""Methods that only say something about a communicator."""
_MAKERS = frozenset({"Create_cart", "Split", "Split_type", "Dup", "Clone", "Sub", "Create", "Create_group",
                     "Create_graph", "Create_dist_graph", "Create_dist_graph_adjacent"})
_OF_GROUPS = frozenset({"Incl", "Excl", "Get_size", "Get_rank"})
_OF_SEVERAL = frozenset(("Waitall", "waitall", "Startall"))
_NUMBERS = frozenset({"dest", "source", "root", "tag", "sendtag", "recvtag"})
"""Parameters that are ranks and tags."""
_OF_CARTS = frozenset({"Shift", "Get_coords", "Get_topo", "Get_dim", "Get_cart_rank"})


def of_ranks(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """What such a call is."""
    found = _of_ranks(ctx, callee, arguments, keywords)
    if ctx.builder.mail.rooms:
        emptied_rooms(ctx)
    return found


def _of_ranks(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    name = callee.name if isinstance(callee, Method) else callee.__name__
    owner = callee.owner if isinstance(callee, Method) else getattr(callee, "__self__", None)
    if isinstance(owner, DerivedType) or is_datatype(owner):
        return of_datatype(ctx, owner, name, arguments, keywords)
    of_several = name in _OF_SEVERAL or name in COMPLETIONS
    if of_several and (is_request_class(owner) or isinstance(owner, (PostedMessage, PersistentMessage))):
        return _of_several(ctx, name, arguments, keywords)
    if isinstance(callee, Method):
        rule = _of_status if isinstance(callee.owner, MessageStatus) else _of_request
        return rule(ctx, callee, [*arguments, *keywords.values()])
    if callee is library().Status and not arguments:  # type: ignore[union-attr]
        return MessageStatus()
    if name == "Wtime":
        return Reading()
    if name == "Compute_dims" or is_group(owner) and name in _OF_GROUPS:
        return _asked(ctx, callee, arguments, keywords)
    if is_group(owner) and name == "Free":
        return None  # what it made is told apart by its ranks
    if not is_communicator(owner):
        raise ctx.refuse(f"a call of MPI's {name}", _ASKS if "test" in name.lower() else _SUPPORTED, "SG121")
    if name in _ASKED | _OF_CARTS:
        return _asked(ctx, callee, arguments, keywords)
    if name in _MAKERS:
        return _made_communicator(ctx, callee, arguments, keywords)
    if name not in _RULES:
        raise ctx.refuse(f"the method {name!r} of a communicator", _SUPPORTED, "SG121")
    return _called(ctx, _RULES[name], (owner, *arguments), keywords, name)


def _of_several(ctx: Context, name: str, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """A method of the class of requests, which one of them has, too."""
    if name in COMPLETIONS:
        return _called(ctx, COMPLETIONS[name], arguments, keywords, name)
    requests = list(items_of(ctx, arguments[0] if arguments else keywords.get("requests", ())))
    if name == "Startall":
        start(ctx, requests)
        return None
    _called(ctx, wait_and_tell, arguments, keywords, name)
    return ListValue([brought(ctx, r) for r in requests], len(ctx.builder.regions)) if name == "waitall" else None


def _called(ctx: Context, rule: Callable[..., Value], arguments: Sequence[Value], keywords: Mapping[str, Value],
            name: str) -> Value:
    try:
        bound = inspect.signature(rule).bind(ctx, *arguments, **keywords)
    except TypeError as error:
        raise ctx.refuse(f"this call of {name}: {error}", _SUPPORTED, "SG101") from error
    for number in _NUMBERS & bound.arguments.keys():
        bound.arguments[number] = _whole(ctx, bound.arguments[number])
    return rule(*bound.args, **bound.kwargs)


def _whole(ctx: Context, value: Value) -> Value:
    """A rank or a tag, also one that is an element of an array of integers."""
    single = isinstance(value, ArrayValue) and not value.shape and value.dtype.kind in "iu"
    return to_int(ctx, value) if single else value


def _known(ctx: Context, value: Value) -> Any:
    """A number or a list of numbers for a call that is made now."""
    if isinstance(value, (ListValue, tuple, list)):
        return [_known(ctx, v) for v in items_of(ctx, value)]
    if not is_number(value) and not is_group(value):
        raise ctx.refuse(f"{describe(value)} where a number has to be known before the call", "", "SG109")
    return value


def _asked(ctx: Context, callee: Any, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """What MPI says now."""
    found = callee(*(_known(ctx, a) for a in arguments), **{k: _known(ctx, v) for k, v in keywords.items()})
    return ListValue(found, len(ctx.builder.regions)) if isinstance(found, list) else found


def _made_communicator(ctx: Context, callee: Any, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """The communicator that a call makes, made once for every place: translating again must not make another one."""
    if ctx.builder.regions:
        raise ctx.refuse("a communicator made in a loop or a branch", "make it before", "SG107")
    args, more = [_known(ctx, a) for a in arguments], {k: _known(ctx, v) for k, v in keywords.items()}
    mail, parent = ctx.builder.mail, callee.__self__
    said = [ranks_of(a) if is_group(a) else a for a in args], [
        (n, ranks_of(a) if is_group(a) else a) for n, a in sorted(more.items())]
    call = (handle_of(parent), callee.__name__, *map(repr, said))
    key, known = (*call, mail.made.count(call)), made_communicators()
    if key not in known or handle_of(known[key][0]) != call[0]:
        raise CommunicatorNeeded(callee.__name__, lambda: known.update({key: (parent, callee(*args, **more))}),
                                 ctx.builder.mail.sent)
    ctx.builder.mail = replace(mail, made=(*mail.made, call))
    return known[key][1]


def _of_status(ctx: Context, callee: Method, arguments: Sequence[Value]) -> Value:
    if callee.name in ("Get_count", "Get_elements"):
        return count_of_status(ctx, callee.owner, arguments)
    if callee.name not in ("Get_source", "Get_tag"):
        raise ctx.refuse(f"the method {callee.name!r} of a status", "source, tag and count are known", "SG121")
    return of_status(ctx, callee.owner, SOURCE if callee.name == "Get_source" else TAG)


def _of_request(ctx: Context, callee: Method, arguments: Sequence[Value]) -> Value:
    if isinstance(callee.owner, PersistentMessage) and callee.name in ("Start", "Free") and not arguments:
        if callee.name == "Start":
            start(ctx, [callee.owner])
        return None
    if callee.name not in ("Wait", "wait") or len(arguments) > 1:
        raise ctx.refuse(f"the method {callee.name!r} of a request", _ASKS if "test" in
                         callee.name.lower() else "call Wait", "SG121")
    wait_and_tell(ctx, (callee.owner,), tuple(arguments) or None)
    return brought(ctx, callee.owner)


# point to point

def _send(ctx: Context, comm: Any, buf: Value, dest: Value, tag: Value = 0) -> None:
    exchange(ctx, comm, [(outgoing_buffer(ctx, buf), dest, tag)], [])


def _recv(ctx: Context, comm: Any, buf: Value, source: Value = None, tag: Value = None, status: Value = None) -> None:
    exchange(ctx, comm, [], [(incoming_buffer(ctx, buf), source, tag)], status)


def _sendrecv(ctx: Context, comm: Any, sendbuf: Value, dest: Value, sendtag: Value = 0, recvbuf: Value = None,
              source: Value = None, recvtag: Value = None, status: Value = None) -> None:
    out, into = outgoing_buffer(ctx, sendbuf), incoming_buffer(ctx, recvbuf)
    exchange(ctx, comm, [(out, dest, sendtag)], [(into, source, recvtag)], status)


def _sendrecv_replace(ctx: Context, comm: Any, buf: Value, dest: Value, sendtag: Value = 0, source: Value = None,
                      recvtag: Value = None, status: Value = None) -> None:
    into = incoming_buffer(ctx, buf)
    copy = ctx.builder.fresh_copy(into, "message")
    exchange(ctx, comm, [(copy, dest, sendtag)], [(into, source, recvtag)], status)


def _isend(ctx: Context, comm: Any, buf: Value, dest: Value, tag: Value = 0) -> PostedMessage:
    # It goes with the wait, as it is now.
    return _posted(ctx, comm, ctx.builder.fresh_copy(outgoing_buffer(ctx, buf), "message"), False, dest, tag)


def _irecv(ctx: Context, comm: Any, buf: Value, source: Value = None, tag: Value = None) -> PostedMessage:
    return _posted(ctx, comm, incoming_buffer(ctx, buf), True, source, tag)


def _posted(ctx: Context, comm: Any, buffer: ViewValue, incoming: bool, peer: Value, tag: Value) -> PostedMessage:
    where = tuple(ctx.builder.regions)
    return post(ctx, PostedMessage(comm, buffer, incoming, peer, tag, ctx.builder.source, where))


# collectives

def _nonblocking(rule: Callable[..., Value]) -> Callable[..., Value]:
    """The same, done by the wait for it, with what is sent as it is now."""
    form = inspect.signature(rule)

    @wraps(rule)
    def posted(ctx: Context, comm: Any, *buffers: Value, **more: Value) -> PostedMessage:
        given = form.bind(ctx, comm, *buffers, **more)
        into = None
        for name, value in given.arguments.items():
            if name in ("sendbuf", "recvbuf", "buf") and value is not None and not is_in_place(value):
                given.arguments[name], place = buffer_now(ctx, value, name == "sendbuf")
                into = into if name == "sendbuf" else place
        where = tuple(ctx.builder.regions)
        return post(ctx, PostedMessage(comm, into, True, None, None, ctx.builder.source, where,
                                       lambda: rule(*given.args, **given.kwargs)))

    return posted


def _bcast_into(ctx: Context, comm: Any, buf: Value, root: Value = 0) -> None:
    into = incoming_buffer(ctx, buf)
    sent, got = ((into,), ()) if comm.Get_rank() == root else ((), (into,))
    collective(ctx, comm, "bcast", MessageBuffers(sent, got, size_of(into), into.dtype), root_of(ctx, root))


def _bcast(ctx: Context, comm: Any, obj: Value, root: Value = 0) -> Value:
    place = broadcast_place(ctx, comm, obj, root_of(ctx, root))
    copy = place.view
    assert copy is not None
    _bcast_into(ctx, comm, ctx.builder.view(ctx.builder.arrays[copy.view.array], copy.shape), root)
    return brought_to(ctx, place)


def _scatter(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, root: Value = 0) -> None:
    sent = (outgoing_buffer(ctx, sendbuf, comm.Get_size()),) if comm.Get_rank() == root else ()
    into = own_part(ctx, comm, sent[0]) if sent and is_in_place(recvbuf) else incoming_buffer(ctx, recvbuf)
    same_parts(ctx, comm, sent, into)
    collective(ctx, comm, "scatter", MessageBuffers(sent, (into,), size_of(into), into.dtype), root_of(ctx, root))


def _gather(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value = None, root: Value = 0) -> None:
    got = (incoming_buffer(ctx, recvbuf, comm.Get_size()),) if comm.Get_rank() == root else ()
    own = own_part(ctx, comm, got[0]) if got and is_in_place(sendbuf) else outgoing_buffer(ctx, sendbuf)
    same_parts(ctx, comm, got, own)
    collective(ctx, comm, "gather", MessageBuffers((own,), got, size_of(own), own.dtype), root_of(ctx, root))


def _allgather(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    into = incoming_buffer(ctx, recvbuf, comm.Get_size())
    own = own_part(ctx, comm, into) if is_in_place(sendbuf) else outgoing_buffer(ctx, sendbuf)
    same_parts(ctx, comm, (into,), own)
    collective(ctx, comm, "allgather", MessageBuffers((own,), (into,), size_of(own), own.dtype))


def _allgather_list(ctx: Context, comm: Any, sendobj: Value) -> Value:
    """A list of what the ranks give, which has one shape on all of them."""
    if makeup_of(ctx, sendobj) is not None:
        return gather_objects(ctx, comm, sendobj)
    given, shapes = listed_alike(ctx, comm, "allgather", object_of(ctx, sendobj))
    if len(set(shapes)) > 1:
        return gathered_parts(ctx, comm, [Makeup("data", s) for s in shapes], given)
    rows = rows_of(ctx, comm, given)
    collective(ctx, comm, "allgather", MessageBuffers((given,), (rows,), size_of(given), given.dtype))
    return _listed(ctx, comm, rows, given)


def _gather_list(ctx: Context, comm: Any, sendobj: Value, root: Value = 0) -> Value:
    if makeup_of(ctx, sendobj) is not None:
        return gather_objects(ctx, comm, sendobj, root_of(ctx, root))
    given, shapes = listed_alike(ctx, comm, "gather", object_of(ctx, sendobj))
    if len(set(shapes)) > 1:
        return gathered_parts(ctx, comm, [Makeup("data", s) for s in shapes], given, root)
    got = (rows_of(ctx, comm, given),) if comm.Get_rank() == root else ()
    collective(ctx, comm, "gather", MessageBuffers((given,), got, size_of(given), given.dtype), root_of(ctx, root))
    return _listed(ctx, comm, got[0], given) if got else None


def _listed(ctx: Context, comm: Any, rows: ViewValue, given: ViewValue) -> ListValue:
    def row(k: int) -> ViewValue:
        view = View(rows.view.array, given.shape, (ix(k), *axes(given.ndim)), given.dtype)
        return ViewValue(view, scalar=not given.shape, weak=given.weak)

    return ListValue([row(k) for k in range(comm.Get_size())], len(ctx.builder.regions))


def _alltoall(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    into = incoming_buffer(ctx, recvbuf, comm.Get_size())
    own = ctx.builder.fresh_copy(into, "message") if is_in_place(sendbuf) else outgoing_buffer(
        ctx, sendbuf, comm.Get_size())
    same_size(ctx, own, into)
    if size_of(own) % comm.Get_size():
        raise ctx.refuse(f"Alltoall of {size_of(own)} elements on {comm.Get_size()} ranks", "give each rank as many",
                         "SG103")
    collective(ctx, comm, "alltoall", MessageBuffers((own,), (into,), size_of(own) // comm.Get_size(), own.dtype))


def _free(ctx: Context, comm: Any) -> None:
    """Nothing: a communicator made in a program is kept for the next call."""


def _barrier(ctx: Context, comm: Any) -> None:
    barrier(ctx, comm)


_BUFFERS: Mapping[str, Callable[..., Value]] = MappingProxyType({
    "Allreduce": allreduce_into, "Bcast": _bcast_into, "Reduce": reduce_into, "Scatter": _scatter, "Gather": _gather,
    "Allgather": _allgather, "Reduce_scatter_block": reduce_scatter_block, "Reduce_scatter": reduce_scatter,
    "Scan": scan_into, "Exscan": exscan_into, "Scatterv": scatterv, "Gatherv": gatherv, "Allgatherv": allgatherv,
    "Alltoallv": alltoallv, "Alltoall": _alltoall})
_COLLECTIVES: Mapping[str, Callable[..., Value]] = MappingProxyType({
    name: of_buffers(rule, *SHARES[name]) if name in SHARES else rule for name, rule in _BUFFERS.items()})
"""Those with buffers, which there are without waiting, too."""
_RULES: Mapping[str, Callable[..., Value]] = MappingProxyType({
    **dict.fromkeys(("Send", "Ssend", "Bsend", "Rsend"), _send), "Recv": _recv, "Sendrecv": _sendrecv,
    "Sendrecv_replace": _sendrecv_replace, **dict.fromkeys(("Isend", "Issend", "Ibsend", "Irsend"), _isend),
    "Irecv": _irecv, "Barrier": _barrier, "barrier": _barrier, **_COLLECTIVES,
    **{name: of_integers(name, rule) for name, rule in (
        ("allreduce", allreduce), ("reduce", reduce), ("scan", scan), ("exscan", exscan), ("bcast", _bcast),
        ("allgather", _allgather_list), ("gather", _gather_list), ("scatter", scatter_objects),
        ("alltoall", alltoall_objects))},
    **NEIGHBOURS, "Free": _free, **dict.fromkeys(("Send_init", "Ssend_init", "Bsend_init", "Rsend_init"), send_init),
    "Recv_init": recv_init, **dict.fromkeys(("send", "ssend", "bsend"), send_object), "recv": recv_object,
    "sendrecv": sendrecv_objects,
    **dict.fromkeys(("isend", "issend", "ibsend"), isend_object), "irecv": irecv_object,
    **{f"I{name.lower()}": _nonblocking(rule) for name, rule in (*_COLLECTIVES.items(), ("Barrier", _barrier))}})
