"""Comparisons of integers: decided while translating where their bounds allow it, and what they tell."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.elements.elementwise import apply, int_ix
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import IntValue, Value, is_int
from sdfgad.ir.expr import Call, Expr, Index
from sdfgad.ir.index import Ix


def _negative(low: int | None, high: int | None) -> bool | None:
    """Whether a number within these bounds is negative."""
    return True if high is not None and high < 0 else False if low is not None and low >= 0 else None


def _positive(low: int | None, high: int | None) -> bool | None:
    return True if low is not None and low > 0 else False if high is not None and high <= 0 else None


def _zero(low: int | None, high: int | None) -> bool | None:
    apart = (low is not None and low > 0) or (high is not None and high < 0)
    return True if low == high == 0 else False if apart else None


def _opposite(known: bool | None) -> bool | None:
    return None if known is None else not known


_ORDER: Mapping[np.ufunc, Callable[[int | None, int | None], bool | None]] = MappingProxyType({
    np.less: _negative, np.greater_equal: lambda lo, hi: _opposite(_negative(lo, hi)),
    np.greater: _positive, np.less_equal: lambda lo, hi: _opposite(_positive(lo, hi)),
    np.equal: _zero, np.not_equal: lambda lo, hi: _opposite(_zero(lo, hi))})


def compare(ctx: Context, ufunc: np.ufunc, a: Value, b: Value) -> Value:
    """A comparison, decided now where the bounds of the integers allow it."""
    if is_int(a) and is_int(b) and ufunc in _ORDER and (isinstance(a, IntValue) or isinstance(b, IntValue)):
        decided = _ORDER[ufunc](*ctx.builder.scope.bounds(int_ix(a) - int_ix(b)))
        if decided is not None:
            return decided
    return apply(ctx, ufunc, a, b)


def facts_of(condition: Expr, positive: bool) -> list[Ix]:
    """Integer inequalities `fact >= 0` that follow from a condition being true (or false)."""
    if isinstance(condition, Call) and condition.fn == "not":
        return facts_of(condition.args[0], not positive)
    if isinstance(condition, Call) and condition.fn == "select":
        a, b, other = condition.args
        chained = positive and getattr(other, "value", None) is False  # 0 <= i < n; one side alone may decide others
        return [*facts_of(a, True), *facts_of(b, True)] if chained else []
    if not isinstance(condition, Call) or condition.fn not in _FACTS:
        return []
    parts = [_index_of(a) for a in condition.args]
    if None in parts:
        return []
    left, right = parts
    return _FACTS[condition.fn](left, right) if positive else _FACTS[_OPPOSITE[condition.fn]](left, right)  # type: ignore[arg-type]


def _index_of(e: Expr) -> Ix | None:
    if isinstance(e, Index):
        return e.ix
    return Ix((((), int(e.value)),)) if hasattr(e, "value") and isinstance(e.value, int) and e.value else (
        Ix(()) if getattr(e, "value", None) == 0 else None)


_FACTS: Mapping[str, Callable[[Ix, Ix], list[Ix]]] = MappingProxyType({
    "lt": lambda a, b: [b - a - 1], "le": lambda a, b: [b - a], "gt": lambda a, b: [a - b - 1],
    "ge": lambda a, b: [a - b], "eq": lambda a, b: [a - b, b - a], "ne": lambda a, b: []})
_OPPOSITE: Mapping[str, str] = MappingProxyType({
    "lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"})
