"""What a value needs."""
from __future__ import annotations

from sdfgad.frontend.values import ArrayValue, IntValue, RangeValue, Value, contained


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
