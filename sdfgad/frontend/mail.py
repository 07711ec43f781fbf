"""Requests of messages that are not waited for yet."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sdfgad.errors import SourceLine
from sdfgad.frontend.values import ViewValue
from sdfgad.ir.program import View


@dataclass(frozen=True, eq=False)
class PostedMessage:
    """What `Isend`, `Irecv` or a collective that does not block gives: it goes when it is waited for. region: where it
    was posted. run: the collective, of which `buffer` is the place it fills.

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


@dataclass(frozen=True, eq=False)
class MessageStatus:
    """What `MPI.Status()` gives: it says what the last receive with it has been told."""


@dataclass(frozen=True)
class Mail:
    """posted: requests not waited for, in order. gone: those that went with another one's wait, which nothing has been
    sent behind. made: calls that have made communicators so far. shown: what each status says, a record."""

    posted: tuple[PostedMessage, ...] = ()
    gone: tuple[PostedMessage, ...] = ()
    made: tuple[object, ...] = ()
    shown: tuple[tuple[MessageStatus, View], ...] = ()

    @property
    def awaited(self) -> frozenset[str]:
        """The containers into which something is to come, whatever has become of their names."""
        return frozenset(m.buffer.view.array for m in self.posted if m.incoming and m.buffer is not None)
