"""Persistent requests: messages that are made once and started again and again."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.mpi.messages import incoming_buffer, outgoing_buffer, post
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.mail import PersistentMessage, PostedMessage
from sdfgad.frontend.state.values import Value, ViewValue


def send_init(ctx: Context, comm: Any, buf: Value, dest: Value, tag: Value = 0) -> PersistentMessage:
    """r = Send_init(x)   ->   nothing: what lies in x then goes with each start."""
    return _made(ctx, comm, outgoing_buffer(ctx, buf), False, dest, tag)


def recv_init(ctx: Context, comm: Any, buf: Value, source: Value = None, tag: Value = None) -> PersistentMessage:
    return _made(ctx, comm, incoming_buffer(ctx, buf), True, source, tag)


def _made(ctx: Context, comm: Any, buffer: ViewValue, incoming: bool, peer: Value, tag: Value) -> PersistentMessage:
    if ctx.builder.regions:
        raise ctx.refuse("a persistent request made in a loop or a branch", "make it before, and start it there",
                         "SG107")
    if incoming and any(room.view.array == buffer.view.array for room, _ in ctx.builder.mail.rooms):
        raise ctx.refuse("a persistent receive of a datatype of several blocks", "receive into an array, and copy from "
                         "it", "SG121")
    made, mail = PersistentMessage(comm, buffer, incoming, peer, tag), ctx.builder.mail
    ctx.builder.mail = replace(mail, persistent=(*mail.persistent, made))
    return made


def start(ctx: Context, requests: Sequence[Value]) -> None:
    """r.Start() ; r.Wait()   ->   s = Isend(x) ; s.Wait()"""
    builder = ctx.builder
    for one in requests:
        if not isinstance(one, PersistentMessage):
            raise ctx.refuse(f"a start of {describe(one)}", "start what Send_init and Recv_init gave", "SG109")
        if any(p is one and r in builder.mail.posted for p, r in builder.mail.started):
            raise ctx.refuse("a request that is started again before it is waited for", "call Wait first", "SG107")
        buffer = one.buffer if one.incoming else builder.fresh_copy(one.buffer, "message")
        posted = post(ctx, PostedMessage(one.communicator, buffer, one.incoming, one.peer, one.tag, builder.source,
                                         tuple(builder.regions)))
        others = tuple(pair for pair in builder.mail.started if pair[0] is not one)
        builder.mail = replace(builder.mail, started=(*others, (one, posted)))
