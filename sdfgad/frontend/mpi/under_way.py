"""Messages of requests, posted by the wait for them or by a collective that comes before it."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sdfgad.frontend.mpi.messages import begun, size_of
from sdfgad.frontend.mpi.nobody import is_nobody
from sdfgad.frontend.mpi.status import TransferRecord
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.mail import PostedMessage
from sdfgad.ir.messages import POSTED, is_message
from sdfgad.ranks import handle_of


def others_under_way(ctx: Context, communicator: Any) -> bool:
    """Whether a collective blocks beside messages that are under way: what is posted by then goes before it, as other
    ranks may wait for that first.

    r = Irecv(y) ; s = allreduce(x) ; r.Wait()   ->   start room ; s = allreduce(x) ; finish room ; y = room
    """
    builder, mail = ctx.builder, ctx.builder.mail
    if mail.posting or not mail.posted:
        return False
    if any(r.region != tuple(builder.regions) for r in mail.posted):
        raise ctx.refuse("a collective in a loop or a branch, while messages posted around it are not waited for",
                         "wait for requests before the loop or the branch, or post them in it", "SG107")
    if any(r.run is not None and handle_of(r.communicator) != handle_of(communicator) for r in mail.posted):
        raise ctx.refuse("a collective while one of another communicator is not waited for", "wait for it first",
                         "SG107")
    if not mail.flying:
        builder.mail = replace(mail, group=len(mail.given) + 1, placed=0)
    new = [r for r in mail.posted if r not in mail.flying]
    builder.mail = replace(builder.mail, posted=())
    go(ctx, new, True)
    builder.mail = replace(builder.mail, posted=mail.posted, flying=mail.posted)
    return True


def go_at_wait(ctx: Context) -> None:
    """What is posted and not yet under way goes, and what has come goes to its places."""
    builder, mail = ctx.builder, ctx.builder.mail
    builder.mail = replace(mail, posted=())
    go(ctx, [r for r in mail.posted if r not in mail.flying])
    for arrive in builder.mail.arrivals:
        arrive()
    builder.mail = replace(builder.mail, gone=mail.posted, flying=(), arrivals=(), group=0)


def go(ctx: Context, posted: Sequence[PostedMessage], apart: bool = False) -> None:
    """The messages of all requests, one exchange for each communicator and type, and their collectives, in turn.
    apart: something blocks before they are waited for."""
    messages, collectives = [r for r in posted if r.run is None], [r.run for r in posted if r.run is not None]
    if len({handle_of(r.communicator) for r in messages}) > 1:
        raise ctx.refuse("requests of several communicators at the same time", "wait for those of one first", "SG107")
    both = bool(messages and collectives) or apart or bool(ctx.builder.mail.flying)
    with _group(ctx, both):
        if messages:
            _exchanged(ctx, messages, apart)
        for run in collectives:
            before = len(ctx.builder.mail.collectives)
            run()
            if both and not _is_one(ctx, before):
                # What has to wait for something of its own cannot be under way beside the others.
                raise ctx.refuse("requests of messages, and of a collective of uneven parts or of extremes, at the same"
                                 " time", "wait for those of one kind first", "SG107")


def _exchanged(ctx: Context, posted: Sequence[PostedMessage], apart: bool) -> None:
    places = [r.buffer if r.brings is None else r.brings.found() for r in posted]
    given = [(r.incoming, (place, r.peer, r.tag)) for r, place in zip(posted, places, strict=True) if place is not None]
    going = begun(ctx, posted[0].communicator, [m for into, m in given if not into], [m for into, m in given if into],
                  apart=apart)
    if going is None:
        return
    if apart:
        ctx.builder.mail = replace(ctx.builder.mail, arrivals=(*ctx.builder.mail.arrivals, going.arrive))
    else:
        going.arrive()
    if going.record is not None:
        came = [(r, p) for r, p in zip(posted, places, strict=True) if r.incoming and p and not is_nobody(r.peer)]
        told = ((r, TransferRecord(going.record, p.dtype, size_of(p), 2 * k)) for k, (r, p) in enumerate(came))
        ctx.builder.mail = replace(ctx.builder.mail, recorded=(*ctx.builder.mail.recorded, *told))


@contextmanager
def _group(ctx: Context, together: bool) -> Iterator[None]:
    """together: what goes within is waited for when all of it is under way."""
    before = ctx.builder.mail
    if together and not before.group:
        ctx.builder.mail = replace(before, group=len(before.given) + 1, placed=0)
    ctx.builder.mail = replace(ctx.builder.mail, posting=True)
    yield
    ctx.builder.mail = replace(ctx.builder.mail, posting=False, group=before.group)


def _is_one(ctx: Context, before: int) -> bool:
    """Whether what has been done since is one collective that blocks on no rank."""
    last = next((s for s in reversed(ctx.builder.blocks[-1]) if is_message(s)), None)
    done = len(ctx.builder.mail.collectives) - before
    return done == 0 or done == 1 and last is not None and POSTED in last.attrs
