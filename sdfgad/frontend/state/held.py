"""Integers that arrays hold, as far as stores of places and copies show them."""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import TypeAlias

import numpy as np

from sdfgad.frontend.state.bounds import UNKNOWN, KnownBounds
from sdfgad.frontend.state.exact import ExactIntegers, Pair
from sdfgad.frontend.state.module_names import GlobalName, ModuleNames
from sdfgad.ir.expr import Const, Expr, Index, Load
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import Array, Range

Part: TypeAlias = tuple[int | None, ...]
"""Numbers for the dimensions of which it has one place, None for those it has as a whole."""
_MOST_PARTS = 8
_Known: TypeAlias = tuple[Mapping[str, Mapping[Part, Bounds]], Mapping[str, Bounds], Mapping[str, Pair],
                          Mapping[tuple[int, str], GlobalName]]


class HeldIntegers:
    """The least and the largest integer that arrays have been given so far, part by part. Nothing is known of an array
    of which elements may never have been stored. exact: what small ones hold now; modules: what names of modules
    do. kinds: of constants that tell it."""

    def __init__(self, scope: KnownBounds, constants: Mapping[str, np.ndarray], kinds: str = "iu") -> None:
        self._scope = scope
        self.exact = ExactIntegers(constants, frozenset(kinds))
        self.modules = ModuleNames()
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._parts: dict[str, Mapping[Part, Bounds]] = {}
        self._others: dict[str, Bounds] = {}

    def made(self, array: Array) -> None:
        """The array is new."""
        self.exact.made(array)
        self._parts[array.name] = {}
        self._shapes[array.name] = array.shape
        self._others.pop(array.name, None)
        if array.role != "transient":
            self.lost(array.name)

    def lost(self, array: str) -> None:
        """Anything may have been stored in it."""
        self._others[array] = UNKNOWN

    def stored(self, array: str, index: Sequence[Ix], e: Expr | None, domain: Sequence[Range], always: bool) -> None:
        """`array[index] = e` over a domain. always: whatever way the program has taken since the array was made."""
        if array not in self._shapes:
            return  # of another program: nothing is known of it
        numbers = UNKNOWN if e is None else self._of(e, domain)
        part = _part(index, domain, self._shapes[array]) if always else None
        parts = self._parts.get(array, {})
        if part is not None and (part in parts or len(parts) < _MOST_PARTS and not any(_meet(part, p) for p in parts)):
            self._parts[array] = {**parts, part: _around(parts.get(part, numbers), numbers)}
        else:
            self._others[array] = _around(self._others.get(array, numbers), numbers)

    def state(self) -> _Known:
        """What is known now, to come back to when a trial fails."""
        return dict(self._parts), dict(self._others), dict(self.exact.held), self.modules.assigned

    def back(self, state: _Known, constants: Mapping[str, np.ndarray]) -> None:
        """Forget what a trial has stored."""
        self._parts, self._others, self.exact.held = dict(state[0]), dict(state[1]), dict(state[2])
        self.exact.constants, self.modules.assigned = constants, state[3]

    @contextmanager
    def inside(self) -> Iterator[None]:
        """A loop, or a branch that data choose."""
        with self.exact.inside(), self.modules.inside():
            yield

    def bounds(self, array: str, place: Sequence[Ix]) -> Bounds:
        """What the elements at such places lie between: all where an index is not a number."""
        shape, parts = self._shapes.get(array, ()), self._parts.get(array, {})
        count = sum(math.prod(n for n, k in zip(shape, part, strict=True) if k is None) for part in parts)
        if not parts or count < math.prod(shape):
            return UNKNOWN
        here = tuple(i.const for i in place)
        found = [b for part, b in parts.items() if _meet(part, here)]
        others = [self._others[array]] if array in self._others else []
        return reduce(_around, (*found, *others)) if found else UNKNOWN

    def _of(self, e: Expr, domain: Sequence[Range]) -> Bounds:
        """What an expression lies between over a domain."""
        if isinstance(e, Index) and not e.ix.elems:
            return self._scope.bounds(e.ix, domain)
        if isinstance(e, Load):
            return self.bounds(e.array, e.index)
        number = e.value if isinstance(e, Const) else None
        return (int(number), int(number)) if isinstance(number, (int, np.integer)) else UNKNOWN


def _around(a: Bounds, b: Bounds) -> Bounds:
    return (None if a[0] is None or b[0] is None else min(a[0], b[0]),
            None if a[1] is None or b[1] is None else max(a[1], b[1]))


def _meet(a: Part, b: Part) -> bool:
    return all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def _part(index: Sequence[Ix], domain: Sequence[Range], shape: Sequence[int]) -> Part | None:
    rest = {ix(r.var): r for r in domain}
    part: list[int | None] = []
    for place, extent in zip(index, shape, strict=True):
        r = rest.pop(place, None)
        whole = r is not None and (r.start.const, r.stop.const, r.step) == (0, extent, 1)
        if not whole and (r is not None or place.const is None):
            return None
        part.append(None if extent == 1 and place.const == 0 else place.const)
    return tuple(part)
