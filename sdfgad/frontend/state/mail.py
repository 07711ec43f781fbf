"""Requests of messages that are not waited for yet."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sdfgad.errors import SourceLine, UnsupportedError, unsupported
from sdfgad.frontend.state.values import ViewValue
from sdfgad.frontend.syntax.surroundings import Surroundings
from sdfgad.ranks import NOBODY_SAYS, IntegersNeeded, ObjectForm, ObjectWay, objects_sent, settled

Tried = TypeVar("Tried")


@dataclass(eq=False)
class ObjectPlace:
    """Where a message in lower case arrives, and in which form; nowhere if it comes from nobody. find: makes room for
    it when it is waited for, as what it is may be known no sooner."""

    view: ViewValue | None = None
    form: ObjectForm | None = None
    find: Callable[[], ObjectPlace] | None = None

    def found(self) -> ViewValue | None:
        if self.view is None and self.find is not None:
            place = self.find()
            self.view, self.form = place.view, place.form
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
    """posted: requests not waited for, in order. flying: those of them whose messages have been posted, as a collective
    has come behind them; arrivals: what their wait does. gone: those that went with another one's wait, which nothing
    has been sent behind. given: those that a wait has given; due: those that went with one for some of several, and
    that none has given. made: calls that have made communicators so far. shown: what each status says, a record.
    persistent: messages that may be started; started: those that have been, each with its last request. collectives: so
    far, the handle of each communicator, and whether it is outside of all loops and branches. posting: whether the
    collectives are now those of requests; group: the number of the wait they are for, beside messages, or that messages
    wait for while collectives go; placed: messages of the group so far. sent: what this rank says of messages in lower
    case; received: what it counts on; guessed: whether some of that is only like what this rank has. numbered: calls
    that are told apart by their order, each with the handle of its communicator. rooms: where messages arrive whose
    elements then go to several blocks, and these. recorded: messages whose wait has written down whom they are of, each
    with its record."""

    posted: tuple[PostedMessage, ...] = ()
    flying: tuple[PostedMessage, ...] = ()
    arrivals: tuple[Callable[[], None], ...] = ()
    placed: int = 0
    gone: tuple[PostedMessage, ...] = ()
    given: tuple[PostedMessage, ...] = ()
    due: tuple[PostedMessage, ...] = ()
    made: tuple[object, ...] = ()
    shown: tuple[tuple[MessageStatus, Any], ...] = ()
    persistent: tuple[PersistentMessage, ...] = ()
    started: tuple[tuple[PersistentMessage, PostedMessage], ...] = ()
    collectives: tuple[tuple[int, bool], ...] = ()
    posting: bool = False
    group: int = 0
    sent: tuple[tuple[ObjectWay, ObjectForm], ...] = ()
    received: tuple[tuple[ObjectWay, ObjectForm], ...] = ()
    numbered: tuple[tuple[str, int], ...] = ()
    rooms: tuple[tuple[ViewValue, tuple[ViewValue, ...]], ...] = ()
    guessed: bool = False
    recorded: tuple[tuple[PostedMessage, Any], ...] = ()

    def or_asked(self, again: Callable[[], Tried]) -> Tried:
        """What is tried after a refusal; where nothing is left, the others are asked for what has been guessed."""
        try:
            return again()
        except UnsupportedError:
            if self.guessed and not settled(2) and NOBODY_SAYS not in objects_sent():
                raise IntegersNeeded(self.sent) from None
            raise

    def delivered(self, surroundings: Surroundings) -> None:
        """The end of a program: what it says of messages counts. Refused if requests have not gone by then."""
        for one in self.posted:
            raise unsupported(one.source, "a request that nothing waits for",
                              "call Wait, or MPI.Request.Waitall for several", "SG107")
        surroundings.sent, surroundings.received = list(self.sent), list(self.received)

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
