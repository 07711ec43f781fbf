"""Containers whose items go by keys that are known while translating, or counted by loops."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sdfgad.frontend.state.values import Compound, ListValue, Record, Value, ViewValue


@dataclass(eq=False)
class SetValue:
    """A set of constants, made in the region `depth`."""

    items: set[Value]
    depth: int
    described: ClassVar[str] = "a set"


@dataclass(eq=False)
class Numbered(Compound):
    """A list or dict, `given` at first, of which loops set items at places that they count. The first of its keys is
    `first`, with so many (`counts`) along each part of a key; their rows are as in `Grown`, and `there` says which of
    them hold items, None: all. settled: no loop may give it other rows any more."""

    rows: tuple[ViewValue, ...]
    form: Value
    given: ListValue | Record
    first: tuple[int, ...]
    counts: tuple[int, ...]
    there: ViewValue | None
    depth: int
    settled: bool = False
    described: ClassVar[str] = "a list or dictionary of which loops count the items"

    @property
    def held(self) -> tuple[Value, ...]:
        """What is in it, as far as the program has it."""
        return (*self.rows, self.there)

    @property
    def is_list(self) -> bool:
        return isinstance(self.given, ListValue)
