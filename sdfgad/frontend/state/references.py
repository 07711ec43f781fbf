"""What a value needs."""
from __future__ import annotations

from sdfgad.frontend.state.values import ArrayValue, IntValue, Lazy, RangeValue, Value, ViewValue, contained

_KNOWN = frozenset({bool, int, float, complex, str, type(None)})
LEAVES = _KNOWN | {ViewValue, Lazy, IntValue}
"""Values in which there is nothing but themselves."""


def references(value: Value) -> set[str]:
    """Names of containers a value needs, in index expressions too."""
    found: set[str] = set()
    for part in contained(value):
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
