"""What a value needs."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sdfgad.frontend.state.values import ArrayValue, IntValue, Lazy, RangeValue, Value, ViewValue, contained

_KNOWN = frozenset({bool, int, float, complex, str, type(None), *np.sctypeDict.values()})
_LEAVES = _KNOWN | {ViewValue, Lazy, IntValue}


def is_leaf(value: Value) -> bool:
    """Whether there is nothing in a value but itself and known numbers."""
    return type(value) in _LEAVES or type(value) is tuple and _is_table(_This(value))


@dataclass(frozen=True, eq=False, slots=True)
class _This:
    """One tuple and no other that is equal to it: to compare them takes as long as to look into them."""

    value: tuple

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _This) and self.value is other.value


@lru_cache(maxsize=1 << 12)
def _is_table(this: _This) -> bool:
    """Whether a tuple holds nothing but numbers that are known now, as the tables of a method do."""
    return all(type(v) in _KNOWN or type(v) is tuple and _is_table(_This(v)) for v in this.value)


def holding(value: Value) -> Iterator[Value]:
    """The value and what is inside it, but for what is in tables of known numbers."""
    return contained(value, lambda v: not is_leaf(v))


def references(value: Value) -> set[str]:
    """Names of containers a value needs, in index expressions too."""
    found: set[str] = set()
    for part in holding(value):
        if isinstance(part, ArrayValue):
            found |= part.reads
        elif isinstance(part, IntValue):
            found |= {e.array for e in part.ix.elems}
        elif isinstance(part, RangeValue):
            found |= {e.array for i in (part.start, part.stop) for e in i.elems}
    return found


def refers(value: Value, container: str) -> bool:
    """Whether a value needs a container: the short way for what most names stand for."""
    form = type(value)
    if form is ViewValue:
        view = value.view
        return bool(view.array == container or ((view.index or view.shape) and container in value.reads))
    if form is IntValue:
        return any(e.array == container for e in value.ix.elems)
    return form not in _KNOWN and container in references(value)
