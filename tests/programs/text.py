"""The text of a random program while it is written."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

N = 5
"""Elements of a vector of a small program."""
T = TypeVar("T")
HEAD = '''import numpy as np


def blend(u, w, rate=0.3):
    return rate * u + (1.0 - rate) * np.tanh(w)


def smear(u):
    u[1:] = u[1:] + 0.2 * u[:-1] * u[1:]


def split(u):
    m = u.mean()
    return u - m, m


def pick(a, b):
    if a > b:
        return a * b
    return b - 0.5 * a


'''
LOOP_NAMES = ("i", "j", "k", "t", "h", "z1", "border", "counter", "row", "d0", "_0", "e1", "c0", "it", "n", "column",
              "here", "strip", "block", "kept", "m0", "w1", "p2", "cell0", "i_part", "t_round", "k_slot", "j_again",
              "I", "step")


def slices(n: int) -> tuple[tuple[int, int | None, int], ...]:
    """Slices of n elements, in all directions."""
    return ((0, n, 1), (1, n - 1, 1), (0, n - 1, 1), (1, n, 1), (0, n, 2), (1, n, 2), (n - 1, 0, -1), (n - 2, 0, -2),
            (2, n - 2, 1), (n - 1, None, -1))


@dataclass
class Text:
    """The program so far: lines, and the names in scope by kind. `loops`: loop variables with their bounds.

    number: any of the integers from one to another, both included. simple: what writes a statement that is no region,
    as often as it is listed, and nested what writes one. deepest: regions in regions. size: elements of a vector.
    parameters: of the program. taken: names that no loop variable gets. ends: what is added to the value.
    """

    number: Callable[[int, int], int]
    simple: Sequence[Callable[[Text], None]]
    nested: Sequence[Callable[[Text], None]]
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    vectors: list[str] = field(default_factory=lambda: ["x", "y"])
    matrices: list[str] = field(default_factory=lambda: ["A"])
    scalars: list[str] = field(default_factory=lambda: ["c"])
    integers: list[str] = field(default_factory=list)
    loops: list[tuple[str, int, int]] = field(default_factory=list)
    count: int = 0
    nesting: int = 0
    size: int = N
    parameters: Sequence[str] = ("x", "y", "A", "c", "ind")
    deepest: int = 3
    taken: Sequence[str] = ()
    head: str = HEAD
    ends: Sequence[str] = ()

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def any_of(self, options: Sequence[T]) -> T:
        return options[self.number(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        return self.number(0, 99) >= 100 - percent

    def fresh(self, stem: str) -> str:
        self.count += 1
        name = f"{stem}{self.count}"
        return self.fresh(stem) if name in LOOP_NAMES else name

    def loop_name(self) -> str:
        """Of a loop variable: any that a user may have thought of, those that passes like among them."""
        used = {*self.taken, *(name for name, _, _ in self.loops)}
        return self.any_of([name for name in (self.fresh("i"), *LOOP_NAMES) if name not in used])

    @contextmanager
    def block(self, head: str) -> Any:
        """An indented block; names made inside are not visible after it."""
        self.line(head)
        saved = [list(names) for names in (self.vectors, self.matrices, self.scalars, self.integers, self.loops)]
        self.depth += 1
        self.nesting += 1
        yield
        self.depth -= 1
        self.nesting -= 1
        self.vectors, self.matrices, self.scalars, self.integers, self.loops = saved
