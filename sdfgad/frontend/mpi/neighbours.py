"""Collectives among neighbours, in Cartesian grids and in graphs: messages along each edge.

In each dimension of a grid the neighbour before comes first, then the one behind (MPI 4.1, 8.6). What goes to the one
before arrives there as what comes from the one behind, also where both are one rank. In a graph several edges between
two ranks are told apart by their order.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sdfgad.frontend.mpi.given import assigned, flat_of, part_of_flat
from sdfgad.frontend.mpi.messages import exchange, incoming_buffer, outgoing_buffer, size_of
from sdfgad.frontend.mpi.vectors import RankParts, joined, parts_of, spread
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Value, ViewValue
from sdfgad.ranks import CommunicatorNeeded, handle_of, library, made_communicators


@dataclass(frozen=True)
class Edges:
    """Rank and tag of the messages of one rank, in the order of their parts."""

    incoming: Sequence[tuple[int, int]]
    outgoing: Sequence[tuple[int, int]]


def neighbor_alltoall(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    """Each neighbour gets a part of its own."""
    edges = _edges(ctx, comm)
    own, into = outgoing_buffer(ctx, sendbuf, len(edges.outgoing)), incoming_buffer(ctx, recvbuf, len(edges.incoming))
    each = _each(ctx, own, len(edges.outgoing)), _each(ctx, into, len(edges.incoming))
    if all(each) and each[0] != each[1]:
        raise ctx.refuse(f"parts of {each[0]} elements that go out, and of {each[1]} that come in",
                         "all parts have to be of one size", "SG103")
    flat = flat_of(ctx, own)
    parts = [part_of_flat(ctx, flat, k * each[0], each[0]) for k in range(len(edges.outgoing))]
    _exchanged(ctx, comm, edges, parts, into)


def neighbor_allgather(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    """All neighbours get the same."""
    edges = _edges(ctx, comm)
    own, into = outgoing_buffer(ctx, sendbuf), incoming_buffer(ctx, recvbuf, len(edges.incoming))
    if edges.incoming and _each(ctx, into, len(edges.incoming)) != size_of(own):
        raise ctx.refuse(f"parts of {size_of(own)} elements in a buffer of {size_of(into)} for {len(edges.incoming)} "
                         "neighbours", "all parts have to be of one size", "SG103")
    _exchanged(ctx, comm, edges, [own] * len(edges.outgoing), into)


def neighbor_alltoallv(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    """Each neighbour gets a part of its own size."""
    edges = _edges(ctx, comm)
    sent, got = parts_of(ctx, len(edges.outgoing), sendbuf, True), parts_of(ctx, len(edges.incoming), recvbuf, False)
    _between_parts(ctx, comm, edges, _divided(ctx, joined(ctx, sent), sent), got)


def neighbor_allgatherv(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    """All neighbours get the same, and each gives as much as it likes."""
    edges, own = _edges(ctx, comm), outgoing_buffer(ctx, sendbuf)
    _between_parts(ctx, comm, edges, [own] * len(edges.outgoing), parts_of(ctx, len(edges.incoming), recvbuf, False))


def _each(ctx: Context, buffer: ViewValue, parts: int) -> int:
    if parts and size_of(buffer) % parts:
        raise ctx.refuse(f"a buffer of {size_of(buffer)} elements for {parts} neighbours",
                         "all parts have to be of one size", "SG103")
    return size_of(buffer) // parts if parts else 0


def _divided(ctx: Context, whole: ViewValue, parts: RankParts) -> list[ViewValue]:
    """The parts of a message in which they lie one behind the other."""
    if parts.first is None:
        raise ctx.refuse("counts for neighbours that are known in the call alone",
                         "give integers that are known before it", "SG109")
    flat, places = flat_of(ctx, whole), [sum(parts.counts[:k]) for k in range(len(parts.counts))]
    return [part_of_flat(ctx, flat, place, n) for place, n in zip(places, parts.counts, strict=True)]


def _between_parts(ctx: Context, comm: Any, edges: Edges, out: Sequence[ViewValue], got: RankParts) -> None:
    room = ctx.builder.fresh_copy(flat_of(ctx, joined(ctx, got)), "parts")
    _sent(ctx, comm, edges, out, _divided(ctx, room, got))
    spread(ctx, got, room)


def _exchanged(ctx: Context, comm: Any, edges: Edges, parts: Sequence[ViewValue], into: ViewValue) -> None:
    room, number = ctx.builder.fresh_copy(flat_of(ctx, into), "parts"), len(edges.incoming)
    each = _each(ctx, into, number)
    _sent(ctx, comm, edges, parts, [part_of_flat(ctx, room, k * each, each) for k in range(number)])
    assigned(ctx, into, room)


def _sent(ctx: Context, comm: Any, edges: Edges, out: Sequence[ViewValue], into: Sequence[ViewValue]) -> None:
    """What comes from nobody stays as it is."""
    exchange(ctx, _apart(ctx, comm), [(part, *edge) for part, edge in zip(out, edges.outgoing, strict=True)],
             [(part, *edge) for part, edge in zip(into, edges.incoming, strict=True)])


def _edges(ctx: Context, comm: Any) -> Edges:
    mpi = library()
    assert mpi is not None
    if not isinstance(comm, mpi.Topocomm) or isinstance(comm, mpi.Cartcomm) and not comm.Get_dim():
        raise ctx.refuse("a message to the neighbours of a communicator that is no grid and no graph",
                         "make one by Create_cart or Create_dist_graph_adjacent, or use Send and Recv", "SG121")
    if isinstance(comm, mpi.Cartcomm):
        return Edges([(peer, k ^ 1) for k, peer in enumerate(comm.inedges)],
                     [(peer, k) for k, peer in enumerate(comm.outedges)])
    return Edges([(peer, 0) for peer in comm.inedges], [(peer, 0) for peer in comm.outedges])


def _apart(ctx: Context, comm: Any) -> Any:
    """A communicator of the same ranks, for messages that no receive of the program may take."""
    key, known = (handle_of(comm), "neighbours"), made_communicators()
    if key not in known or handle_of(known[key][0]) != handle_of(comm):
        raise CommunicatorNeeded("neighbours", lambda: known.update({key: (comm, comm.Dup())}),
                                 ctx.builder.mail.sent)
    return known[key][1]


NEIGHBOURS: Mapping[str, Callable[..., None]] = MappingProxyType({
    "Neighbor_alltoall": neighbor_alltoall, "Neighbor_allgather": neighbor_allgather,
    "Neighbor_alltoallv": neighbor_alltoallv, "Neighbor_allgatherv": neighbor_allgatherv})
