"""What a value needs."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sdfgad.frontend.state.values import ArrayValue, IntValue, Lazy, RangeValue, Value, ViewValue, contained

_KNOWN = frozenset({bool, int, float, complex, str, type(None), *np.sctypeDict.values()})
_LEAVES = _KNOWN | {ViewValue, Lazy, IntValue}

_MOST_TABLES = 1 << 12
_TABLES: dict[int, tuple] = {}
"""Tuples of known numbers, by their identities, which stay theirs as long as they lie here."""


def is_leaf(value: Value) -> bool:
    """Whether there is nothing in a value but itself and known numbers."""
    return type(value) in _LEAVES or type(value) is tuple and _is_table(value)


def _is_table(value: tuple) -> bool:
    """Whether a tuple holds nothing but numbers that are known now, as the tables of a method do; found out once."""
    if _TABLES.get(id(value)) is value:
        return True
    if not all(type(v) in _KNOWN or type(v) is tuple and _is_table(v) for v in value):
        return False
    if len(_TABLES) >= _MOST_TABLES:
        _TABLES.clear()
    _TABLES[id(value)] = value
    return True


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
