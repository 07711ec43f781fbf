"""Operands that are Python's own: of lists there is no arithmetic, and booleans are integers."""
from __future__ import annotations

from itertools import compress

import numpy as np

from sdfgad.frontend.elements.elementwise import BOOL, INT, as_array, convert, describe
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, ListValue, Value, is_number

_OF_TRUTHS = frozenset((np.bitwise_and, np.bitwise_or, np.bitwise_xor))
"""Operators that make booleans of Python's booleans."""


def is_of_python(*operands: Value, repeats: bool = False) -> bool:
    """Whether there is a list or tuple, and nothing beside it that makes an array of it. repeats: `*`, which numbers of
    NumPy's leave to the list."""
    lists = [isinstance(v, (list, tuple, ListValue)) for v in operands]
    repeats = repeats and all(map(_repeats, compress(operands, lists)))
    return any(lists) and all(one or _is_plain_number(v) or repeats and _is_fraction(v)
                              for one, v in zip(lists, operands, strict=True))


def _repeats(value: Value) -> bool:
    """Whether `*` of a list or tuple is that of its kind, and not one that its class defines."""
    return not isinstance(value, tuple) or type(value).__rmul__ is tuple.__rmul__


def check_operands(ctx: Context, ufunc: np.ufunc, *operands: Value) -> tuple[Value, ...]:
    """Python's TypeError for `[1, 2] - 1`, `-(1, 2)` and the like; else the operands, booleans of Python's as the
    integers that they are for it: `(not a) + (not b)` counts, where NumPy's own booleans give one of them."""
    if not ctx.frame.quiet and is_of_python(*operands, repeats=ufunc is np.multiply):
        told = " and ".join(map(describe, operands))
        raise ctx.raises(TypeError, f"{ufunc.__name__} of {told}", "Python has no arithmetic of lists: use np.array",
                         "SG102")
    if ufunc in _OF_TRUTHS or not all(isinstance(v, bool) or _is_flag(v) for v in operands) or not any(
            map(_is_flag, operands)):
        return operands
    return tuple(convert(ctx, as_array(ctx, v), INT, True) for v in operands)


def _is_flag(value: Value) -> bool:
    """Whether a value is a boolean of Python's that the run knows."""
    return isinstance(value, ArrayValue) and value.dtype == BOOL and value.scalar and value.weak


def _is_fraction(value: Value) -> bool:
    """Whether a value is a number of NumPy's that is no integer."""
    return isinstance(value, (np.floating, np.complexfloating)) or isinstance(
        value, ArrayValue) and value.scalar and value.dtype.kind in "fc"


def _is_plain_number(value: Value) -> bool:
    if isinstance(value, ArrayValue):
        return value.scalar and value.weak
    if isinstance(value, IntValue):
        return value.dtype is None
    return is_number(value) and not isinstance(value, np.generic)
