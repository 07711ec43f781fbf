"""Operations of all ranks in the program."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdfgad.frontend.mpi.messages import MessageBuffers, check_type, counted, emit_message, numbers_of, peer_of
from sdfgad.frontend.mpi.under_way import others_under_way
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Value
from sdfgad.ir.messages import FLAG, OF_RANK, POSTED, VECTORS


def collective(ctx: Context, communicator: Any, kind: str, buffers: MessageBuffers, root: int = 0, how: str = "sum",
               passive: bool = False, counts: Sequence[Value] = (), of_rank: bool = False) -> None:
    """One operation of all ranks. passive: its result is a constant to derivatives; extremes always are. counts: of the
    elements of each rank where those differ. of_rank: each rank takes another part of the result, as of a scan."""
    beside = others_under_way(ctx, communicator)
    for one in (*buffers.sent, *buffers.received):
        check_type(ctx, one)
        if one.dtype != buffers.dtype:
            raise ctx.refuse(f"{kind} from {buffers.sent[0].dtype} to {one.dtype}", "give both the same type", "SG104")
    numbers = numbers_of(ctx, communicator, [peer_of(ctx, communicator, root), *counts])
    more = {"passive": True} if passive or how != "sum" else {}
    if of_rank:
        more[OF_RANK] = True
    if ctx.builder.mail.posting and kind not in VECTORS:
        more[POSTED] = True
    emit_message(ctx, tuple(v.view for v in buffers.received), (*(v.view for v in buffers.sent), numbers), kind=kind,
                 count=buffers.count, dtype=buffers.dtype, how=how, beside=beside, **more)
    counted(ctx, communicator)


def barrier(ctx: Context, communicator: Any) -> None:
    beside = others_under_way(ctx, communicator)
    emit_message(ctx, (), (numbers_of(ctx, communicator, [0]),), kind="barrier", count=0, dtype=FLAG, beside=beside)
    counted(ctx, communicator)
