"""Indices that leave their arrays. NumPy raises IndexError; compiled code must not read what lies beside an array.

While a function is translated, every index that is not proven to stay inside is noted with the loops around it, unless
a branch decides whether it is used at all. Those that depend on loop variables alone are judged when the translation
ends, those that depend on integer arguments at every call.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from types import MappingProxyType

import numpy as np

from sdfgad.errors import OutOfBoundsError, SourceLine
from sdfgad.ir.index import Atom, Elem, FloorDiv, Ix, Max, Min, Mod, Subscript, ix
from sdfgad.ir.program import Range

MOST_LOOPS = 6
"""Deeper nests are not noted: their corners are 2 to this power."""
MOST_POINTS = 1 << 20
_ELEMENT = "element"
_OPERATIONS: Mapping[type, Callable[..., np.ndarray]] = MappingProxyType({
    Mod: np.remainder, Subscript: np.remainder, FloorDiv: np.floor_divide, Min: lambda *v: reduce(np.minimum, v),
    Max: lambda *v: reduce(np.maximum, v)})


@dataclass(frozen=True)
class IndexedAccess:
    """`index` into `extent` elements at every point of `domain`, outer ranges first; negative ones count from the
    end, unless wraps is false."""

    index: Ix
    extent: int
    domain: tuple[Range, ...]
    source: SourceLine | None
    wraps: bool = True

    @property
    def least(self) -> int:
        """The first index that there is."""
        return -self.extent if self.wraps else 0

    @cached_property
    def arrays(self) -> frozenset[str]:
        """Integer arrays the index and the ranges read."""
        parts = (self.index, *(i for r in self.domain for i in (r.start, r.stop)))
        return frozenset(e.array for i in parts for e in i.elems)

    @cached_property
    def element(self) -> tuple[str, int, int] | None:
        """`(array, factor, offset)` of an index that is a multiple of one element and a number, else None."""
        elems = {a for a in self.index.atoms if isinstance(a, Elem)}
        plain = self.index.rebuild(lambda a: ix(_ELEMENT) if isinstance(a, Elem) else None).affine
        if len(elems) != 1 or plain is None or plain[0].keys() != {_ELEMENT}:
            return None
        return elems.pop().array, plain[0][_ELEMENT], plain[1]

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """OutOfBoundsError if the index is known to leave the array somewhere; `arrays` by name of container."""
        if not self.arrays:
            values: Iterable[int] = _corners(self.domain, self.index)
        elif _every_element_inside(self, arrays):
            return
        else:
            values = _extremes(self, arrays)
        for value in values:
            if not self.least <= value < self.extent:
                known = "NumPy raises IndexError" if self.wraps else "DaCe reads beside the array"
                raise OutOfBoundsError(f"index {value} is out of bounds for {self.extent} elements", source=self.source,
                                       help=f"{known} here as well: mind the ends of the loop and of index "
                                       "arrays, which count from 0")


def check_known(accesses: Iterable[IndexedAccess], known: Mapping[str, np.ndarray],
                given: frozenset[str]) -> tuple[IndexedAccess, ...]:
    """Judge what depends on loop variables and `known` arrays alone; what is left to calls, which bring those `given`.

    Arrays that are neither, as the program writes them, are left to nobody.
    """
    left = []
    for access in dict.fromkeys(accesses):
        if access.arrays <= known.keys():
            access.check(known)
        elif access.arrays <= known.keys() | given:
            left.append(access)
    return tuple(left)


def _corners(domain: tuple[Range, ...], index: Ix) -> Iterator[int]:
    """The index at those corners of a nest of loops that some iteration reaches."""
    for ends in product((0, -1), repeat=len(domain)):
        env: dict[str, int] = {}
        for r, end in zip(domain, ends, strict=True):
            trips = range(r.start.evaluate(env), r.stop.evaluate(env), r.step)
            if not trips:
                break
            env[r.var] = trips[end]
        else:
            yield index.evaluate(env)


def _every_element_inside(access: IndexedAccess, arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether any element of the array that decides the index would do: one pass over it, whatever the loops."""
    if access.element is None:
        return False
    name, factor, offset = access.element
    array = arrays[name]
    if array.dtype.kind == "i" and array.flags.c_contiguous:
        # As numbers without sign negative ones are huge: one pass tells that there are none.
        array = array.view(array.dtype.str.replace("i", "u"))
    ends = (offset, offset + factor * int(array.max(initial=0)))
    return access.least <= min(ends) and max(ends) < access.extent


