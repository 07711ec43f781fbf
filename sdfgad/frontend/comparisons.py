"""Comparisons of integers, decided while translating where their bounds allow it."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.context import Context
from sdfgad.frontend.elementwise import apply, int_ix
from sdfgad.frontend.values import IntValue, Value, is_int


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
