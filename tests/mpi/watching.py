"""What went between the ranks while something ran, and whether it fits together."""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mpi4py import MPI

from sdfgad.codegen.mpi.log import MessageNote, noted_messages
from sdfgad.ir.messages import DUALS, FORWARD, REVERSE, VECTORS
from tests.mpi.telling import COMM

POINT_TO_POINT = ("send", "receive")


def watched(run: Callable[[], Any]) -> tuple[Any, list[tuple[Any, list[MessageNote]]]]:
    """What `run` gives, and the messages of every rank, with ranks of the world as peers and roots."""
    with noted_messages() as notes:
        found = run()
    return found, COMM.allgather([_of_world(one) for one in notes])


def _of_world(note: MessageNote) -> MessageNote:
    """The note with a number for the group of its communicator, the same on all ranks of it."""
    width = 8 * MPI._sizeof(MPI.COMM_WORLD)
    group = MPI.Comm.fromhandle(note.communicator & (2**width - 1)).Get_group()
    members = MPI.Group.Translate_ranks(group, None, COMM.Get_group())
    return replace(note, peer=members[note.peer], communicator=sum(2**m for m in members))


def faults(ranks: Sequence[Sequence[MessageNote]]) -> list[str]:
    """What does not fit: sends without receives of the same size, collectives of which ranks think differently, a
    reverse sweep that is not the transposed forward sweep. Every rank finds the same."""
    return [*unmatched(ranks), *(
        f"rank {r}: {fault}" for r, notes in enumerate(ranks) for fault in _not_transposed(notes))]


def unmatched(ranks: Sequence[Sequence[MessageNote]]) -> list[str]:
    """Sends without receives, and collectives of which ranks think differently."""
    return [*_unreceived(ranks), *_torn_collectives(ranks)]


def _unreceived(ranks: Sequence[Sequence[MessageNote]]) -> list[str]:
    """Between two ranks, messages of one tag arrive in the order in which they were sent."""
    ways: dict[Any, dict[str, list[int]]] = defaultdict(lambda: {k: [] for k in POINT_TO_POINT})
    for rank, notes in enumerate(ranks):
        for one in notes:
            if one.kind in POINT_TO_POINT:
                pair = (rank, one.peer) if one.kind == "send" else (one.peer, rank)
                ways[one.sweep, one.communicator, *pair, one.tag][one.kind].append(one.bytes)
    return [f"{way}: sent {sizes['send']}, received {sizes['receive']}" for way, sizes in ways.items()
            if sizes["send"] != sizes["receive"]]


def _torn_collectives(ranks: Sequence[Sequence[MessageNote]]) -> list[str]:
    seen: dict[int, dict[int, list[Any]]] = defaultdict(dict)
    for rank, notes in enumerate(ranks):
        for one in notes:
            if one.kind not in POINT_TO_POINT:
                size = None if one.kind in VECTORS else one.bytes
                seen[one.communicator].setdefault(rank, []).append((one.sweep, one.kind, one.peer, size))
    return [f"ranks {[r for r in range(len(ranks)) if group >> r & 1]} do not agree on their collectives"
            for group, found in seen.items()
            if len(found) != group.bit_count() or any(one != next(iter(found.values())) for one in found.values())]


def _not_transposed(notes: Sequence[MessageNote]) -> list[str]:
    """Sends for receives, collectives backwards with their duals, if the forward sweep has sent anything."""
    def of(sweep: str) -> list[MessageNote]:
        return [one for one in notes if one.sweep == sweep]

    there, back = of(FORWARD), of(REVERSE)
    if not there or not back:
        return []
    turned = Counter((_other(one), one.peer, one.tag, one.bytes) for one in there if one.kind in POINT_TO_POINT)
    found = Counter((one.kind, one.peer, one.tag, one.bytes) for one in back if one.kind in POINT_TO_POINT)
    duals = [(_dual(one.kind), one.peer, _size(one)) for one in reversed(there) if one.kind not in POINT_TO_POINT]
    others = [(one.kind, one.peer, _size(one)) for one in back if one.kind not in POINT_TO_POINT]
    return [f"{what} forward, {back_again} in reverse" for what, back_again in ((turned, found), (duals, others))
            if what != back_again]


def _size(note: MessageNote) -> int:
    """What a rank sends in an alltoallv is not what it sends back."""
    return 0 if note.kind == "alltoallv" else note.bytes


def _other(note: MessageNote) -> str:
    return "receive" if note.kind == "send" else "send"


def _dual(kind: str) -> str:
    """As the reverse sweep calls it: its alltoallv goes the other way round by the same function."""
    return DUALS[kind].removesuffix("_back")
