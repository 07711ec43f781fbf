"""Requests of messages that are not waited for yet."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sdfgad.errors import SourceLine, unsupported
from sdfgad.frontend.values import ViewValue
from sdfgad.ir.program import View


@dataclass(eq=False)
class ObjectPlace:
    """Where a message in lower case arrives. find: makes room for it when it is waited for, as what it is may be known
    no sooner; None where it comes from nobody."""

    find: Callable[[], ViewValue | None]
    view: ViewValue | None = None

    def found(self) -> ViewValue | None:
        self.view = self.view or self.find()
        return self.view


@dataclass(frozen=True, eq=False)
class PostedMessage:
    """What `Isend`, `Irecv` or a collective that does not block gives: it goes when it is waited for. region: where it
    was posted. run: the collective, of which `buffer` is the place it fills. done: whether it is no request, but a
    receive that is done behind its call: what it brings may be read then, though it goes with others' wait. brings:
    what the wait gives, of a message in lower case, in place of `buffer`.

    peer, tag: integers known now, or at run time. None of what is sent or received may be touched in between, so the
    time at which it goes makes no difference.
    """

    communicator: Any
    buffer: ViewValue | None
    incoming: bool
    peer: Any
    tag: Any
    source: SourceLine | None
    region: tuple[int, ...]
    run: Callable[[], object] | None = None
    done: bool = False
    brings: ObjectPlace | None = None


@dataclass(frozen=True, eq=False)
class PersistentMessage:
    """What `Send_init` and `Recv_init` give: it is posted whenever it is started. Fields as of `PostedMessage`."""

    communicator: Any
    buffer: ViewValue
    incoming: bool
    peer: Any
    tag: Any


@dataclass(frozen=True, eq=False)
class MessageStatus:
    """What `MPI.Status()` gives: it says what the last receive with it has been told."""


@dataclass(frozen=True)
class Mail:
    """posted: requests not waited for, in order. gone: those that went with another one's wait, which nothing has been
    sent behind. given: those that a wait has given; due: those that went with one for some of several, and that none
    has given. made: calls that have made communicators so far. shown: what each status says, a record. persistent:
    messages that may be started; started: those that have been, each with its last request. collectives: so far, the
    handle of each communicator, and whether it is outside of all loops and branches. posting: whether the collectives
    are now those of requests."""

    posted: tuple[PostedMessage, ...] = ()
    gone: tuple[PostedMessage, ...] = ()
    given: tuple[PostedMessage, ...] = ()
    due: tuple[PostedMessage, ...] = ()
    made: tuple[object, ...] = ()
    shown: tuple[tuple[MessageStatus, View], ...] = ()
    persistent: tuple[PersistentMessage, ...] = ()
    started: tuple[tuple[PersistentMessage, PostedMessage], ...] = ()
    collectives: tuple[tuple[int, bool], ...] = ()
    posting: bool = False

    def check_waited(self) -> None:
        """Refuse a program that ends before its requests have gone."""
        for one in self.posted:
            raise unsupported(one.source, "a request that nothing waits for",
                              "call Wait, or MPI.Request.Waitall for several", "SG107")

    def late(self, touched: frozenset[str]) -> PostedMessage | None:
        """A receive that is done for the program, but has not gone, of something that a statement touches."""
        done = (m for m in self.posted if m.done and m.buffer is not None)
        return next((m for m in done if m.buffer is not None and m.buffer.view.array in touched), None)

    @property
    def awaited(self) -> frozenset[str]:
        """The containers into which something is to come, whatever has become of their names; and those of messages
        that may be started."""
        return frozenset((*(m.buffer.view.array for m in self.posted if m.incoming and m.buffer is not None),
                          *(m.buffer.view.array for m in self.persistent)))
