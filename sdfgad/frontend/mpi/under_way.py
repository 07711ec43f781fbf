"""Messages of requests, posted by the wait for them or by a collective that comes before it."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sdfgad.frontend.mpi.messages import begun, size_of
from sdfgad.frontend.mpi.nobody import is_nobody
from sdfgad.frontend.mpi.status import TransferRecord
from sdfgad.frontend.state.attempts import AssumptionFailed
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.mail import PostedMessage
from sdfgad.frontend.state.values import is_number
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


def kept_for_later(ctx: Context, lost: Sequence[PostedMessage]) -> None:
    """Requests that have gone with the wait for others, while something has been sent before their own one: the
    function is translated again, and they stay under way from that wait to theirs."""
    for one in lost:
        if one.run is None and not _is_kept(ctx, one):
            raise AssumptionFailed(_line_of(one))


def _line_of(one: PostedMessage) -> str:
    """No name of a container."""
    return f"request of {one.source.file}:{one.source.line}" if one.source else "request"


def _is_kept(ctx: Context, one: PostedMessage) -> bool:
    return _line_of(one) in ctx.builder.assumed.fragile


def go_at_wait(ctx: Context, mine: Sequence[PostedMessage]) -> None:
    """What is posted and not yet under way goes, and what has come goes to its places. mine: what is waited for here;
    others may be for a wait behind the next message."""
    builder, mail = ctx.builder, ctx.builder.mail
    kept = [r for r in mail.posted if r not in mine and (r in mail.flying or _is_kept(ctx, r))]
    if kept and all(r.run is None for r in mail.posted) and not any(r in mail.flying for r in mine):
        _go_beside(ctx, mine, kept)
        return
    builder.mail = replace(mail, posted=())
    go(ctx, [r for r in mail.posted if r not in mail.flying])
    for arrive in builder.mail.arrivals:
        arrive()
    builder.mail = replace(builder.mail, gone=mail.posted, flying=(), arrivals=(), group=0)


def _go_beside(ctx: Context, mine: Sequence[PostedMessage], kept: Sequence[PostedMessage]) -> None:
    """The messages of a wait, while others are under way, from before it until another message has been waited for.

    s = Isend(x) ; r = Irecv(y) ; r.Wait() ; t = allreduce(z) ; s.Wait()
        ->   start x ; exchange y ; t = allreduce(z) ; finish x

    The transposed sweep starts what comes back for x before all of these. So a message that goes the same way as one of
    x, and has its tag, would change places with it there: it is kept, too, or refused if it is waited for here.
    """
    builder, mail = ctx.builder, ctx.builder.mail
    now = [r for r in mail.posted if r not in kept]
    changed = [r for r in now if any(_may_be_taken_for(r, other) for other in kept)]
    if changed and changed[0] not in mine:
        raise AssumptionFailed(_line_of(changed[0]))
    if changed:
        raise ctx.refuse("a wait for some messages while others of the same way are under way",
                         "wait for all of them at once", "SG107")
    if not mail.flying:
        builder.mail = replace(mail, group=len(mail.given) + 1, placed=0)
    builder.mail = replace(builder.mail, posted=())
    go(ctx, [r for r in kept if r not in mail.flying], True)
    with _group(ctx, True):
        _exchanged(ctx, now, beside=True)
    builder.mail = replace(builder.mail, posted=tuple(kept), flying=tuple(kept), gone=tuple(now))


def _may_be_taken_for(one: PostedMessage, other: PostedMessage) -> bool:
    if one.incoming is not other.incoming or is_nobody(one.peer) or is_nobody(other.peer):
        return False
    pairs = ((one.peer, other.peer), (one.tag, other.tag))
    return not any(is_number(a) and is_number(b) and int(a) != int(b) and min(int(a), int(b)) >= 0 for a, b in pairs)


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


def _exchanged(ctx: Context, posted: Sequence[PostedMessage], apart: bool = False, beside: bool = False) -> None:
    places = [r.buffer if r.brings is None else r.brings.found() for r in posted]
    given = [(r.incoming, (place, r.peer, r.tag)) for r, place in zip(posted, places, strict=True) if place is not None]
    going = begun(ctx, posted[0].communicator, [m for into, m in given if not into], [m for into, m in given if into],
                  apart=apart, beside=beside)
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
