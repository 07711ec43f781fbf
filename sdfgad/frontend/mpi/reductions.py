"""Reductions over ranks: to all, to one, of parts, and of those before a rank."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.elements.elementwise import as_array, describe, lift
from sdfgad.frontend.elements.special import stop_gradient
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.mpi.alike import made_alike
from sdfgad.frontend.mpi.collectives import collective
from sdfgad.frontend.mpi.given import (
    assigned,
    flat_of,
    front_of,
    how_of,
    integers,
    is_in_place,
    is_located,
    is_logical,
    object_of,
    part_of_flat,
    root_of,
    rows_of,
    same_parts,
    same_size,
)
from sdfgad.frontend.mpi.messages import (
    MessageBuffers,
    incoming_buffer,
    outgoing_buffer,
    same_type,
    size_of,
)
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Value, ViewValue, is_int
from sdfgad.ir.expr import call
from sdfgad.ranks import library


def allreduce(ctx: Context, comm: Any, sendobj: Value, op: Value = None) -> Value:
    if is_located(op):
        return _located(ctx, comm, sendobj, op)
    given = made_alike(ctx, comm, "allreduce", object_of(ctx, sendobj))
    return reduced(ctx, comm, given, how_of(ctx, op, given.dtype.kind))


def allreduce_into(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, op: Value = None) -> None:
    into = incoming_buffer(ctx, recvbuf)
    own = ctx.builder.fresh_copy(into, "message") if is_in_place(sendbuf) else outgoing_buffer(ctx, sendbuf)
    same_size(ctx, own, into)
    if is_logical(op) and own.dtype.kind in "iu":
        return assigned(ctx, into, _logical(ctx, comm, own, op))
    how = how_of(ctx, op, into.dtype.kind)
    if how == "sum" and own.view.array != into.view.array:
        return collective(ctx, comm, "allreduce", MessageBuffers((own,), (into,), size_of(own), own.dtype))
    return assigned(ctx, into, reduced(ctx, comm, own, how))


def _logical(ctx: Context, comm: Any, given: ViewValue, op: Value, of_rank: bool = False) -> ArrayValue:
    """A reduction of integers that stand for flags: 1 or 0, but of one rank what it gives."""
    if comm.Get_size() == 1:
        return given
    flags = ctx.builder.fresh_copy(as_array(ctx, ctx.invoke(ctx, np.not_equal, [given, 0], {})), "flags")
    total = reduced(ctx, comm, flags, how_of(ctx, op, "b"), of_rank)
    return as_array(ctx, same_type(ctx, total, given.dtype))


def reduced(ctx: Context, comm: Any, given: ViewValue, how: str, of_rank: bool = False) -> ViewValue:
    """A reduction that every rank gets. A product is made of all factors: its derivative needs those beside a zero.
    of_rank: each rank keeps a part of its own, or one alone keeps it."""
    if how == "prod":
        total = as_array(ctx, prefix(ctx, comm, given, how, comm.Get_size(), of_rank))
        return ctx.builder.fresh_copy(total, "total")
    if how == "sum" or given.dtype.kind not in "fc":
        return combined(ctx, comm, given, how, of_rank)
    return extreme(ctx, comm, given, how, of_rank)


def extreme(ctx: Context, comm: Any, x: ViewValue, how: str, of_rank: bool) -> ViewValue:
    """m = max of x over the ranks, with the derivative of: sum over the ranks of x / ties where x is m. Those that win
    share; what the others have may be infinite."""
    def run(ufunc: Callable[..., Any], *values: Value) -> ViewValue:
        return ctx.builder.fresh_copy(as_array(ctx, ctx.invoke(ctx, ufunc, list(values), {})), "message")

    zero, one = x.dtype.type(0), x.dtype.type(1)
    constant = ctx.builder.fresh_copy(stop_gradient(ctx, x), "message")
    top = combined(ctx, comm, constant, how, of_rank)
    if not ctx.own_rules:  # nobody asks for derivatives
        return top
    won = run(np.equal, constant, top)
    ties = combined(ctx, comm, run(np.where, won, one, zero), "sum", of_rank, passive=True)
    slope = combined(ctx, comm, run(np.where, won, run(np.divide, x, ties), zero), "sum", of_rank)
    both = lift(ctx, (top, slope), x.dtype, lambda v, t: call("attached", v, t), top.weak)
    return ctx.builder.fresh_copy(both, "top")


def _located(ctx: Context, comm: Any, pair: Value, op: Value) -> Value:
    """comm.allreduce((value, rank), op=MPI.MAXLOC)   ->   the largest value, and the least place of those with it"""
    items = list(items_of(ctx, pair)) if isinstance(pair, (ListValue, list, tuple)) else []
    if len(items) != 2 or not is_int(items[1]):
        raise ctx.refuse(f"{describe(pair)} for MAXLOC or MINLOC", "give a number and an integer: (value, rank)",
                         "SG109")
    how = "max" if is_located(op) == "MAXLOC" else "min"
    value = made_alike(ctx, comm, "located", object_of(ctx, items[0]))
    how_of(ctx, getattr(library(), how.upper()), value.dtype.kind)
    if value.shape:
        raise ctx.refuse(f"{describe(value)} for MAXLOC or MINLOC", "give a number and an integer", "SG109")
    top = reduced(ctx, comm, value, how)
    won = ctx.invoke(ctx, np.equal, [stop_gradient(ctx, value), stop_gradient(ctx, top)], {})
    nobody = np.iinfo(np.int64).max
    place = ctx.invoke(ctx, np.where, [won, items[1], nobody], {})
    least = combined(ctx, comm, ctx.builder.fresh_copy(as_array(ctx, place), "place"), "min", False)
    found = to_int(ctx, least)
    return top, replace(found, dtype=None) if isinstance(found, IntValue) else found


def combined(ctx: Context, comm: Any, given: ViewValue, how: str, of_rank: bool, passive: bool = False) -> ViewValue:
    """What a reduction gives all ranks, in a place of its own."""
    out = ctx.builder.view(ctx.builder.declare(given.shape, given.dtype, "total"), given.shape, given.weak,
                           not given.shape)
    collective(ctx, comm, "allreduce", MessageBuffers((given,), (out,), size_of(given), given.dtype), how=how,
               passive=passive, of_rank=of_rank)
    return out


def reduce_into(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, op: Value = None, root: Value = 0) -> None:
    here = comm.Get_rank() == root
    into = incoming_buffer(ctx, recvbuf) if here else None
    in_place = is_in_place(sendbuf) and into is not None
    own = ctx.builder.fresh_copy(into, "message") if in_place else outgoing_buffer(ctx, sendbuf)  # type: ignore[arg-type]
    if into is not None:
        same_size(ctx, own, into)
    if is_logical(op) and own.dtype.kind in "iu":
        found = _logical(ctx, comm, own, op, of_rank=True)
        return None if into is None else assigned(ctx, into, found)
    how = how_of(ctx, op, own.dtype.kind)
    if how != "sum":
        total = reduced(ctx, comm, own, how, of_rank=True)
        return None if into is None else assigned(ctx, into, total)
    collective(ctx, comm, "reduce", MessageBuffers((own,), () if into is None else (into,), size_of(own), own.dtype),
               root_of(ctx, root))
    return None


def reduce(ctx: Context, comm: Any, sendobj: Value, op: Value = None, root: Value = 0) -> Value:
    if is_located(op):
        found = _located(ctx, comm, sendobj, op)
        return found if comm.Get_rank() == root else None
    given = made_alike(ctx, comm, "reduce", object_of(ctx, sendobj))
    how = how_of(ctx, op, given.dtype.kind)
    if how != "sum":
        total = reduced(ctx, comm, given, how, of_rank=True)
        return total if comm.Get_rank() == root else None
    out = ctx.builder.view(ctx.builder.declare(given.shape, given.dtype, "total"), given.shape, given.weak,
                           not given.shape)
    got = (out,) if comm.Get_rank() == root else ()
    collective(ctx, comm, "reduce", MessageBuffers((given,), got, size_of(given), given.dtype), root_of(ctx, root))
    return out if got else None


# parts of sums

def reduce_scatter_block(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, op: Value = None) -> None:
    into, own = incoming_buffer(ctx, recvbuf), _given_whole(ctx, sendbuf, recvbuf)
    size, each = comm.Get_size(), size_of(own) // comm.Get_size()
    if is_in_place(sendbuf):
        into = front_of(ctx, into, each)
    same_parts(ctx, comm, (own,), into)
    _scattered(ctx, comm, own, into, (each,) * size, how_of(ctx, op, own.dtype.kind))


def reduce_scatter(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, recvcounts: Value = None,
                   op: Value = None) -> None:
    into, own = incoming_buffer(ctx, recvbuf), _given_whole(ctx, sendbuf, recvbuf)
    if recvcounts is None and size_of(own) != comm.Get_size() * size_of(into):
        raise ctx.refuse("Reduce_scatter without counts, of parts that differ in size", "give recvcounts", "SG103")
    counts = (size_of(into),) * comm.Get_size() if recvcounts is None else integers(ctx, recvcounts, comm.Get_size())
    if is_in_place(sendbuf):
        into = front_of(ctx, into, counts[comm.Get_rank()])
    if size_of(own) != sum(counts) or size_of(into) != counts[comm.Get_rank()]:
        raise ctx.refuse(f"parts of {counts} elements of {size_of(own)}, of which {size_of(into)} are received here",
                         "recvcounts have to say what all ranks receive", "SG103")
    _scattered(ctx, comm, own, into, counts, how_of(ctx, op, own.dtype.kind))


def _given_whole(ctx: Context, sendbuf: Value, recvbuf: Value) -> ViewValue:
    return ctx.builder.fresh_copy(incoming_buffer(ctx, recvbuf), "message") if is_in_place(sendbuf) else \
        outgoing_buffer(ctx, sendbuf)


def _scattered(ctx: Context, comm: Any, own: ViewValue, into: ViewValue, counts: tuple[int, ...], how: str) -> None:
    """Each rank gets its part of the reduced array. Only sums are sent in parts."""
    if how != "sum":
        whole, rank = flat_of(ctx, reduced(ctx, comm, own, how, of_rank=True)), comm.Get_rank()
        assigned(ctx, into, part_of_flat(ctx, whole, sum(counts[:rank]), counts[rank]))
        return
    alike = len(set(counts)) == 1
    buffers = MessageBuffers((own,), (into,), size_of(into), into.dtype)
    if alike:
        collective(ctx, comm, "reduce_scatter", buffers)
    else:
        collective(ctx, comm, "reduce_scatterv", buffers, counts=counts)


# what the ranks up to one have

def prefix(ctx: Context, comm: Any, given: ViewValue, how: str, count: int, of_rank: bool = False) -> Value:
    """The reduction of what the first `count` ranks have. Every rank gets all of it: of a sum from one end there is no
    transpose among the operations of MPI. of_rank: `count` differs from rank to rank."""
    rows = rows_of(ctx, comm, given)
    collective(ctx, comm, "allgather", MessageBuffers((given,), (rows,), size_of(given), given.dtype), of_rank=of_rank)
    some = subscript(ctx, rows, slice(0, count))
    total = as_array(ctx, ctx.invoke(ctx, _OF_ROWS[how], [some], {"axis": 0}))
    return same_type(ctx, total, given.dtype)


def scan(ctx: Context, comm: Any, sendobj: Value, op: Value = None) -> Value:
    given = made_alike(ctx, comm, "scan", object_of(ctx, sendobj))
    return _before(ctx, comm, given, op, comm.Get_rank() + 1)


def exscan(ctx: Context, comm: Any, sendobj: Value, op: Value = None) -> Value:
    given = made_alike(ctx, comm, "exscan", object_of(ctx, sendobj))
    return _before(ctx, comm, given, op, comm.Get_rank())


def scan_into(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, op: Value = None) -> None:
    _scanned(ctx, comm, sendbuf, recvbuf, op, comm.Get_rank() + 1)


def exscan_into(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, op: Value = None) -> None:
    _scanned(ctx, comm, sendbuf, recvbuf, op, comm.Get_rank())


def _scanned(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value, op: Value, count: int) -> None:
    """The buffer of the first rank stays as it is where it has nobody before it."""
    into = incoming_buffer(ctx, recvbuf)
    own = _given_whole(ctx, sendbuf, recvbuf)
    same_size(ctx, own, into)
    total = _before(ctx, comm, own, op, count)
    if total is not None:
        assigned(ctx, into, as_array(ctx, total))


def _before(ctx: Context, comm: Any, given: ViewValue, op: Value, count: int) -> Value:
    how = how_of(ctx, op, given.dtype.kind)
    if given.dtype.kind == "b":
        raise ctx.refuse("a scan of flags", "scan numbers", "SG121")
    total = prefix(ctx, comm, given, how, max(count, 1), of_rank=True)
    return total if count else None


_OF_ROWS: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min})
"""Reductions along the first axis of what all ranks have."""
