"""Which index expressions DaCe can write as they are."""
from __future__ import annotations

from sdfgad.ir.index import Ix, Max, Min


def is_plain(index: Ix) -> bool:
    """Whether an index is a polynomial in loop variables."""
    return all(isinstance(a, str) for a in index.atoms)


def is_bound(index: Ix) -> bool:
    """Whether an index may be a bound: a polynomial in loop variables, and minima and maxima of such."""
    return all(isinstance(a, str) or isinstance(a, (Min, Max)) and all(map(is_bound, a.parts)) for a in index.atoms)
