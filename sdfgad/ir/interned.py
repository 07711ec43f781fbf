"""One object for each content (hash consing; Ershov: On programming of arithmetic operations, CACM 1958).

Equal objects are the same object, so that to compare and to look up never goes down a tree, and what has been found out
about one is known wherever it stands. Nobody is kept alive by that.
"""
from __future__ import annotations

from typing import Any
from weakref import ref

from sdfgad.locks import INTERNED


class _Kept(ref[Any]):
    """A weak reference that knows its place in a table."""

    __slots__ = ("key",)
    key: Any


class Table:
    """The living objects of a class, by their content."""

    def __init__(self) -> None:
        self._kept: dict[Any, _Kept] = {}
        # An object may die, and be taken out, while its thread puts another one in, and after the names of this module.
        self._lock = INTERNED

    def get(self, key: Any) -> Any:
        """The object of this content, or None."""
        found = self._kept.get(key)
        return None if found is None else found()

    def add(self, key: Any, made: Any) -> Any:
        """The object of this content: `made`, if no other thread was faster."""
        with self._lock:
            other = self.get(key)
            if other is not None:
                return other
            kept = _Kept(made, self._forget)
            kept.key = key
            self._kept[key] = kept
            return made

    def _forget(self, dead: _Kept) -> None:
        with self._lock:
            if self._kept.get(dead.key) is dead:
                del self._kept[dead.key]

    def __len__(self) -> int:
        return len(self._kept)
