"""Blocks of a long program that differ in names and in places of the arena alone: one function does for all of them.

Unrolled stages and helpers that are called again leave the same loops many times, over other arrays.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Set
from hashlib import blake2b

PLACE = "sg_place"
_PLACE = re.compile(r"(?<=sg_arena\.at<)([\w:]+)>\((\d+)\)")
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_INDENT = re.compile(r"^ +", re.MULTILINE)


class Repeats:
    """Which blocks of a program come more than once. names: what is declared in it."""

    def __init__(self, blocks: Iterable[str], names: Set[str]) -> None:
        self.names = names
        self._times = Counter(self.form(placed(block)[0]) for block in blocks)

    def often(self, block: str) -> bool:
        return self._times[self.form(placed(block)[0])] > 1

    def form(self, text: str) -> str:
        """The same for texts that are equal but for their names, each of which stands where the other has its own."""
        order: dict[str, str] = {}
        found = _NAME.sub(lambda name: self._numbered(name[0], order), _INDENT.sub("", text))
        return blake2b(found.encode(), digest_size=16).hexdigest()

    def _numbered(self, name: str, order: dict[str, str]) -> str:
        # No name of a program has a dollar.
        return order.setdefault(name, f"${len(order)}") if name in self.names else name


def placed(text: str) -> tuple[str, list[str]]:
    """The text with parameters for the places in the arena that it names, and these places in the order of them."""
    places: dict[str, int] = {}
    found = _PLACE.sub(lambda at: f"{at[1]}>({PLACE}_{places.setdefault(at[2], len(places))})", text)
    return found, list(places)
