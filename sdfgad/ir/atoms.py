"""What indices are made of besides symbols: operations of which nothing is known but their value."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from sdfgad.ir.index import Ix


@dataclass(frozen=True)
class FloorDiv:
    """`a // b`, rounding down as Python does."""

    parts: tuple[Ix, ...]

    def value(self, v: list[int], read: object) -> int:
        return v[0] // v[1]

    def __str__(self) -> str:
        return f"floor({self.parts[0]}, {self.parts[1]})"


@dataclass(frozen=True)
class Mod:
    """`a % b`, with the sign of `b` as in Python."""

    parts: tuple[Ix, ...]

    def value(self, v: list[int], read: object) -> int:
        return v[0] % v[1]

    def __str__(self) -> str:
        return f"mod({self.parts[0]}, {self.parts[1]})"


class Strayed(KeyError):
    """An index that data decide leaves its array: where a number is looked for ahead of a run, it is not known."""

    def __init__(self, index: int, extent: int) -> None:
        super().__init__(index, extent)
        self.index, self.extent = index, extent


@dataclass(frozen=True)
class Subscript(Mod):
    """`a` as an index into `b` elements, which the run looks at: beside them the call ends with an IndexError. To what
    comes before the run it is the remainder."""

    def value(self, v: list[int], read: object) -> int:
        beside = np.ravel((v[0] < -v[1]) | (v[0] >= v[1]))
        if beside.any():
            raise Strayed(int(np.broadcast_to(v[0], beside.shape)[beside][0]), int(np.max(v[1])))
        return v[0] % v[1]

    def __str__(self) -> str:
        return f"place({self.parts[0]}, {self.parts[1]})"


@dataclass(frozen=True)
class Min:
    """The smaller of two."""

    parts: tuple[Ix, ...]

    def value(self, v: list[int], read: object) -> int:
        return min(v)

    def __str__(self) -> str:
        return f"min({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Max:
    """The larger of two."""

    parts: tuple[Ix, ...]

    def value(self, v: list[int], read: object) -> int:
        return max(v)

    def __str__(self) -> str:
        return f"max({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Elem:
    """The current value of one element of an integer array."""

    array: str
    parts: tuple[Ix, ...]

    def value(self, v: list[int], read: Callable[[str, tuple[int, ...]], int] | None) -> int:
        if read is None:
            raise LookupError(f"no reader for {self}")
        return int(read(self.array, tuple(v)))

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(map(str, self.parts))}]"


Atom: TypeAlias = str | FloorDiv | Mod | Min | Max | Elem
