"""Calls of mpi4py: which there are, and what of the program they are."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.arithmetic import items_of, kept
from sdfgad.frontend.builder import axes
from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import as_array, describe
from sdfgad.frontend.mail import MessageStatus, PostedMessage
from sdfgad.frontend.messages import (
    MessageBuffers,
    barrier,
    collective,
    exchange,
    incoming_buffer,
    of_status,
    outgoing_buffer,
    post,
    size_of,
    wait_for,
)
from sdfgad.frontend.numpy_table import stop_gradient
from sdfgad.frontend.values import ArrayValue, ListValue, Method, Reading, Value, ViewValue, is_number
from sdfgad.ir.index import ix
from sdfgad.ir.program import View
from sdfgad.ranks import CommunicatorNeeded, handle_of, is_communicator, library

_SUPPORTED = "see docs/distributed.md for the calls that are taken"
_ASKED = frozenset({"Get_rank", "Get_size", "Get_name", "Is_inter", "Get_topology"})
"""Methods that only say something about a communicator."""
_MAKERS = frozenset({"Create_cart", "Split", "Dup", "Clone", "Sub"})
_OF_CARTS = frozenset({"Shift", "Get_coords", "Get_topo", "Get_dim", "Get_cart_rank"})


def is_of_ranks(callee: Value) -> bool:
    """Whether a value that is called belongs to mpi4py, or is a method of a request."""
    if isinstance(callee, Method):
        return isinstance(callee.owner, (PostedMessage, MessageStatus))
    mpi, owner = library(), getattr(callee, "__self__", None)
    if mpi is None:
        return False
    return is_communicator(owner) or owner is mpi.Request or callee in (mpi.Compute_dims, mpi.Wtime) or (
        isinstance(callee, type) and callee.__module__ == mpi.__name__) or type(owner).__module__ == mpi.__name__


def of_ranks(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """What such a call is."""
    name = callee.name if isinstance(callee, Method) else callee.__name__
    if isinstance(callee, Method):
        return _of_status(ctx, callee) if isinstance(callee.owner, MessageStatus) else _of_request(
            ctx, callee, arguments)
    if callee is library().Status and not arguments:  # type: ignore[union-attr]
        return MessageStatus()
    owner = getattr(callee, "__self__", None)
    if owner is library().Request and name in ("Waitall", "waitall"):  # type: ignore[union-attr]
        wait_for(ctx, items_of(ctx, arguments[0]))
        return None
    if name == "Wtime":
        return Reading()
    if name == "Compute_dims":
        return _asked(ctx, callee, arguments, keywords)
    if not is_communicator(owner):
        raise ctx.refuse(f"a call of MPI's {name}", _SUPPORTED, "SG121")
    if name in _ASKED | _OF_CARTS:
        return _asked(ctx, callee, arguments, keywords)
    if name in _MAKERS:
        return _made_communicator(ctx, callee, arguments, keywords)
    rule = _RULES.get(name)
    if rule is None:
        raise ctx.refuse(f"the method {name!r} of a communicator", _SUPPORTED, "SG121")
    try:
        bound = inspect.signature(rule).bind(ctx, owner, *arguments, **keywords)
    except TypeError as error:
        raise ctx.refuse(f"this call of {name}: {error}", _SUPPORTED, "SG101") from error
    return rule(*bound.args, **bound.kwargs)


def _known(ctx: Context, value: Value) -> Any:
    """A number or a list of numbers for a call that is made now."""
    if isinstance(value, (ListValue, tuple, list)):
        return [_known(ctx, v) for v in items_of(ctx, value)]
    if not is_number(value):
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
    call = (handle_of(parent), callee.__name__, repr(args), repr(sorted(more.items())))
    key, known = (*call, mail.made.count(call)), _communicators()
    if key not in known or handle_of(known[key][0]) != call[0]:
        raise CommunicatorNeeded(callee.__name__, lambda: known.update({key: (parent, callee(*args, **more))}))
    ctx.builder.mail = replace(mail, made=(*mail.made, call))
    return known[key][1]


@lru_cache(maxsize=1)
def _communicators() -> dict[Any, tuple[Any, Any]]:
    """Those made by calls in programs, with the one they were made from. They live as long as the process."""
    return {}


def _of_status(ctx: Context, callee: Method) -> Value:
    if callee.name not in ("Get_source", "Get_tag"):
        raise ctx.refuse(f"the method {callee.name!r} of a status", "source and tag are known", "SG121")
    return of_status(ctx, callee.owner, 1 if callee.name == "Get_source" else 2)


def _of_request(ctx: Context, callee: Method, arguments: Sequence[Value]) -> Value:
    if callee.name not in ("Wait", "wait") or arguments:
        raise ctx.refuse(f"the method {callee.name!r} of a request", "call Wait", "SG121")
    wait_for(ctx, [callee.owner])
    return None


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

def _allreduce(ctx: Context, comm: Any, sendobj: Value, op: Value = None) -> Value:
    given = outgoing_buffer(ctx, _object(ctx, sendobj))
    return _reduced(ctx, comm, given, _how(ctx, op, given.dtype.kind))


def _allreduce_into(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, op: Value = None) -> None:
    into = incoming_buffer(ctx, recvbuf)
    how = _how(ctx, op, into.dtype.kind)
    own = ctx.builder.fresh_copy(into, "message") if _is_in_place(sendbuf) else outgoing_buffer(ctx, sendbuf)
    _same_size(ctx, own, into)
    if how == "sum" and own.view.array != into.view.array:
        collective(ctx, comm, "allreduce", MessageBuffers((own,), (into,), size_of(own), own.dtype))
        return
    total = _reduced(ctx, comm, own, how)
    ctx.builder.assign(into, ctx.invoke(ctx, np.reshape, [total, tuple(n.const for n in into.shape)], {}))


def _reduced(ctx: Context, comm: Any, given: ViewValue, how: str) -> ViewValue:
    if how == "sum" or given.dtype.kind not in "fc":
        return _made(ctx, comm, "allreduce", given, how)
    return _extreme(ctx, comm, given, how)


def _extreme(ctx: Context, comm: Any, x: ViewValue, how: str) -> ViewValue:
    """m = max of x over the ranks ; m + sum over the ranks of (x - m) / ties where x is m: those that win share."""
    def run(ufunc: Callable[..., Any], *values: Value) -> ViewValue:
        return ctx.builder.fresh_copy(as_array(ctx, ctx.invoke(ctx, ufunc, list(values), {})), "message")

    constant = ctx.builder.fresh_copy(stop_gradient(ctx, x), "message")
    top = _made(ctx, comm, "allreduce", constant, how)
    won = run(np.where, ctx.invoke(ctx, np.equal, [constant, top], {}), x.dtype.type(1), x.dtype.type(0))
    ties = _made(ctx, comm, "allreduce", won, "sum", passive=True)
    share = run(np.divide, run(np.multiply, won, run(np.subtract, x, top)), ties)
    return run(np.add, top, _made(ctx, comm, "allreduce", share, "sum"))


def _made(ctx: Context, comm: Any, kind: str, given: ViewValue, how: str, passive: bool = False) -> ViewValue:
    """What a reduction gives, in a place of its own."""
    out = ctx.builder.view(ctx.builder.declare(given.shape, given.dtype, "total"), given.shape, given.weak,
                           not given.shape)
    collective(ctx, comm, kind, MessageBuffers((given,), (out,), size_of(given), given.dtype), how=how,
               passive=passive)
    return out


def _bcast_into(ctx: Context, comm: Any, buf: Value, root: Value = 0) -> None:
    into = incoming_buffer(ctx, buf)
    sent, got = ((into,), ()) if comm.Get_rank() == root else ((), (into,))
    collective(ctx, comm, "bcast", MessageBuffers(sent, got, size_of(into), into.dtype), _root(ctx, root))


def _bcast(ctx: Context, comm: Any, obj: Value, root: Value = 0) -> Value:
    given = outgoing_buffer(ctx, _object(ctx, obj))
    copy = ctx.builder.fresh_copy(given, "message")
    _bcast_into(ctx, comm, ctx.builder.view(ctx.builder.arrays[copy.view.array], copy.shape), root)
    return copy


def _reduce_into(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, op: Value = None, root: Value = 0) -> None:
    _only_sums(ctx, op)
    here = comm.Get_rank() == root
    into = incoming_buffer(ctx, recvbuf) if here else None
    in_place = _is_in_place(sendbuf) and into is not None
    own = ctx.builder.fresh_copy(into, "message") if in_place else outgoing_buffer(ctx, sendbuf)  # type: ignore[arg-type]
    if into is not None:
        _same_size(ctx, own, into)
    collective(ctx, comm, "reduce", MessageBuffers((own,), () if into is None else (into,), size_of(own), own.dtype),
               _root(ctx, root))


def _reduce(ctx: Context, comm: Any, sendobj: Value, op: Value = None, root: Value = 0) -> Value:
    given = outgoing_buffer(ctx, _object(ctx, sendobj))
    how = _how(ctx, op, given.dtype.kind)
    if how != "sum":
        total = _reduced(ctx, comm, given, how)
        return total if comm.Get_rank() == root else None
    out = ctx.builder.view(ctx.builder.declare(given.shape, given.dtype, "total"), given.shape, given.weak,
                           not given.shape)
    got = (out,) if comm.Get_rank() == root else ()
    collective(ctx, comm, "reduce", MessageBuffers((given,), got, size_of(given), given.dtype), _root(ctx, root))
    return out if got else None


def _scatter(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, root: Value = 0) -> None:
    into = incoming_buffer(ctx, recvbuf)
    sent = (outgoing_buffer(ctx, sendbuf),) if comm.Get_rank() == root else ()
    _parts(ctx, comm, sent, into)
    collective(ctx, comm, "scatter", MessageBuffers(sent, (into,), size_of(into), into.dtype), _root(ctx, root))


def _gather(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value = None, root: Value = 0) -> None:
    own = outgoing_buffer(ctx, sendbuf)
    got = (incoming_buffer(ctx, recvbuf),) if comm.Get_rank() == root else ()
    _parts(ctx, comm, got, own)
    collective(ctx, comm, "gather", MessageBuffers((own,), got, size_of(own), own.dtype), _root(ctx, root))


def _allgather(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    own, into = outgoing_buffer(ctx, sendbuf), incoming_buffer(ctx, recvbuf)
    _parts(ctx, comm, (into,), own)
    collective(ctx, comm, "allgather", MessageBuffers((own,), (into,), size_of(own), own.dtype))


def _allgather_list(ctx: Context, comm: Any, sendobj: Value) -> Value:
    """A list of what the ranks give, which has one shape on all of them."""
    given = outgoing_buffer(ctx, _object(ctx, sendobj))
    rows = _rows(ctx, comm, given)
    collective(ctx, comm, "allgather", MessageBuffers((given,), (rows,), size_of(given), given.dtype))
    return _listed(ctx, comm, rows, given)


def _gather_list(ctx: Context, comm: Any, sendobj: Value, root: Value = 0) -> Value:
    given = outgoing_buffer(ctx, _object(ctx, sendobj))
    got = (_rows(ctx, comm, given),) if comm.Get_rank() == root else ()
    collective(ctx, comm, "gather", MessageBuffers((given,), got, size_of(given), given.dtype), _root(ctx, root))
    return _listed(ctx, comm, got[0], given) if got else None


def _rows(ctx: Context, comm: Any, given: ViewValue) -> ViewValue:
    """Room for what each rank gives."""
    return ctx.builder.view(ctx.builder.declare((ix(comm.Get_size()), *given.shape), given.dtype, "every"))


def _listed(ctx: Context, comm: Any, rows: ViewValue, given: ViewValue) -> ListValue:
    def row(k: int) -> ViewValue:
        view = View(rows.view.array, given.shape, (ix(k), *axes(given.ndim)), given.dtype)
        return ViewValue(view, scalar=not given.shape, weak=given.weak)

    return ListValue([row(k) for k in range(comm.Get_size())], len(ctx.builder.regions))


def _reduce_scatter(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, op: Value = None) -> None:
    _only_sums(ctx, op)
    own, into = outgoing_buffer(ctx, sendbuf), incoming_buffer(ctx, recvbuf)
    _parts(ctx, comm, (own,), into)
    collective(ctx, comm, "reduce_scatter", MessageBuffers((own,), (into,), size_of(into), into.dtype))


def _alltoall(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    own, into = outgoing_buffer(ctx, sendbuf), incoming_buffer(ctx, recvbuf)
    _same_size(ctx, own, into)
    if size_of(own) % comm.Get_size():
        raise ctx.refuse(f"Alltoall of {size_of(own)} elements on {comm.Get_size()} ranks", "give each rank as many",
                         "SG103")
    collective(ctx, comm, "alltoall", MessageBuffers((own,), (into,), size_of(own) // comm.Get_size(), own.dtype))


def _free(ctx: Context, comm: Any) -> None:
    """Nothing: a communicator made in a program is kept for the next call."""


def _barrier(ctx: Context, comm: Any) -> None:
    barrier(ctx, comm)


# what is given

def _parts(ctx: Context, comm: Any, wholes: Sequence[ArrayValue], part: ArrayValue) -> None:
    for whole in wholes:
        if size_of(whole) != comm.Get_size() * size_of(part):
            raise ctx.refuse(f"parts of {size_of(part)} elements of an array of {size_of(whole)} on {comm.Get_size()} "
                             "ranks", "all parts have to be of one size", "SG103")


def _same_size(ctx: Context, own: ArrayValue, into: ArrayValue) -> None:
    if size_of(own) != size_of(into):
        raise ctx.refuse(f"a message of {size_of(own)} elements into {size_of(into)}", "give both the same size",
                         "SG103")


def _root(ctx: Context, root: Value) -> int:
    if not is_number(root):
        raise ctx.refuse(f"{describe(root)} as a root", "the root has to be known before the call", "SG109")
    return int(root)


def _object(ctx: Context, value: Value) -> Value:
    """What a method in lower case may take: numbers and arrays, which need no pickling."""
    value = kept(ctx, value, "message")
    if isinstance(value, ArrayValue) or is_number(value) or hasattr(value, "ix"):
        return value
    raise ctx.refuse(f"a message of {describe(value)}", "send numbers and arrays; every rank has to give one of the "
                     "same shape", "SG109")


def _is_in_place(value: Value) -> bool:
    mpi = library()
    return mpi is not None and value is mpi.IN_PLACE


def _how(ctx: Context, op: Value, kind: str = "f") -> str:
    """The name of a reduction. kind: of what is reduced, as in NumPy's types."""
    mpi = library()
    assert mpi is not None
    known = ((mpi.SUM, "sum"), (mpi.MAX, "max"), (mpi.MIN, "min"), (mpi.LOR, "max"), (mpi.LAND, "min"))
    found = next((name for one, name in known if op is None or op is one), None)
    if found is None or (kind == "b") != (op is mpi.LOR or op is mpi.LAND) or kind == "c" and found != "sum":
        raise ctx.refuse(f"a reduction of {'flags' if kind == 'b' else 'numbers'} by this operation",
                         "SUM, MAX and MIN of numbers are taken, LAND and LOR of flags", "SG121")
    return found


def _only_sums(ctx: Context, op: Value) -> None:
    if _how(ctx, op) != "sum":
        raise ctx.refuse("a reduction to one rank by another operation than SUM", "use Allreduce for MAX and MIN",
                         "SG121")


_RULES: Mapping[str, Callable[..., Value]] = MappingProxyType({
    **dict.fromkeys(("Send", "Ssend", "Bsend", "Rsend"), _send), "Recv": _recv, "Sendrecv": _sendrecv,
    "Sendrecv_replace": _sendrecv_replace, **dict.fromkeys(("Isend", "Issend", "Ibsend", "Irsend"), _isend),
    "Irecv": _irecv, "allreduce": _allreduce, "Allreduce": _allreduce_into, "Bcast": _bcast_into, "bcast": _bcast,
    "Reduce": _reduce_into, "reduce": _reduce, "Scatter": _scatter, "Gather": _gather, "Allgather": _allgather,
    "Reduce_scatter_block": _reduce_scatter, "Alltoall": _alltoall, "allgather": _allgather_list,
    "gather": _gather_list, "Barrier": _barrier, "barrier": _barrier,
    "Free": _free})
