"""What operations with derivatives of their own carry: routines, no part of the program until they are put in."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sdfgad.ir.program import Array, Block, Lib
from sdfgad.ir.text import lines
from sdfgad.ir.walk import statements

OWN, OWN_LINEAR = "own", "own_linear"
"""The operation `y = own(value, x..., read...)`, whose value is the first operand, with the derivatives by x that its
`DerivativeRule` says; and its linear part, which the routines of the rule and nothing else know."""
PUSHED, PULLED = "pushed", "pulled"
"""`t_y = pushed(t_x..., x..., read...)` and `c_x... = pulled(c_y, x..., read...)`: the derivative of the routine in the
attribute `of`, and its adjoint, at x, by those of its operands that `by` numbers. They are written out at once
(`reverse/written_out.py`): no other part ever sees one."""


@dataclass(frozen=True, eq=False)
class Routine:
    """Statements that take arrays and make others, None for zero.

    arrays: its own, among them those it takes and gives, by the names that the statements use. read: the arrays of the
    program that it reads, as they are at the operation.
    """

    body: Block
    takes: tuple[str, ...]
    gives: tuple[str | None, ...]
    read: tuple[str, ...]
    arrays: Mapping[str, Array]

    def __str__(self) -> str:
        own = ", ".join(f"{a.name}: {a.dtype}{list(a.shape)}" for a in self.arrays.values())
        return f"{self.takes} -> {self.gives} ({own}) [" + "; ".join(lines(self.body)) + "]"


@dataclass(frozen=True, eq=False)
class DerivativeRule:
    """The derivatives of an operation: `reverse` makes cotangents of the inputs from one of the value, `forward` a
    tangent of the value from those of the inputs; None where nobody has said it.

    count: of the inputs, the operands behind the value. active: numbers of those that have a derivative. read: names in
    the routines of the operands behind the inputs; answer: the name of the value of the operation, if they look at it.
    name: of the function, for messages.
    """

    name: str
    count: int
    read: tuple[str, ...]
    reverse: Routine | None = None
    forward: Routine | None = None
    answer: str | None = None

    @property
    def routines(self) -> tuple[Routine, ...]:
        return tuple(r for r in (self.reverse, self.forward) if r is not None)

    @property
    def active(self) -> tuple[int, ...]:
        """Numbers of the inputs that have a derivative."""
        gives = self.reverse.gives if self.reverse is not None and self.forward is None else [""] * self.count
        return tuple(k for k, name in enumerate(gives) if name is not None)

    def __str__(self) -> str:
        return f"{self.name} {self.read} {self.answer} " + " ".join(map(str, (self.reverse, self.forward)))


def has_routines(block: Block) -> bool:
    """Whether a statement is an operation with a derivative of its own, or such a derivative."""
    return any(isinstance(s, Lib) and s.op in (OWN, PUSHED, PULLED) for s in statements(block))
