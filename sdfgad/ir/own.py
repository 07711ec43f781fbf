"""What an operation with a reverse rule of the user's carries: the rule as statements."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sdfgad.ir.program import Array, Block
from sdfgad.ir.text import lines

OWN, OWN_LINEAR = "own", "own_linear"
"""The operation `y = own(value, x..., read...)`, whose value is the first operand; and its linear part, of which only
the transpose is known."""


@dataclass(frozen=True, eq=False)
class ReverseRule:
    """`body` makes cotangents of the inputs, in the arrays `results` (None for zero), of the cotangent of the value.

    cotangent: the array it takes that in; read: arrays of the program that it reads, as they are at the operation;
    arrays: its own, with those of the cotangent and the results. name: of the function, for messages.
    """

    name: str
    body: Block
    cotangent: str
    results: tuple[str | None, ...]
    read: tuple[str, ...]
    arrays: Mapping[str, Array]

    def __str__(self) -> str:
        own = ", ".join(f"{a.name}: {a.dtype}{list(a.shape)}" for a in self.arrays.values())
        return f"{self.name} {self.cotangent} -> {self.results} ({own}) [" + "; ".join(lines(self.body)) + "]"
