"""Copies that stand in for arrays: where NumPy would share one array under two names, the program holds two.

A name that has different arrays on different paths (or iterations) gets a container of its own, a copy. As long as
neither the copy nor the array it was made from is updated, nobody can tell. An update of the copy is refused; an update
of the origin makes the copy stale, and reading it is refused.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from sdfgad.errors import SourceLine, UnsupportedError

Links: TypeAlias = Mapping[str, frozenset[str]]
IN_LIST = "%list"  # an origin of every container that holds items of a list


@dataclass(frozen=True)
class Shared:
    """What is known at one point: `links` maps a copy to its origins, `stale` are copies whose origin has changed."""

    links: Links = field(default_factory=lambda: MappingProxyType({}))
    stale: frozenset[str] = frozenset()

    def copied(self, copy: str, origins: Iterable[str], stale: bool) -> Shared:
        """`copy` has just been filled from `origins` (those that can be told from it)."""
        links = dict(self.links)
        links.pop(copy, None)
        found = frozenset(origins) - {copy}
        if found:
            links[copy] = found
        return Shared(links, self.stale | {copy} if stale else self.stale - {copy})

    def written(self, array: str) -> Shared:
        """`array` has been updated in place."""
        old = {copy for copy, origins in self.links.items() if array in origins}
        return Shared(self.links, self.stale | old) if old else self

    def rebound(self, array: str) -> Shared:
        """The data of `array`, which nothing but copies in lists still knows, is about to be replaced."""
        return Shared({c: o - {array} if IN_LIST in o else o for c, o in self.links.items()}, self.stale)

    def listed(self, array: str) -> frozenset[str]:
        """The containers of lists that hold `array`: what is a copy of it, is one of theirs."""
        return frozenset(c for c, origins in self.links.items() if IN_LIST in origins and array in origins)

    def in_list(self, array: str) -> bool:
        """Whether `array` holds items of a list, or is a copy of one."""
        origins = self.links.get(array, frozenset())
        return any(IN_LIST in self.links.get(o, ()) for o in {array, *origins})

    def joined(self, other: Shared) -> Shared:
        """After two paths that meet."""
        none: frozenset[str] = frozenset()
        links = {c: self.links.get(c, none) | other.links.get(c, none) for c in {*self.links, *other.links}}
        return Shared(links, self.stale | other.stale)

    def within(self, other: Shared) -> bool:
        """Whether the other point already allows for everything known here."""
        return self.stale <= other.stale and all(o <= other.links.get(c, frozenset()) for c, o in self.links.items())

    def only(self, arrays: Iterable[str]) -> Shared:
        """What concerns these containers."""
        kept = set(arrays)
        return Shared({c: o & kept for c, o in self.links.items() if c in kept and o & kept}, self.stale & kept)


class SharingRefusal(UnsupportedError):
    """A refusal because one name stands for different arrays depending on the path or the iteration."""


def refuse_sharing(source: SourceLine | None, what: str, help: str) -> SharingRefusal:
    """The refusal of an update or a read that would tell a copy from its origin."""
    return SharingRefusal(what, source=source, help=help, code="SG107")
