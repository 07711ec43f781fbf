"""Products of several directions with a factor that they share: one larger product in place of one for each."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sdfgad.ir.index import ix
from sdfgad.ir.layout import axis
from sdfgad.ir.program import Array, Lib, View

_KNOWN = frozenset(("accumulate", "conj_a", "conj_b", "factor"))


def at_once(stmt: Lib, many: frozenset[str], extent: int, arrays: Mapping[str, Array]) -> Lib | None:
    """y = matmul(A, x)   ->   y[k, i] = matmul(x[k, :], A')      x, y: one row for each direction
    C = matmul(A, B)  ->   C[k, i, :] = matmul(A[k, i, :], B)  A, C: the rows of all directions, one below the other

    many: what has an axis of directions in front, which `arrays` have already. None where a direction has factors of
    its own, or rows that do not follow those of the one before at their own distance.
    """
    (out,), (a, b, *scale) = stmt.outs, stmt.ins
    own = tuple(v.array in many for v in (a, b, *scale))
    if sum(own) != 1 or not own[0] | own[1] or not stmt.attrs.keys() <= _KNOWN or not _plain((out, a, b)):
        return None
    rows, shared, attrs = (a, b, stmt.attrs) if own[0] else (b, a.transposed, _swapped(stmt.attrs))
    if len(rows.shape) == 1:
        below = _in_front
    elif own[0] and all(_whole_rows(v, arrays) for v in (out, rows)):
        below = _below_one_another
    else:
        return None
    return replace(stmt, outs=(below(out, extent),), ins=(below(rows, extent), shared, *scale), attrs=attrs)


def _plain(views: tuple[View, ...]) -> bool:
    """Whether no element is named by data, which may be one for each direction."""
    return not any(i.elems for v in views for i in v.index) and all(n.const is not None for v in views for n in v.shape)


def _whole_rows(view: View, arrays: Mapping[str, Array]) -> bool:
    """Whether a view has all rows of an array: behind the last one lies the first one of the next direction."""
    first, *others = view.index
    return first == ix(axis(0)) and view.shape[0].const == arrays[view.array].shape[1] and \
        not any(axis(0) in i.symbols for i in others)


def _in_front(view: View, extent: int) -> View:
    """A vector or a number of each direction, as rows or a vector."""
    later = {axis(k): ix(axis(k + 1)) for k in range(len(view.shape))}
    return replace(view, shape=(ix(extent), *view.shape), index=(ix(axis(0)), *(i.subs(later) for i in view.index)))


def _below_one_another(view: View, extent: int) -> View:
    """The rows of a view of each direction as those of one matrix; elements where each has one row."""
    count = view.shape[0].const
    assert count is not None, "only views of fixed sizes come here"
    at = ix(axis(0))
    index = (at // count, *(i.subs({axis(0): at % count}) for i in view.index))
    return replace(view, shape=(ix(extent * count), *view.shape[1:]), index=index)


def _swapped(attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Attributes of a product whose factors have changed places."""
    other = {"conj_a": "conj_b", "conj_b": "conj_a"}
    return MappingProxyType({other.get(n, n): value for n, value in attrs.items()})
