"""Collectives among the neighbours of a Cartesian grid: messages to and from each of them.

In each dimension the neighbour before comes first, then the one behind (MPI 4.1, 8.6). What goes to the one before
arrives there as what comes from the one behind, also where both are one rank.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sdfgad.frontend.context import Context
from sdfgad.frontend.messages import exchange, incoming_buffer, outgoing_buffer, size_of
from sdfgad.frontend.mpi_given import assigned, flat_of, part_of_flat
from sdfgad.frontend.values import Value, ViewValue
from sdfgad.ranks import CommunicatorNeeded, handle_of, library, made_communicators


def neighbor_alltoall(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    """Each neighbour gets a part of its own."""
    peers = _neighbours(ctx, comm)
    own, into = outgoing_buffer(ctx, sendbuf, len(peers)), incoming_buffer(ctx, recvbuf, len(peers))
    if size_of(own) != size_of(into) or size_of(own) % len(peers):
        raise ctx.refuse(f"parts of {size_of(own)} elements that go out and {size_of(into)} that come in among "
                         f"{len(peers)} neighbours", "all parts have to be of one size", "SG103")
    each, flat = size_of(own) // len(peers), flat_of(ctx, own)
    _exchanged(ctx, comm, peers, [part_of_flat(ctx, flat, k * each, each) for k in range(len(peers))], into)


def neighbor_allgather(ctx: Context, comm: Any, sendbuf: Value, recvbuf: Value) -> None:
    """All neighbours get the same."""
    peers = _neighbours(ctx, comm)
    own, into = outgoing_buffer(ctx, sendbuf), incoming_buffer(ctx, recvbuf, len(peers))
    if size_of(own) * len(peers) != size_of(into):
        raise ctx.refuse(f"parts of {size_of(own)} elements in a buffer of {size_of(into)} for {len(peers)} neighbours",
                         "all parts have to be of one size", "SG103")
    _exchanged(ctx, comm, peers, [own] * len(peers), into)


def _exchanged(ctx: Context, comm: Any, peers: Sequence[int], parts: Sequence[ViewValue], into: ViewValue) -> None:
    """What comes from nobody stays as it is."""
    among, each = _apart(ctx, comm), size_of(parts[0])
    room = ctx.builder.fresh_copy(flat_of(ctx, into), "parts")
    out = [(part, peer, k) for k, (part, peer) in enumerate(zip(parts, peers, strict=True))]
    got = [(part_of_flat(ctx, room, k * each, each), peer, k ^ 1) for k, peer in enumerate(peers)]
    exchange(ctx, among, out, got)
    assigned(ctx, into, room)


def _neighbours(ctx: Context, comm: Any) -> list[int]:
    mpi = library()
    assert mpi is not None
    if not isinstance(comm, mpi.Cartcomm) or not comm.Get_dim():
        raise ctx.refuse("a message to the neighbours of a communicator that is no grid",
                         "make one by Create_cart, or use Send and Recv", "SG121")
    return [peer for k in range(comm.Get_dim()) for peer in comm.Shift(k, 1)]


def _apart(ctx: Context, comm: Any) -> Any:
    """A communicator of the same ranks, for messages that no receive of the program may take."""
    key, known = (handle_of(comm), "neighbours"), made_communicators()
    if key not in known or handle_of(known[key][0]) != handle_of(comm):
        raise CommunicatorNeeded("neighbours", lambda: known.update({key: (comm, comm.Dup())}),
                                 tuple(ctx.surroundings.sent))
    return known[key][1]


NEIGHBOURS: Mapping[str, Callable[..., None]] = MappingProxyType({
    "Neighbor_alltoall": neighbor_alltoall, "Neighbor_allgather": neighbor_allgather})
