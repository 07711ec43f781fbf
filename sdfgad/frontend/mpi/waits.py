"""Waits for requests, for all of them or for some.

MPI leaves open which of several requests are done first: here it is the order of the list.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.mpi.messages import numbers_of, size_of, source_of, tag_of, tell_of_nobody
from sdfgad.frontend.mpi.nobody import is_nobody, may_be_nobody
from sdfgad.frontend.mpi.objects import brought
from sdfgad.frontend.mpi.status import TransferRecord, show_status
from sdfgad.frontend.mpi.under_way import go_at_wait, kept_for_later
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.mail import PersistentMessage, PostedMessage
from sdfgad.frontend.state.values import ListValue, Value
from sdfgad.ranks import library


def posted_by(ctx: Context, request: Value) -> PostedMessage | None:
    """What a request waits for; None of one that is not active."""
    mpi = library()
    if isinstance(request, PersistentMessage):
        return dict(ctx.builder.mail.started).get(request)
    if mpi is not None and isinstance(request, mpi.Request) and request == mpi.REQUEST_NULL:
        return None
    if not isinstance(request, PostedMessage):
        raise ctx.refuse(f"a wait for {describe(request)}", "wait for what Isend and Irecv gave", "SG109")
    return request


def wait_for(ctx: Context, requests: Sequence[Value], first: PostedMessage | None = None) -> None:
    """All that is posted goes with the first wait; the waits for the rest of it must follow at once. first: the one
    that the wait gives, in place of all."""
    builder = ctx.builder
    active = (posted_by(ctx, one) for one in requests)
    mine = [r for r in active if r is not None and r not in builder.mail.given]
    here, mail = tuple(builder.regions), builder.mail
    lost = [r for r in mine if r not in mail.posted and r not in mail.gone]
    kept_for_later(ctx, lost)
    if lost or any(r.region != here for r in (*mine, *mail.posted)):
        raise ctx.refuse("a wait that is not in the same block as its request, or not the first one behind it",
                         "post and wait in one block, and wait for all requests before the next message", "SG107")
    if any(r in mail.posted for r in mine):
        go_at_wait(ctx, mine)
    given = mine if first is None else [first]
    builder.mail = replace(builder.mail, given=(*mail.given, *given), due=tuple(
        r for r in (*mail.due, *mine) if r not in given))


def wait_and_tell(ctx: Context, requests: Value, statuses: Value = None) -> None:
    """Waitall(requests, statuses)   ->   each status of a receive says whom it is of, where that is known."""
    every = list(items_of(ctx, requests))
    posted = [posted_by(ctx, one) for one in every]
    wait_for(ctx, every)
    told = [] if statuses is None else list(items_of(ctx, statuses))
    for message, status in zip(posted, told, strict=False):
        if message is not None and message.incoming:
            tell(ctx, status, message)


# some of several

def waitany(ctx: Context, requests: Value, status: Value = None) -> Value:
    """i = Waitany(reqs)   ->   all of them go with the first wait; i is the first one that no wait has given yet."""
    return waitany_object(ctx, requests, status)[0]


def waitany_object(ctx: Context, requests: Value, status: Value = None) -> tuple[Value, Value]:
    pairs = _waiting(ctx, requests)
    if not pairs:
        return library().UNDEFINED, None  # type: ignore[union-attr]
    place, first = pairs[0]
    wait_for(ctx, [one for _, one in pairs], first)
    if status is not None:
        tell(ctx, status, first)
    return place, brought(ctx, first)


def waitsome(ctx: Context, requests: Value, statuses: Value = None) -> Value:
    """All that no wait has given yet: they may be done at the same time."""
    return waitsome_objects(ctx, requests, statuses)[0]


def waitsome_objects(ctx: Context, requests: Value, statuses: Value = None) -> tuple[Value, Value]:
    if statuses is not None:
        raise ctx.refuse("statuses of several requests", "leave them out: each request says whom it is of", "SG121")
    pairs = _waiting(ctx, requests)
    if not pairs:
        return None, None
    wait_for(ctx, [one for _, one in pairs])
    here = len(ctx.builder.regions)
    return ListValue([place for place, _ in pairs], here), ListValue([brought(ctx, one) for _, one in pairs], here)


def _waiting(ctx: Context, requests: Value) -> Sequence[tuple[int, PostedMessage]]:
    """The requests that no wait has given yet, with their places in the list."""
    found = [(k, posted_by(ctx, one)) for k, one in enumerate(items_of(ctx, requests))]
    return [(k, one) for k, one in found if one is not None and one not in ctx.builder.mail.given]


def tell(ctx: Context, status: Value, message: PostedMessage) -> None:
    """Let a status say whom a message is of."""
    if message.run is not None:
        raise ctx.refuse("the status of a request of a collective", "leave it out: it says nothing", "SG121")
    if may_be_nobody(ctx, message.peer):
        raise ctx.refuse("the status of a request whose message may come from PROC_NULL, which only the run knows",
                         "put the receive under a condition", "SG121")
    if is_nobody(message.peer):
        tell_of_nobody(ctx, message.communicator, status, [] if message.buffer is None else [message.buffer.dtype])
        return
    recorded = next((record for one, record in ctx.builder.mail.recorded if one is message), None)
    if recorded is not None:
        show_status(ctx, status, recorded)
        return
    numbers = [source_of(ctx, message.communicator, message.peer), tag_of(message.tag)]
    place = message.buffer if message.brings is None else message.brings.view
    if place is not None:
        show_status(ctx, status, TransferRecord(numbers_of(ctx, message.communicator, numbers), place.dtype,
                                                size_of(place)))


COMPLETIONS: Mapping[str, Callable[..., Value]] = MappingProxyType({
    "Waitany": waitany, "waitany": waitany_object, "Waitsome": waitsome, "waitsome": waitsome_objects})
"""Methods of the class of requests."""
