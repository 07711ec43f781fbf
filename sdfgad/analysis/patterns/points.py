"""The points that a statement runs over, and the values of indices at all of them at once. None: nobody knows."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from sdfgad.ir.index import Atom, Elem, FloorDiv, Ix, Max, Min, Mod, Subscript
from sdfgad.ir.layout import axis
from sdfgad.ir.program import Range

Numbers: TypeAlias = int | np.ndarray
Reader: TypeAlias = Callable[[str, tuple[Numbers, ...]], Numbers | None]
"""Elements of an integer array, if they are known."""

_OPERATIONS: Mapping[type, Callable[[Numbers, Numbers], Numbers]] = MappingProxyType(
    {FloorDiv: np.floor_divide, Mod: np.remainder, Subscript: np.remainder, Min: np.minimum, Max: np.maximum})


@dataclass(frozen=True)
class Instances:
    """So many points; what each variable is at them, or everywhere."""

    count: int
    symbols: Mapping[str, Numbers]
    read: Reader

    def value(self, i: Ix) -> Numbers | None:
        """An index at all points."""
        total: Numbers = 0
        for monomial, factor in i.terms:
            term: Numbers = factor
            for atom in monomial:
                known = self._atom(atom)
                if known is None:
                    return None
                term = term * known
            total = total + term
        return total

    def _atom(self, atom: Atom) -> Numbers | None:
        if isinstance(atom, str):
            return self.symbols.get(atom)
        parts = [self.value(p) for p in atom.parts]
        known = tuple(p for p in parts if p is not None)
        if len(known) < len(parts):
            return None
        if isinstance(atom, Elem):
            return self.read(atom.array, known)
        with np.errstate(divide="ignore"):
            return _OPERATIONS[type(atom)](*known)

    def over(self, domain: Sequence[Range]) -> Instances | None:
        """All points of a domain, for each of these; ranges may depend on earlier ones."""
        here = self
        for r in domain:
            start, stop = here.value(r.start), here.value(r.stop)
            if start is None or stop is None:
                return None
            here = here._along(r, start, stop)
        return here

    def _along(self, r: Range, start: Numbers, stop: Numbers) -> Instances:
        trips = np.broadcast_to(np.maximum(0, -((np.asarray(start) - stop) // r.step)), self.count)
        first = np.repeat(np.cumsum(trips) - trips, trips)
        step = np.arange(first.size) - first
        symbols = {n: np.repeat(v, trips) if isinstance(v, np.ndarray) and v.ndim else v
                   for n, v in self.symbols.items()}
        symbols[r.var] = np.repeat(np.broadcast_to(start, self.count), trips) + r.step * step
        return Instances(first.size, symbols, self.read)

    def elements(self, index: Sequence[Ix], shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray] | None:
        """The number in memory order of the element that an index names, at each point; and where it is one: what only
        one branch of a choice reads may lie outside."""
        number: np.ndarray = np.zeros(self.count, np.int64)
        inside: np.ndarray = np.ones(self.count, bool)
        for i, extent in zip(index, shape, strict=True):
            value = self.value(i)
            if value is None:
                return None
            inside &= (np.asarray(value) >= 0) & (np.asarray(value) < extent)
            number = number * extent + value
        return number, inside


def everywhere(shape: Sequence[Ix], points: Instances) -> Instances | None:
    """The positions of a view of this shape, at one point, by its placeholder symbols."""
    return points.over([Range(axis(k), Ix(()), n) for k, n in enumerate(shape)])
