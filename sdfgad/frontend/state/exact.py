"""Arrays of few integers that are known while translating, element by element: sizes and places come from them.

    counts = np.full(size, n // size) ; counts[:n % size] += 1      counts is [3, 3, 2] from here on

What is made of known integers is run as it is written down, twice: what elements hold that nothing has been stored in
is another number each time, and what comes out alike is known.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from sdfgad.ir import interpret
from sdfgad.ir.expr import Expr
from sdfgad.ir.program import Array, If, Loop, Map, Range, Stmt, View
from sdfgad.ir.walk import children, expr_reads, own_ranges, within

_MOST = 256
"""Elements of an array that is followed: counts and places of ranks, and no data."""
_LONGEST = 2048
"""Points of loops and maps that are run."""
_KINDS = frozenset("iub")
_FILLS = (0, 77)

World = dict[str, np.ndarray]
Pair = tuple[np.ndarray, np.ndarray]
Block = tuple[int, ...]


@dataclass
class ExactIntegers:
    """What arrays hold at this point of the program, in both worlds. constants: arrays that nothing writes. begun: what
    each held when it was made. of_constants: kinds of constants that may be looked at; looked_at: those that were."""

    constants: Mapping[str, np.ndarray]
    of_constants: frozenset[str] = frozenset("iu")
    held: dict[str, Pair] = field(default_factory=dict)
    looked_at: set[str] = field(default_factory=set)
    begun: dict[str, Pair] = field(default_factory=dict)

    def made(self, array: Array) -> None:
        """The array is new."""
        self.held.pop(array.name, None)
        self.begun.pop(array.name, None)
        if array.role == "transient" and array.dtype.kind in _KINDS and 0 < math.prod(array.shape) <= _MOST:
            one, other = (np.full(array.shape, fill).astype(array.dtype) for fill in _FILLS)
            self.begun[array.name] = self.held[array.name] = one, other

    def emitted(self, stmt: Stmt, born: Mapping[str, Block], here: Block) -> None:
        """A statement has been written down. born: the block in which each array was made; here: the one it is in.
        Whatever way the program has taken since an array of this block was made, it comes by here; what arrays of
        blocks around it hold may be another number in each iteration."""
        if self.held:
            self._follow(stmt, born, here)
        if self.begun and children(stmt):  # what was made inside holds behind it what its last iteration has left
            self.begun = {n: pair for n, pair in self.begun.items() if len(born.get(n, ())) <= len(here)}

    def _follow(self, stmt: Stmt, born: Mapping[str, Block], here: Block) -> None:
        written, names = within(stmt)[1] & self.held.keys(), frozenset().union(*within(stmt))
        inner = {n for n in names if len(born.get(n, ())) > len(here)}
        own = all(n in self.constants or born.get(n) == here for n in names - inner)
        behind = self._run(stmt, inner) if written and own else None
        for name in written:
            if behind is None:
                del self.held[name]
            else:
                self.held[name] = behind[0][name], behind[1][name]

    def learn(self, view: View, values: np.ndarray, before: Pair) -> None:
        """A part of an array holds these numbers now, as a message has brought them; the rest what it held before."""
        one, other = (a.copy() for a in before)
        for world in (one, other):
            interpret.put(view, values.astype(world.dtype), {view.array: world})
        self.held[view.array] = one, other

    @contextmanager
    def inside(self) -> Iterator[None]:
        """What is stored in a block is known behind it once the loop or branch it belongs to is written down."""
        before = dict(self.held)
        try:
            yield
        finally:
            self.held = before

    def number(self, e: Expr) -> int | None:
        """What an expression is; None if that is not known."""
        worlds = self._worlds(expr_reads(e)) if e.dtype.kind in _KINDS else None
        if worlds is None:
            return None
        try:
            one, other = (interpret.number(e, world) for world in worlds)
        except _OF_THE_RUN:
            return None
        return int(one) if one == other else None

    def _run(self, stmt: Stmt, inner: Set[str]) -> tuple[World, World] | None:
        """What arrays hold behind a statement, which makes the inner ones; None if that cannot be known, or takes
        long."""
        worlds = self._worlds(set().union(*within(stmt)), inner) if 0 < _points(stmt) <= _LONGEST else None
        if worlds is None:
            return None
        try:
            for world in worlds:
                interpret.execute((stmt,), world)
        except _OF_THE_RUN:
            return None
        return worlds

    def _worlds(self, names: Iterable[str], inner: Set[str] = frozenset()) -> tuple[World, World] | None:
        """Copies of what these arrays hold, new ones for those that are made inside; None if one is not known."""
        found: tuple[World, World] = {}, {}
        for name in names:
            if (data := self.constants.get(name)) is not None:
                if data.dtype.kind not in self.of_constants:
                    return None
                self.looked_at.add(name)
                found[0][name] = found[1][name] = data  # nothing writes it
                continue
            known = (self.begun if name in inner else self.held).get(name)
            if known is None or known[0].dtype.kind not in _KINDS:
                return None
            for world, values in zip(found, known, strict=True):
                world[name] = values.copy()
        return found


_OF_THE_RUN = (ArithmeticError, LookupError, ValueError, TypeError, AssertionError)
"""What statements raise that read what is not known: loop variables, or places outside of arrays."""


def _points(stmt: Stmt) -> int:
    """How often the innermost body of a statement runs; more than is run where that is not known."""
    if not isinstance(stmt, (Map, Loop, If)):
        return _LONGEST + 1
    own = math.prod(_trips(r) for r in own_ranges(stmt))
    inner = [_points(s) for block in children(stmt) for s in block]
    return own * (sum(inner) if inner else 1)


def _trips(r: Range) -> int:
    return _LONGEST + 1 if r.trips is None else r.trips