def _extremes(access: IndexedAccess, arrays: Mapping[str, np.ndarray]) -> tuple[int, ...]:
    """The smallest and the largest index at the points of the loops; nothing where that cannot be told."""
    moving = any(i.const is None for r in access.domain for i in (r.start, r.stop))
    env = _points(access, arrays) if moving else _box(access.domain)
    found = None if env is None else _evaluated(access.index, env, arrays)
    return () if found is None or not np.size(found) else (int(np.min(found)), int(np.max(found)))


def _box(domain: tuple[Range, ...]) -> dict[str, np.ndarray] | None:
    """The variables of loops with fixed ends, each along a dimension of its own; None without a point."""
    trips = {r.var: np.arange(r.start.evaluate({}), r.stop.evaluate({}), r.step) for r in domain}
    if not all(t.size for t in trips.values()):
        return None
    return {var: t.reshape((-1, *(1,) * (len(domain) - 1 - k))) for k, (var, t) in enumerate(trips.items())}


def _points(access: IndexedAccess, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """The variables at the first points of loops with moving ends, one after another; None without a point."""
    env: dict[str, np.ndarray] = {}
    count = 1
    for k, r in enumerate(access.domain):
        start, stop = (_evaluated(i, env, arrays) for i in (r.start, r.stop))
        if start is None or stop is None:
            return None
        trips = np.broadcast_to(np.maximum(-((start - stop) // r.step), 0), (count,))
        stride = np.ones_like(trips)
        if _ends_decide(access, k):
            stride, trips = np.maximum(trips - 1, 1), np.minimum(trips, 2)
        trips = np.minimum(trips, MOST_POINTS)
        trips = trips[:int(np.searchsorted(np.cumsum(trips), MOST_POINTS)) + 1]
        rows = np.repeat(np.arange(len(trips)), trips)
        place = np.arange(len(rows)) - np.repeat(np.cumsum(trips) - trips, trips)
        env = {var: values[rows] for var, values in env.items()}
        env[r.var] = np.broadcast_to(start, (count,))[rows] + r.step * stride[rows] * place
        count = len(rows)
    return env if count else None


def _ends_decide(access: IndexedAccess, k: int) -> bool:
    """Whether the index is linear in the variable of the loop, which decides no loop inside: its largest and smallest
    values are those of the first and the last iteration."""
    var, inner = access.domain[k].var, access.domain[k + 1:]
    return access.index.coefficient(var) is not None and not any(
        var in i.symbols for r in inner for i in (r.start, r.stop))


def _evaluated(i: Ix, env: Mapping[str, np.ndarray], arrays: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """The values of an index, one for each point; None if it holds what is not understood."""
    total: np.ndarray | None = np.zeros((), np.int64)
    for atoms, factor in i.terms:
        part = np.asarray(factor)
        for atom in atoms:
            value = env.get(atom) if isinstance(atom, str) else _atom(atom, env, arrays)
            if value is None:
                return None
            part = part * value
        total = total + part
    return total


def _atom(atom: Atom, env: Mapping[str, np.ndarray], arrays: Mapping[str, np.ndarray]) -> np.ndarray | None:
    if isinstance(atom, str):
        return None
    parts = [p for p in (_evaluated(i, env, arrays) for i in atom.parts) if p is not None]
    if len(parts) != len(atom.parts):
        return None
    if isinstance(atom, Elem):
        array = arrays[atom.array]
        # An element outside is an access of its own, and judged there.
        inside = all(np.all((p >= -n) & (p < n)) for p, n in zip(parts, array.shape, strict=True))
        return array[tuple(parts)].astype(np.int64) if inside else None
    return _OPERATIONS[type(atom)](*parts)
