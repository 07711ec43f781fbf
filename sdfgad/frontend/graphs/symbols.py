"""Symbolic sizes and indices of graphs as indices of programs, and the values of symbols that a call decides."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

from sdfgad.ir.index import Ix, floordiv, ix, maximum, minimum, mod

Ratio = tuple[Ix, int]
Lookup = Callable[[str], Ix | None]
"""The value of a symbol; None when it has none here."""


class Unreadable(Exception):
    """A symbolic expression that is no index. what: the part of it that is to blame."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def exact(value: Any) -> Any:
    """An expression as code has it, where a transformation also keeps a bound of it (`SymExpr`)."""
    return value.expr if type(value).__name__ == "SymExpr" else value


def index(value: Any, lookup: Lookup) -> Ix:
    """A symbolic expression of DaCe as an index."""
    value = exact(value)
    if isinstance(value, int):
        return ix(value)
    if not hasattr(value, "func"):
        return _whole(int(value), value)
    top, bottom = _ratio(value, lookup)
    if bottom == 1:
        return top
    if any(c % bottom for _, c in top.terms):
        raise Unreadable(f"{value}, which may be no whole number")
    return floordiv(top, bottom)


def _whole(number: int, value: Any) -> Ix:
    if number != value:
        raise Unreadable(str(value))
    return ix(number)


def _ratio(e: Any, lookup: Lookup) -> Ratio:
    """An expression as a quotient."""
    if e.is_Rational:
        return ix(int(e.p)), int(e.q)
    if e.is_Float:
        return _whole(int(e), e), 1
    if e.is_Symbol:
        found = lookup(str(e))
        if found is None:
            raise Unreadable(f"the symbol {e}, which has no value here")
        return found, 1
    kind = e.func.__name__
    if kind in _FOLDS:
        return reduce(_FOLDS[kind], (_ratio(a, lookup) for a in e.args))
    if kind == "Pow" and e.exp.is_Integer and int(e.exp) >= 0:
        return reduce(_times, [_ratio(e.base, lookup)] * int(e.exp), (ix(1), 1))
    if kind in _ROUNDED:
        return _ROUNDED[kind](*(_ratio(a, lookup) for a in e.args)), 1
    raise Unreadable(str(e))


def _plus(a: Ratio, b: Ratio) -> Ratio:
    return a[0] * b[1] + b[0] * a[1], a[1] * b[1]


def _times(a: Ratio, b: Ratio) -> Ratio:
    return a[0] * b[0], a[1] * b[1]


def _least(a: Ratio, b: Ratio) -> Ratio:
    return minimum(a[0] * b[1], b[0] * a[1]), a[1] * b[1]


def _greatest(a: Ratio, b: Ratio) -> Ratio:
    return maximum(a[0] * b[1], b[0] * a[1]), a[1] * b[1]


_FOLDS: Mapping[str, Callable[[Ratio, Ratio], Ratio]] = MappingProxyType(
    {"Add": _plus, "Mul": _times, "Min": _least, "Max": _greatest})


_ONE: Ratio = (ix(1), 1)


def _floor(a: Ratio, b: Ratio = _ONE) -> Ix:
    return floordiv(a[0] * b[1], b[0] * a[1])


def _ceiling(a: Ratio, b: Ratio = _ONE) -> Ix:
    below = b[0] * a[1]
    return floordiv(a[0] * b[1] + below - 1, below)


def _modulo(a: Ratio, b: Ratio) -> Ix:
    if a[1] != 1 or b[1] != 1:
        raise Unreadable("a remainder of fractions")
    return mod(a[0], b[0])


_ROUNDED: Mapping[str, Callable[..., Ix]] = MappingProxyType({
    "floor": _floor, "ceiling": _ceiling, "int_floor": _floor, "int_ceil": _ceiling, "Mod": _modulo,
    "py_mod": _modulo})


def solved(extents: list[tuple[Any, int]], known: Mapping[str, int]) -> tuple[dict[str, int], str]:
    """The values of symbols by which the extents are what they are, and what does not fit."""
    values, left = dict(known), list(extents)
    while left:
        rest = []
        for extent, number in left:
            missing = sorted({str(s) for s in getattr(extent, "free_symbols", ())} - values.keys())
            if missing[1:]:
                rest.append((extent, number))
            elif missing:
                found = _root(extent, missing[0], number, values)
                if found is not None:
                    values[missing[0]] = found
                    continue
                return values, f"{extent} = {number}"
            elif index(extent, lambda n: ix(values[n]) if n in values else None).const != number:
                return values, f"{_told(extent, values)} = {number}"
        if len(rest) == len(left):
            break
        left = rest
    return values, ""


def _told(extent: Any, values: Mapping[str, int]) -> str:
    used = {str(s) for s in getattr(extent, "free_symbols", ())}
    return f"{extent} with {', '.join(f'{n} = {values[n]}' for n in sorted(used))}" if used else str(extent)


def _root(extent: Any, name: str, number: int, values: Mapping[str, int]) -> int | None:
    """The whole number with which an extent that is linear in it has its value."""
    def extent_at(k: int) -> int | None:
        return index(extent, lambda n: ix(k) if n == name else ix(values[n]) if n in values else None).const

    at = [extent_at(k) for k in (0, 1, 2)]
    if None in at or at[2] - at[1] != at[1] - at[0] or at[1] == at[0]:  # type: ignore[operator]
        return None
    found, rest = divmod(number - at[0], at[1] - at[0])  # type: ignore[operator]
    return None if rest or found < 0 else found
