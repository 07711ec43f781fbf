"""How much room lists have in programs where nobody knows before the call how long they become.

A call that fills one begins again, with a program that has more; later calls have it from the start.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from sdfgad.errors import SdfgadError
from sdfgad.thresholds import thresholds

Given = ParamSpec("Given")
Result = TypeVar("Result")
LARGE = 1 << 26
"""Bytes of a list, from which on room is given more carefully."""


class ListOutgrown(SdfgadError):
    """A list has more items than the program has room for. final: nobody may begin the call again."""

    default_code = "SG306"

    def __init__(self, place: str, room: int, item_bytes: int) -> None:
        super().__init__(f"a list outgrew its room of {room} items, in a loop of unknown length at {place}", help=(
            "call the function again, which has more room then; where that cannot be, give the loop a bound, "
            "for k in range(most): ... break"))
        self.place, self.room, self.item_bytes, self.final = place, room, item_bytes, False

    def __reduce__(self) -> tuple[Any, ...]:
        return ListOutgrown, (self.place, self.room, self.item_bytes)

    def make_room(self) -> None:
        """Let programs that are made from now on have more."""
        more = self.room * (2 if self.room * self.item_bytes > LARGE else 8)
        rooms()[self.place] = max(more, rooms().get(self.place, 0))


@functools.lru_cache(maxsize=1)
def rooms() -> dict[str, int]:
    """What has turned out to be needed, by the place in the source. It lives as long as the process."""
    return {}


def room_of(place: str, item_bytes: int) -> int:
    """The items that a list has room for."""
    return rooms().get(place) or max(min(thresholds().list_room, LARGE // max(item_bytes, 1)), 1)


def begun_again(fn: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, whose calls begin again as often as a list needs more room than it had."""

    @functools.wraps(fn)
    def door(*args: Given.args, **keywords: Given.kwargs) -> Result:
        __tracebackhide__ = True
        full: set[tuple[str, int]] = set()
        while True:
            try:
                return fn(*args, **keywords)
            except ListOutgrown as found:
                found.make_room()
                if found.final or (found.place, found.room) in full:  # of a program that is not made anew
                    raise
                full.add((found.place, found.room))

    return door
