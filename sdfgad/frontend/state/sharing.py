"""Copies that stand in for arrays: where NumPy would share one array under two names, the program holds two.

A name that has different arrays on different paths (or iterations) gets a container of its own, a copy. As long as
neither the copy nor the array it was made from is updated, nobody can tell. An update of the copy is refused; an update
of the origin makes the copy stale, and reading it is refused.

The real part of a complex array is a view in NumPy and a container of its own here. Such *twins* may be updated: what
is updated is right, the others are stale.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from sdfgad.errors import SourceLine, UnsupportedError

Links: TypeAlias = Mapping[str, frozenset[str]]
IN_LIST = "%list"  # an origin of every container that holds items of a list
NAMED = "%named"  # an origin of every container of a list to which an array with another name has been appended
READ_ONLY = "%read-only"  # an origin of every container that NumPy may have as a view that nobody writes
READ_ONLY_HELP = "update a copy of it, or the array it is a view of"


@dataclass(frozen=True)
class SharedPlaces:
    """What is known at one point: `links` maps a copy to its origins, `twins`, both ways, what NumPy holds in one
    memory; `stale` are copies whose origin, or twin, has changed."""

    links: Links = field(default_factory=lambda: MappingProxyType({}))
    stale: frozenset[str] = frozenset()
    twins: Links = field(default_factory=lambda: MappingProxyType({}))

    def copied(self, copy: str, origins: Iterable[str], stale: bool) -> SharedPlaces:
        """`copy` has just been filled from `origins` (those that can be told from it)."""
        links = dict(self.links)
        links.pop(copy, None)
        found = frozenset(origins) - {copy}
        if found:
            links[copy] = found
        twins = {c: t - {copy} for c, t in self.twins.items() if c != copy} if copy in self.twins else self.twins
        return SharedPlaces(links, self.stale | {copy} if stale else self.stale - {copy}, twins)

    def twinned(self, part: str, origins: Iterable[str]) -> SharedPlaces:
        """`part` has just been filled with what NumPy would show as a view of `origins`."""
        group = frozenset({part}).union(*({o, *self.twins.get(o, ())} for o in origins))
        twins = {m: self.twins.get(m, frozenset()) | group - {m} for m in group}
        stale = self.stale | {part} if self.stale & group else self.stale
        return SharedPlaces(self.links, stale, {**self.twins, **twins})

    def relatives(self, array: str) -> frozenset[str]:
        """What may be told from a container that `array` is copied to, besides `array`."""
        return self.links.get(array, frozenset()) | self.twins.get(array, frozenset())

    def fixed(self, array: str) -> bool:
        """Whether an update of `array` would be one of a copy that stands for something else."""
        return any(self.links.get(a, frozenset()) - {IN_LIST} for a in (array, *self.twins.get(array, ())))

    def written(self, array: str) -> SharedPlaces:
        """`array` has been updated in place."""
        same = {array, *self.twins.get(array, ())}
        old = {copy for copy, origins in self.links.items() if not same.isdisjoint(origins)}
        old |= {twin for copy in old for twin in self.twins.get(copy, ())} | same - {array}
        return SharedPlaces(self.links, self.stale | old, self.twins) if old else self

    def rebound(self, array: str) -> SharedPlaces:
        """The data of `array`, which nothing but copies in lists still knows, is about to be replaced."""
        links = {c: o - {array} if IN_LIST in o else o for c, o in self.links.items()}
        return SharedPlaces(links, self.stale, self.twins)

    def listed(self, array: str) -> frozenset[str]:
        """The containers of lists that hold `array`: what is a copy of it, is one of theirs."""
        return frozenset(c for c, origins in self.links.items() if IN_LIST in origins and array in origins)

    def in_list(self, array: str) -> bool:
        """Whether `array` holds items of a list, or is a copy of one."""
        origins = self.links.get(array, frozenset())
        return any(IN_LIST in self.links.get(o, ()) for o in {array, *origins})

    def read_only(self, array: str) -> bool:
        """Whether NumPy may have `array` as a view that nobody writes."""
        return READ_ONLY in self.links.get(array, frozenset())

    def joined(self, other: SharedPlaces) -> SharedPlaces:
        """After two paths that meet."""
        return SharedPlaces(_union(self.links, other.links), self.stale | other.stale, _union(self.twins, other.twins))

    def within(self, other: SharedPlaces) -> bool:
        """Whether the other point already allows for everything known here."""
        return (self.stale <= other.stale and _inside(self.links, other.links)
                and _inside(self.twins, other.twins))

    def only(self, arrays: Iterable[str]) -> SharedPlaces:
        """What concerns these containers."""
        kept = {*arrays, READ_ONLY, NAMED}
        return SharedPlaces(_between(self.links, kept), self.stale & kept, _between(self.twins, kept))


def _union(a: Links, b: Links) -> Links:
    none: frozenset[str] = frozenset()
    return {c: a.get(c, none) | b.get(c, none) for c in {*a, *b}} if a and b else a or b


def _inside(a: Links, b: Links) -> bool:
    return all(found <= b.get(c, frozenset()) for c, found in a.items())


def _between(links: Links, kept: set[str]) -> Links:
    return {c: found & kept for c, found in links.items() if c in kept and found & kept}


class SharingRefusal(UnsupportedError):
    """A refusal because one name stands for different arrays depending on the path or the iteration."""


def refuse_sharing(source: SourceLine | None, what: str, help: str) -> SharingRefusal:
    """The refusal of an update or a read that would tell a copy from its origin."""
    return SharingRefusal(what, source=source, help=help, code="SG107")


def refuse_stale(source: SourceLine | None, shared: SharedPlaces, array: str, what: str) -> SharingRefusal:
    """The refusal of a read of a container that is not up to date."""
    if shared.in_list(array):
        return refuse_sharing(source, "a list that holds an array which has been updated in place since",
                              "append a copy: name.append(value.copy())")
    if array in shared.twins:
        return refuse_sharing(source, f"{what}, which shares memory with another array, after one of them was updated",
                              "update and read one of them only: z.real.copy(), a.ravel().copy()")
    return refuse_sharing(source, f"{what}, one of several arrays depending on the path, after one of them was updated",
                          "copy the array before the branch")
